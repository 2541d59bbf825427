//! One end of a TCP connection.

use super::{Segment, TcpConfig, Time};

/// Counts and state of one end, for reports.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TcpStatistics {
    /// All segments sent, pure acknowledgements too.
    pub segments_sent: u64,
    /// Segments with payload, SYN or FIN that had been sent before.
    pub retransmissions: u64,
    pub retransmitted_bytes: u64,
    pub timeouts: u64,
    /// Entries into fast recovery.
    pub fast_retransmits: u64,
    pub srtt_ns: Time,
    pub rto_ns: Time,
    pub cwnd_bytes: u64,
    pub ssthresh_bytes: u64,
    /// Stream bytes that the other end has acknowledged.
    pub acknowledged_bytes: u64,
    /// Bytes sent and thought to be in the network.
    pub pipe_bytes: u64,
}

/// One end of a full-duplex TCP connection.
#[derive(Clone, Debug)]
pub struct Endpoint {
    _config: TcpConfig,
}

impl Endpoint {
    /// A closed end; `connect` or `listen` comes next.
    #[must_use]
    pub fn new(config: &TcpConfig) -> Self {
        Self { _config: config.clone() }
    }
    /// Opens actively: sends the SYN.
    pub fn connect(&mut self, _now: Time, _out: &mut Vec<Segment>) {}
    /// Opens passively: waits for a SYN.
    pub fn listen(&mut self) {}
    /// Takes a segment of the other end; what is to be sent in answer is appended to `out`.
    pub fn on_segment(&mut self, _now: Time, _segment: &Segment, _out: &mut Vec<Segment>) {}
    /// To be called when `next_timer` has come; harmless earlier.
    pub fn on_timer(&mut self, _now: Time, _out: &mut Vec<Segment>) {}
    /// When `on_timer` wants to be called.
    #[must_use]
    pub fn next_timer(&self) -> Option<Time> {
        None
    }
    /// Appends what fits of `bytes` to the send buffer: the bytes accepted.
    pub fn write(&mut self, _now: Time, _bytes: u64, _out: &mut Vec<Segment>) -> u64 {
        0
    }
    /// Free space of the send buffer.
    #[must_use]
    pub fn space_bytes(&self) -> u64 {
        0
    }
    /// In-order stream bytes that have arrived, read or not.
    #[must_use]
    pub fn received_bytes(&self) -> u64 {
        0
    }
    /// The application takes up to `bytes` of what has arrived, which opens the window.
    pub fn read(&mut self, _now: Time, _bytes: u64, _out: &mut Vec<Segment>) {}
    /// No more data: a FIN follows what is queued.
    pub fn close(&mut self, _now: Time, _out: &mut Vec<Segment>) {}
    #[must_use]
    pub fn is_established(&self) -> bool {
        false
    }
    /// Both directions have ended, or the connection was given up or reset.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        false
    }
    #[must_use]
    pub fn statistics(&self) -> TcpStatistics {
        TcpStatistics::default()
    }
}
