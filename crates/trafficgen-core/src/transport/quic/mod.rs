//! QUIC as a pure state machine (RFC 9000, RFC 9002): packets and the time go in, packets and the
//! next timer come out.
//!
//! Streams are counted, not stored, and nothing is encrypted: a packet has the size that it would
//! have on the wire. Congestion controls, pacing, round-trip times and samples of the rate are
//! those of the TCP beside it, over an offset that counts the bytes of packets and never repeats.
//! Not modelled: packet number spaces of the handshake, Retry, migration, the limit on what a
//! server sends before it knows the client's address, ECN, flow control of single streams.

mod config;
mod endpoint;
mod losses;
mod packet;
mod receiver;
mod sender;
mod streams;

pub use config::QuicConfig;
pub use endpoint::Endpoint;
pub use packet::{Ack, Packet, StreamFrame};

/// Number of a stream: 0, 1, 2, ... are the client's bidirectional streams in their order.
pub type StreamId = u32;

/// What carries the handshake, as a stream before all others.
const CRYPTO: StreamId = StreamId::MAX;
