//! From packets to flows: 5-tuples, directions, RTP streams, RTSP messages and the counts of each
//! flow.

mod assembly;
mod columns;
mod direction;
mod exchange;
mod ingest;
mod label;
mod label_quic;
mod label_text;
mod measurement;
mod meter;
mod rate_bins;
mod row;
mod rtcp;
mod rtp;
mod rtsp;
mod rtsp_message;

pub use assembly::{Endpoint, FlowKey};
pub use columns::{Columns, FlowPlan};
pub use direction::initiators_are_clients;
pub use exchange::{Exchange, ExchangeMeter, Exchanges};
pub use ingest::{Counts, Ingest, IngestOptions};
pub use label::Application;
pub use meter::{FlowCounts, FlowMeter, FlowStarts};
pub use rate_bins::RateBins;
pub use row::PacketRow;
pub use rtcp::{ReceptionBlock, RtcpReport, SenderInfo};
pub use rtp::{RtpStream, RtpSummary, CLOCK_CANDIDATES_HZ};
pub use rtsp::{InterleavedChannel, RtspMessage};
