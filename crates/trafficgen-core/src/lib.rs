//! Captures, packet tables and frames of trafficgen, without Python.
#![forbid(unsafe_code)]

pub mod write;
