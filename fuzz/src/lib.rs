//! What the fuzz targets do with their bytes, and an allocator that refuses what no input may ask
//! for.

use std::alloc::{GlobalAlloc, Layout, System};

#[path = "../../crates/trafficgen-core/tests/fuzzed/mod.rs"]
mod fuzzed;

pub use fuzzed::{frames, ingest, scenario, signalling, writer};

/// The most that may be asked for at once. Tables of packets are reserved by the million rows;
/// nothing else comes near.
const MOST_AT_ONCE_BYTES: usize = 64 << 20;

/// The system's allocator, which ends the process where more is asked for: a length was believed
/// unchecked.
pub struct Measured;

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Measured {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        check(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        check(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        check(size);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

fn check(size: usize) {
    if size > MOST_AT_ONCE_BYTES {
        // Without a message: that would allocate. The stack that libFuzzer prints says where.
        std::process::abort();
    }
}
