//! TCP as a pure state machine: segments and the time go in, segments and the next timer come out.
//!
//! An [`Endpoint`] is one end of a connection. It knows neither a network nor an event queue:
//! whoever runs it carries the segments, and calls [`Endpoint::on_timer`] when
//! [`Endpoint::next_timer`] has come. Streams are counted, not stored: a send buffer of gigabytes
//! costs nothing.

mod config;
mod congestion;
mod endpoint;
mod feedback;
mod outbox;
mod pacing;
pub mod quic;
mod rack;
mod ranges;
mod rates;
mod receiver;
mod rto;
mod scoreboard;
mod segment;
mod sender;
mod statistics;

pub use config::{CongestionControl, SlowStartExit, TcpConfig};
pub use endpoint::Endpoint;
pub use segment::{flag, SackBlock, SackBlocks, Segment, Timestamps};
pub use statistics::TcpStatistics;

/// Nanoseconds since the start of the simulation.
pub type Time = i64;
