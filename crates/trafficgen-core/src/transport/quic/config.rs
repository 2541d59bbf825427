//! What can be set of a QUIC connection.

use serde::Deserialize;

use super::super::{CongestionControl, SlowStartExit, TcpConfig, Time};

/// The longest that an acknowledgement may be held back (max_ack_delay, RFC 9000 18.2).
pub(super) const MOST_ACK_DELAY_NS: Time = 25_000_000;

/// The settings of a connection, the same at both ends.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct QuicConfig {
    pub congestion_control: CongestionControl,
    /// Largest UDP payload: 1,350 in Chromium and in the recordings that this was compared with;
    /// every path takes 1,200 (RFC 9000 14).
    pub datagram_bytes: u32,
    /// RFC 9002 7.2.
    pub initial_window_packets: u32,
    /// By default CUBIC has `hystart_plus_plus` (RFC 9406), others `loss`.
    pub slow_start_exit: Option<SlowStartExit>,
    /// Acknowledge every second packet that wants it (RFC 9000 13.2.2).
    pub ack_every_packets: u32,
    /// Acknowledge a single one after this; aioquic does after 1 ms, whatever their number.
    pub ack_delay_ns: Time,
    /// Fill what is left of the window with a smaller packet, as aioquic does.
    pub fills_window: bool,
    /// The client has been there before: its first flight carries a request (0-RTT).
    pub zero_rtt: bool,
    /// What the server's part of the handshake takes: two or three certificates.
    pub server_handshake_bytes: u32,
    pub send_buffer_bytes: u64,
    /// Of all streams together: what may be sent beyond what was read.
    pub receive_buffer_bytes: u64,
}

impl Default for QuicConfig {
    fn default() -> Self {
        Self {
            congestion_control: CongestionControl::default(),
            datagram_bytes: 1350,
            initial_window_packets: 10,
            slow_start_exit: None,
            ack_every_packets: 2,
            ack_delay_ns: MOST_ACK_DELAY_NS,
            fills_window: false,
            zero_rtt: false,
            server_handshake_bytes: 3000,
            send_buffer_bytes: 4 << 20,
            receive_buffer_bytes: 6 << 20,
        }
    }
}

impl QuicConfig {
    /// Whether a connection can run with these settings.
    ///
    /// # Errors
    /// The name of the first setting that makes no sense, and why.
    pub fn validate(&self) -> Result<(), String> {
        let refusals = [
            (
                !(1200..=65_507).contains(&self.datagram_bytes),
                "datagram_bytes must be between 1200 (RFC 9000 14) and 65507",
            ),
            (self.initial_window_packets == 0, "initial_window_packets must be at least 1"),
            (self.ack_every_packets == 0, "ack_every_packets must be at least 1"),
            (
                !(1..=500_000_000).contains(&self.ack_delay_ns),
                "ack_delay_ns must be positive and at most 500 ms",
            ),
            (
                !(1..=65_536).contains(&self.server_handshake_bytes),
                "server_handshake_bytes must be between 1 and 65536",
            ),
            (
                self.send_buffer_bytes == 0 || self.send_buffer_bytes > 1 << 62,
                "send_buffer_bytes must be between 1 and 2^62",
            ),
            (
                !(1..=1 << 60).contains(&self.receive_buffer_bytes),
                "receive_buffer_bytes must be between 1 and 2^60",
            ),
        ];
        refusals
            .iter()
            .find(|(refused, _)| *refused)
            .map_or(Ok(()), |(_, why)| Err((*why).to_owned()))
    }

    /// The same for the parts that QUIC and TCP share. A probe timeout begins at 999 ms (RFC 9002
    /// 6.2.2), and four deviations count for at least 1 ms (6.1.2).
    pub(super) fn shared(&self) -> TcpConfig {
        let is_cubic = self.congestion_control == CongestionControl::Cubic;
        let usual_exit = is_cubic.then_some(SlowStartExit::HystartPlusPlus);
        TcpConfig {
            congestion_control: self.congestion_control,
            initial_window_segments: self.initial_window_packets,
            slow_start_exit: self.slow_start_exit.or(usual_exit),
            window_validation: Some(false),
            initial_rto_ns: 999_000_000,
            minimum_rto_ns: 1_000_000,
            minimum_rto_above_srtt: true,
            ..TcpConfig::default()
        }
    }

    /// How long the other end may hold an acknowledgement back.
    pub(super) fn most_ack_delay_ns(&self) -> Time {
        self.ack_delay_ns.max(MOST_ACK_DELAY_NS)
    }
}
