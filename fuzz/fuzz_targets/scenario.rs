#![no_main]
use trafficgen_fuzz::{scenario, Measured};

#[global_allocator]
static MEMORY: Measured = Measured;

libfuzzer_sys::fuzz_target!(|data: &[u8]| scenario(data));
