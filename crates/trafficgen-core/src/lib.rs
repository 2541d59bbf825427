//! Captures, packet tables and frames of trafficgen, without Python.
//!
//! `capture` turns files into records, `packet` turns a record into header facts, `flow` assigns flows and measures them;
//! `write` turns packet columns back into capture files.
#![forbid(unsafe_code)]

pub mod capture;
pub mod flow;
pub mod packet;
pub mod write;
