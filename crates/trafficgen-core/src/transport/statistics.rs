//! What one end has counted.

use super::Time;

/// Counts and state of one end, for reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpStatistics {
    /// All segments sent, pure acknowledgements too.
    pub segments_sent: u64,
    /// Segments with payload, SYN or FIN that had been sent before.
    pub retransmissions: u64,
    pub retransmitted_bytes: u64,
    /// Retransmission timeouts of data; those of the handshake are `retransmissions` only.
    pub timeouts: u64,
    /// Entries into fast recovery.
    pub fast_retransmits: u64,
    /// Smoothed round-trip time, 0 before the first sample.
    pub srtt_ns: Time,
    pub rto_ns: Time,
    pub cwnd_bytes: u64,
    /// `u64::MAX` before the first loss, unless set.
    pub ssthresh_bytes: u64,
    /// Stream bytes that the other end has acknowledged.
    pub acknowledged_bytes: u64,
    /// Bytes sent and thought to be in the network.
    pub pipe_bytes: u64,
}
