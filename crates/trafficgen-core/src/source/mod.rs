//! The sources: state machines that a scenario names by their kind, driven by the parameters of a
//! model.
//!
//! One file or folder a kind. A new kind needs a line in [`build`].

mod bulk_tcp;
mod cbr;
mod chunked;
mod fitted;
mod parameters;
mod ping;
mod poisson;
mod realplayer8;
mod realvideo10;
mod rtsp;
mod streams;
mod twostream;
mod wmedia9;

use std::sync::Arc;

use serde_json::Value;

pub use self::chunked::RecordedSegment;
pub use self::fitted::{Schedule, ScheduledPacket};
use crate::des::Agent;

/// Return the rungs that a chunked player would have chosen; its parameters are JSON.
///
/// # Errors
/// If the parameters are not what it takes, or a segment is at a rung that the ladder lacks.
pub fn replay_player(parameters: &str, segments: &[RecordedSegment]) -> Result<Vec<usize>, String> {
    let given = serde_json::from_str(parameters).map_err(|error| error.to_string())?;
    chunked::replay_choices(&given, segments)
}

/// Make a source of this kind, which may play schedules that came beside the scenario.
///
/// # Errors
/// If there is no such kind, or its parameters are not what it takes.
pub fn build_with(
    kind: &str,
    parameters: &Value,
    schedules: &[Arc<Schedule>],
) -> Result<Box<dyn Agent>, String> {
    match kind {
        "fitted" => Ok(Box::new(fitted::Fitted::new(parameters::read(parameters)?, schedules)?)),
        _ => build(kind, parameters),
    }
}

/// Make a source of this kind.
///
/// # Errors
/// If there is no such kind, or its parameters are not what it takes.
pub fn build(kind: &str, parameters: &Value) -> Result<Box<dyn Agent>, String> {
    match kind {
        "bulk_tcp" => Ok(Box::new(bulk_tcp::BulkTcp::new(parameters::read(parameters)?)?)),
        "cbr" => Ok(Box::new(cbr::Cbr::new(parameters::read(parameters)?)?)),
        "chunked" => Ok(Box::new(chunked::Chunked::new(parameters::read(parameters)?)?)),
        "ping" => Ok(Box::new(ping::Ping::new(parameters::read(parameters)?)?)),
        "poisson" => Ok(Box::new(poisson::Poisson::new(parameters::read(parameters)?)?)),
        "realvideo10" => realvideo10::build(parameters::read(parameters)?),
        "realplayer8" | "realplayer8_tcp" => realplayer8::build(parameters::read(parameters)?),
        "streams" => Ok(Box::new(streams::Streams::new(parameters::read(parameters)?)?)),
        "twostream" => Ok(Box::new(twostream::TwoStream::new(parameters::read(parameters)?)?)),
        "wmedia9" => Ok(Box::new(wmedia9::Wmedia9::new(parameters::read(parameters)?)?)),
        _ => Err(format!("there is no source of kind {kind:?}")),
    }
}
