//! What the fuzzer found once stays mended: every file of `tests/fuzz_regressions/TARGET` is played
//! again.

use std::path::Path;

use crate::fuzzed;

fn replay(name: &str, target: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz_regressions").join(name);
    let found: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!found.is_empty(), "{} is empty", folder.display());
    for path in found {
        println_name(&path);
        target(&std::fs::read(&path).unwrap());
    }
}

/// Shown by the test harness where a test fails: which file it was.
#[allow(clippy::print_stdout)]
fn println_name(path: &Path) {
    println!("{}", path.display());
}

#[test]
fn captures_that_were_too_much_once_are_read() {
    replay("ingest", fuzzed::ingest);
}

#[test]
fn frames_that_were_too_much_once_are_decoded() {
    replay("frames", fuzzed::frames);
}

#[test]
fn signalling_that_was_too_much_once_is_followed() {
    replay("signalling", fuzzed::signalling);
}

#[test]
fn columns_that_were_too_much_once_are_written() {
    replay("writer", fuzzed::writer);
}

#[test]
fn scenarios_that_were_too_much_once_are_read() {
    replay("scenario", fuzzed::scenario);
}
