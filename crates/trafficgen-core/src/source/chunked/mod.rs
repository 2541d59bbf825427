//! A player of today: segments of fixed length over HTTP, each at a level of its choice (DASH,
//! HLS).
//!
//! The server answers requests and knows nothing else. The player chooses by its buffer (BBA), by
//! throughput (FESTIVE) or by both, and asks for nothing while its buffer is full, which gives the
//! ON/OFF traffic of streaming over TCP.

mod choice;
mod parameters;
mod playback;
mod server;
mod session;

pub use session::Chunked;
