//! Captures, packet tables and frames of trafficgen, without Python.
//!
//! `capture` turns files into records, `packet` turns a record into header facts, `flow` assigns flows and measures them.
#![forbid(unsafe_code)]

pub mod capture;
pub mod flow;
pub mod packet;
pub mod write;
