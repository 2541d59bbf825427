//! Packet-table columns to capture files: real Ethernet, IP, UDP, TCP and RTP headers with
//! checksums.
//!
//! [`CaptureWriter`] takes columns batch by batch, [`frame::FrameBuilder`] makes the headers of
//! each packet, and [`container::Container`] wraps them as pcap or pcapng records. Payload behind
//! the headers is zero bytes, which is why every checksum costs the same whatever the packet's
//! size.

pub mod checksum;
pub mod columns;
pub mod container;
mod error;
pub mod flow;
pub mod frame;
mod output;
mod template;
mod writer;

pub use columns::{Nullable, PacketColumns};
pub use container::Container;
pub use error::WriteError;
pub use flow::{EndMacs, FlowEnds, Protocol};
pub use writer::{CaptureWriter, WriteOptions, WriteSummary};
