//! Captures, packet tables and frames of trafficgen, without Python.
//!
//! `capture` turns files into records, `packet` turns a record into header facts, `flow` assigns
//! flows and measures them; `write` turns packet columns back into capture files; `transport` is
//! TCP as a state machine. `generate` has the inner loops of open-loop generation;
//! `laws` has the families of laws and their likelihoods, `markov` chains of hidden states,
//! `change_points` rates that shift, `modes` values that most of a sample have;
//! `des` simulates sources over a path in closed loop, `source` holds the sources.
#![forbid(unsafe_code)]

pub mod capture;
pub mod change_points;
pub mod des;
pub mod flow;
pub mod generate;
pub mod laws;
pub mod markov;
pub mod modes;
pub mod packet;
pub mod source;
pub mod transport;
pub mod write;
