//! Captures, packet tables and frames of trafficgen, without Python.
//!
//! `capture` turns files into records, `packet` turns a record into header facts, `flow` assigns flows and measures them;
//! `write` turns packet columns back into capture files; `transport` is TCP as a state machine for simulations.
#![forbid(unsafe_code)]

pub mod capture;
pub mod flow;
pub mod packet;
pub mod transport;
pub mod write;
