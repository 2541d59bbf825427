//! What a two-stream session is told; every number comes from the catalogue entry.

use super::controller::SearchSettings;
use super::monitor::MonitorSettings;
use super::trend::Thresholds;
use crate::des::ns;
use crate::source::parameters::positive;
use crate::transport::TcpConfig;

/// IPv4, UDP: what of an Ethernet frame of 1500 bytes is left for a datagram.
const LARGEST_DATAGRAM_BYTES: f64 = 1472.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    Udp,
    Tcp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Control {
    On,
    Off,
}

#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    pub traffic_transport: Transport,
    pub control: Control,
    /// Video payload that the application would like to send.
    pub video_kbps: f64,
    pub audio_payload_bytes: u32,
    pub audio_interval_s: f64,
    pub frame_interval_s: f64,
    /// Audio alone, then with video, then alone.
    pub audio_before_s: f64,
    pub video_s: f64,
    pub audio_after_s: f64,
    /// The clock of both streams ticks up to this much late, uniformly.
    pub send_delay_s: f64,
    /// Payload of a verdict packet.
    pub verdict_payload_bytes: u32,
    pub scales_packets: Vec<u32>,
    pub threshold_low: f64,
    pub threshold_high: f64,
    pub verdict_every_packets: u32,
    pub epsilon_least_s: f64,
    pub epsilon_noise_multiple: f64,
    pub resolution_kbps: f64,
    pub pause_patience_s: f64,
    pub search_patience_s: f64,
    pub hold_patience_s: f64,
    pub lowered_share: f64,
    pub search_again_share: f64,
    /// 0: a higher rate is never tried.
    pub probe_every_s: f64,
    pub probe_multiple: f64,
    pub send_buffer_bytes: u64,
    pub tcp: TcpConfig,
}

impl Parameters {
    /// Check the numbers.
    ///
    /// # Errors
    /// A sentence that names the parameter and what it must be.
    pub fn validate(&self) -> Result<(), String> {
        let above_zero = [
            ("video_kbps", self.video_kbps),
            ("audio_interval_s", self.audio_interval_s),
            ("frame_interval_s", self.frame_interval_s),
            ("video_s", self.video_s),
            ("threshold_low", self.threshold_low),
            ("resolution_kbps", self.resolution_kbps),
            ("pause_patience_s", self.pause_patience_s),
            ("search_patience_s", self.search_patience_s),
            ("hold_patience_s", self.hold_patience_s),
        ];
        above_zero.iter().try_for_each(|(name, value)| positive(name, *value))?;
        let at_least_zero = [
            ("audio_before_s", self.audio_before_s),
            ("audio_after_s", self.audio_after_s),
            ("send_delay_s", self.send_delay_s),
            ("epsilon_least_s", self.epsilon_least_s),
            ("epsilon_noise_multiple", self.epsilon_noise_multiple),
            ("probe_every_s", self.probe_every_s),
        ];
        if let Some((name, value)) =
            at_least_zero.iter().find(|(_, value)| !(value.is_finite() && *value >= 0.0))
        {
            return Err(format!("{name} must be at least 0, not {value}"));
        }
        self.validate_ranges()?;
        self.sender_tcp().validate()
    }

    fn validate_ranges(&self) -> Result<(), String> {
        let scales = &self.scales_packets;
        if scales.is_empty() || scales[0] < 4 || !scales.is_sorted() {
            return Err(format!("scales_packets must ascend from at least 4, not {scales:?}"));
        }
        let ticks = self.audio_interval_s / self.frame_interval_s;
        if ticks < 0.5 || (ticks - ticks.round()).abs() > 1e-6 {
            return Err(
                "audio_interval_s must be a multiple of frame_interval_s: one clock serves both"
                    .to_owned(),
            );
        }
        if self.send_delay_s >= self.frame_interval_s {
            return Err(format!(
                "send_delay_s must be below frame_interval_s, not {}",
                self.send_delay_s
            ));
        }
        if !(self.threshold_low..=1.0).contains(&self.threshold_high) {
            return Err(format!(
                "threshold_high must be from threshold_low to 1, not {}",
                self.threshold_high
            ));
        }
        if self.audio_payload_bytes == 0
            || self.verdict_payload_bytes == 0
            || self.verdict_every_packets == 0
        {
            return Err(
                "audio_payload_bytes, verdict_payload_bytes, verdict_every_packets must be above 0"
                    .to_owned(),
            );
        }
        let shares = [
            ("lowered_share", self.lowered_share),
            ("search_again_share", self.search_again_share),
        ];
        if let Some((name, value)) =
            shares.iter().find(|(_, value)| !(*value > 0.0 && *value < 1.0))
        {
            return Err(format!("{name} must be between 0 and 1, not {value}"));
        }
        if self.probe_multiple.is_nan() || self.probe_multiple <= 1.0 {
            return Err(format!("probe_multiple must be above 1, not {}", self.probe_multiple));
        }
        let largest_kbps = LARGEST_DATAGRAM_BYTES * 8.0 / self.frame_interval_s / 1000.0;
        if self.traffic_transport == Transport::Udp && self.video_kbps > largest_kbps {
            return Err(format!(
                "video_kbps must be at most {largest_kbps} over UDP: each frame is one packet"
            ));
        }
        Ok(())
    }

    /// Audio goes with each so many video frames, on one clock.
    pub fn ticks_per_audio_packet(&self) -> u64 {
        (self.audio_interval_s / self.frame_interval_s).round().max(1.0) as u64
    }

    /// Payload of a video frame at a rate; at least one byte.
    pub fn frame_bytes(&self, rate_kbps: f64) -> u32 {
        (rate_kbps * 1000.0 * self.frame_interval_s / 8.0).round().max(1.0) as u32
    }

    pub fn monitor(&self) -> MonitorSettings {
        MonitorSettings {
            scales_packets: self.scales_packets.clone(),
            thresholds: Thresholds { low: self.threshold_low, high: self.threshold_high },
            verdict_every_packets: self.verdict_every_packets,
            epsilon_least_s: self.epsilon_least_s,
            epsilon_noise_multiple: self.epsilon_noise_multiple,
        }
    }

    pub fn search(&self) -> SearchSettings {
        SearchSettings {
            full_kbps: self.video_kbps,
            resolution_kbps: self.resolution_kbps,
            pause_patience: ns(self.pause_patience_s),
            search_patience: ns(self.search_patience_s),
            hold_patience: ns(self.hold_patience_s),
            lowered_share: self.lowered_share,
            search_again_share: self.search_again_share,
            probe_every: (self.probe_every_s > 0.0).then(|| ns(self.probe_every_s)),
            probe_multiple: self.probe_multiple,
        }
    }

    /// TCP of the sending end: with the send buffer that the frames wait in.
    pub fn sender_tcp(&self) -> TcpConfig {
        TcpConfig { send_buffer_bytes: self.send_buffer_bytes, ..self.tcp }
    }
}
