//! What is done with a stranger's bytes, one function a target: the fuzzer calls them without end
//! (`make fuzz`), the tests with what it found once. They fail by panicking.

mod bytes;
mod captures;
mod tables;

pub use captures::{frames, ingest, signalling};
pub use tables::writer;

use trafficgen_core::des::scenario::Scenario;
use trafficgen_core::source;

/// The JSON that Python hands to the engine: read, checked, and its sources made.
pub fn scenario(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(scenario) = Scenario::from_json(text) else { return };
    if scenario.validate().is_ok() {
        for agent in &scenario.agents {
            let _ = source::build_with(&agent.kind, &agent.parameters, &scenario.schedules);
        }
    }
}
