#![no_main]
use trafficgen_fuzz::{writer, Measured};

#[global_allocator]
static MEMORY: Measured = Measured;

libfuzzer_sys::fuzz_target!(|data: &[u8]| writer(data));
