//! What can be set at one end of a TCP connection.

use serde::Deserialize;

use super::Time;

/// How the congestion window answers to acknowledgements and loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CongestionControl {
    /// RFC 5681 (NewReno recovery of RFC 6582 without SACK).
    Reno,
    /// RFC 9438.
    #[default]
    Cubic,
    /// BBR version 1, as in Linux: paced at the measured bandwidth.
    Bbr,
    /// BBR version 3 (draft-ietf-ccwg-bbr): loss also limits what is under way.
    Bbr3,
}

/// When slow start ends without loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SlowStartExit {
    /// It does not.
    Loss,
    /// HyStart, as in the CUBIC of Linux.
    Hystart,
    /// HyStart++ (RFC 9406).
    HystartPlusPlus,
}

/// As Linux has it: pairs of full segments in its first window of 64 kB.
const QUICK_ACKS: u32 = 22;

/// The settings of one end; defaults are those of a present-day Linux host where it and the RFCs
/// differ.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TcpConfig {
    pub congestion_control: CongestionControl,
    /// The MSS option: largest payload with its TCP options. Timestamps take 12 bytes of it (RFC
    /// 6691): 1448 remain.
    pub mss_bytes: u32,
    /// Selective acknowledgements (RFC 2018) and the recovery that uses them (RFC 6675); both ends
    /// must want them.
    pub sack: bool,
    /// RFC 7323: a round-trip time from every acknowledgement; both ends must want them.
    pub timestamps: bool,
    /// Acknowledge every second full segment (RFC 5681 4.2).
    pub delayed_acks: bool,
    /// 40 ms as Linux; other stacks took 200 ms, and RFC 9293 allows up to 500 ms.
    pub delayed_ack_timeout_ns: Time,
    /// 10 segments (RFC 6928); 2 to 4 in stacks before 2011 (RFC 2581, RFC 3390).
    pub initial_window_segments: u32,
    /// Where slow start ends at first; unlimited when absent (RFC 5681 3.1).
    pub initial_ssthresh_bytes: Option<u64>,
    pub send_buffer_bytes: u64,
    pub receive_buffer_bytes: u64,
    /// One second before the first sample (RFC 6298); 3 s in stacks before 2011 (RFC 2988).
    pub initial_rto_ns: Time,
    /// 200 ms as Linux; RFC 6298 recommends one second.
    pub minimum_rto_ns: Time,
    /// Linux adds at least the minimum to the smoothed round-trip time; RFC 6298 (false) only keeps
    /// the sum above it.
    pub minimum_rto_above_srtt: bool,
    /// Hold back small segments while data is outstanding (RFC 9293 3.7.4); streaming servers
    /// switch it off.
    pub nagle: bool,
    /// Count acknowledged bytes rather than acknowledgements (RFC 3465, limit 2 segments), so that
    /// delayed acknowledgements do not slow the growth. Linux does; BSD and Windows stacks before
    /// about 2005 did not.
    pub appropriate_byte_counting: bool,
    /// Halve smoothly in SACK recovery (RFC 6937) as Linux, rather than pause until the pipe has
    /// drained (RFC 6675).
    pub proportional_rate_reduction: bool,
    /// With SACK, find lost retransmissions by what arrives after them, as Linux does; RFC 6675
    /// leaves them to the timer.
    pub lost_retransmission_detection: bool,
    /// With SACK, find losses by time and probe for a lost tail, and report duplicates (RACK-TLP,
    /// RFC 8985 and 2883), as Linux does since 2018. By default all but Reno do: that is TCP as the
    /// papers measured it.
    pub rack: Option<bool>,
    /// Give the window back when a repair turns out to be needless: by timestamps (RFC 4015), by
    /// reports of duplicates (RFC 3708) and after timeouts (F-RTO, RFC 5682). By default where
    /// `rack` is on.
    pub undo: Option<bool>,
    /// Reduce the window after an idle retransmission timeout: see `window_validation`.
    pub restart_after_idle: bool,
    /// Halve the window once for each timeout that is idle, and bring it nearer to what was used
    /// where the application sends less, with three quarters of it as threshold, as Linux does
    /// (RFC 2861); else go back to the initial window when idle (RFC 5681 4.1). By default all but
    /// Reno do.
    pub window_validation: Option<bool>,
    /// By default CUBIC has `hystart`, others `loss`. BBR has no slow start of this kind.
    pub slow_start_exit: Option<SlowStartExit>,
    /// Acknowledge so many segments at once at first, and up to 16 after a pause of more than a
    /// retransmission timeout, so that slow start is not slowed. By default as in Linux, with Reno
    /// none.
    pub quick_acks: Option<u32>,
}

impl Default for TcpConfig {
    fn default() -> Self {
        Self {
            congestion_control: CongestionControl::default(),
            mss_bytes: 1460,
            sack: true,
            timestamps: true,
            delayed_acks: true,
            delayed_ack_timeout_ns: 40_000_000,
            initial_window_segments: 10,
            initial_ssthresh_bytes: None,
            send_buffer_bytes: 4 << 20,
            receive_buffer_bytes: 6 << 20,
            initial_rto_ns: 1_000_000_000,
            minimum_rto_ns: 200_000_000,
            minimum_rto_above_srtt: true,
            nagle: false,
            appropriate_byte_counting: true,
            proportional_rate_reduction: true,
            lost_retransmission_detection: true,
            rack: None,
            undo: None,
            restart_after_idle: true,
            window_validation: None,
            slow_start_exit: None,
            quick_acks: None,
        }
    }
}

impl TcpConfig {
    /// What is not set is as in Linux today, but with Reno as the papers measured it.
    fn is_of_today(&self) -> bool {
        self.congestion_control != CongestionControl::Reno
    }

    pub(super) fn uses_rack(&self) -> bool {
        self.rack.unwrap_or(self.is_of_today())
    }

    pub(super) fn undoes(&self) -> bool {
        self.undo.unwrap_or(self.uses_rack())
    }

    pub(super) fn validates_window(&self) -> bool {
        self.window_validation.unwrap_or(self.is_of_today())
    }

    pub(super) fn quick_acks(&self) -> u32 {
        self.quick_acks.unwrap_or(if self.is_of_today() { QUICK_ACKS } else { 0 })
    }

    pub(super) fn slow_start_exit(&self) -> SlowStartExit {
        let is_cubic = self.congestion_control == CongestionControl::Cubic;
        let usual = if is_cubic { SlowStartExit::Hystart } else { SlowStartExit::Loss };
        self.slow_start_exit.unwrap_or(usual)
    }

    /// Whether a connection can run with these settings.
    ///
    /// # Errors
    /// The name of the first setting that makes no sense, and why.
    pub fn validate(&self) -> Result<(), String> {
        let least_mss_bytes = 48; // leaves payload beside the longest options
        let refusals = [
            (
                self.mss_bytes < least_mss_bytes || self.mss_bytes > 65_495,
                "mss_bytes must be between 48 and 65495",
            ),
            (self.initial_window_segments == 0, "initial_window_segments must be at least 1"),
            (self.initial_ssthresh_bytes == Some(0), "initial_ssthresh_bytes must be positive"),
            (
                self.send_buffer_bytes == 0 || self.send_buffer_bytes > 1 << 62,
                "send_buffer_bytes must be between 1 and 2^62",
            ),
            (
                self.receive_buffer_bytes == 0 || self.receive_buffer_bytes > 1 << 30,
                "receive_buffer_bytes must be between 1 and 2^30, the largest window of RFC 7323",
            ),
            (
                !(1..=500_000_000).contains(&self.delayed_ack_timeout_ns),
                "delayed_ack_timeout_ns must be positive and at most 500 ms (RFC 9293)",
            ),
            (
                !(1..=60_000_000_000).contains(&self.initial_rto_ns),
                "initial_rto_ns must be positive and at most 60 s (RFC 6298)",
            ),
            (
                !(1..=60_000_000_000).contains(&self.minimum_rto_ns),
                "minimum_rto_ns must be positive and at most 60 s (RFC 6298)",
            ),
        ];
        refusals
            .iter()
            .find(|(refused, _)| *refused)
            .map_or(Ok(()), |(_, why)| Err((*why).to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use serde::de::value::{Error, MapDeserializer};

    use super::*;

    fn read(pairs: Vec<(&str, bool)>) -> Result<TcpConfig, Error> {
        TcpConfig::deserialize(MapDeserializer::new(pairs.into_iter()))
    }

    #[test]
    fn settings_are_read_by_name_and_unknown_names_refused() {
        let expected = TcpConfig { sack: false, nagle: true, ..TcpConfig::default() };
        assert_eq!(read(vec![("sack", false), ("nagle", true)]), Ok(expected));
        assert!(read(vec![("selective", false)]).is_err());
    }

    #[test]
    fn defaults_can_run() {
        assert_eq!(TcpConfig::default().validate(), Ok(()));
    }

    #[test]
    fn refusals_name_the_setting() {
        let config = TcpConfig { mss_bytes: 10, ..TcpConfig::default() };
        assert!(config.validate().is_err_and(|why| why.contains("mss_bytes")));
        let config = TcpConfig { receive_buffer_bytes: 1 << 31, ..TcpConfig::default() };
        assert!(config.validate().is_err_and(|why| why.contains("receive_buffer_bytes")));
    }
}
