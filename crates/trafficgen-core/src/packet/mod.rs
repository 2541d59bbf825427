//! From the bytes of a record to the facts that the packet table holds: addresses, ports, lengths,
//! TCP and RTP fields.

mod decode;
mod link;
mod network;
mod rtp;
mod transport;
mod tunnel;

pub use decode::{decode, Decoded, Undecoded};
pub use network::{Addresses, Fragment};
pub use rtp::{classify_udp_payload, RtpHeader, UdpPayload};
pub use transport::{TcpFacts, ICMP, ICMPV6, TCP, UDP};
