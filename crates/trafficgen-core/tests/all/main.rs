//! Tests from outside of the crate, in one program: to link several takes longer than to run them.
#![allow(clippy::unwrap_used, clippy::panic)] // a test that cannot go on is to fail

mod bbr;
mod dumbbell;
mod fuzz_regressions;
#[path = "../fuzzed/mod.rs"]
mod fuzzed;
mod quic;
mod tcp_behaviour;
mod tcp_theory;
mod written_captures;
