//! A player of today: segments of fixed length over HTTP, each at a level of its choice (DASH,
//! HLS).
//!
//! The server answers requests and knows nothing else. The player chooses by one of the policies of
//! the literature and of real players, and asks for nothing while its buffer is full, which gives
//! the ON/OFF traffic of streaming over TCP.

mod bola;
mod choice;
mod mpc;
mod parameters;
mod playback;
mod policy;
mod replay;
mod server;
mod session;
mod settings;
#[cfg(test)]
mod test_settings;
mod throughput;
mod track;

pub use replay::{replay_choices, RecordedSegment};
pub use session::Chunked;
