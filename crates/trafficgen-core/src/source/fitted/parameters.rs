//! Parameters of a fitted source.

use crate::des::{Media, RtpSpec, Time};
use crate::source::parameters::positive;
use crate::transport::quic::QuicConfig;
use crate::transport::TcpConfig;

#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    pub streams: Vec<StreamParameters>,
    /// Number of the schedule of the first stream; the others follow.
    pub first_schedule: usize,
    /// None: it sends its schedule whatever the path does.
    pub response: Option<ResponseParameters>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    Udp,
    Tcp,
    Quic,
}

#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamParameters {
    pub name: String,
    pub media: MediaName,
    pub protocol: Protocol,
    pub server_port: u16,
    pub client_port: u16,
    pub rtp: Option<RtpParameters>,
    /// When the client opens the stream, ns from the start of the session; None: it sends nothing
    /// before the media.
    pub opening_ns: Option<Time>,
    /// Settings of both ends of its connection, over TCP or QUIC.
    #[serde(default)]
    pub tcp: TcpConfig,
    #[serde(default)]
    pub quic: QuicConfig,
}

#[derive(Clone, Copy, Debug, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MediaName {
    Audio,
    Video,
    Mixed,
    Bulk,
    Unknown,
}

impl MediaName {
    /// What the flow carries. The stream was fitted as media, whatever is known of it.
    pub fn media(self) -> Media {
        match self {
            Self::Audio => Media::Audio,
            Self::Video => Media::Video,
            Self::Mixed | Self::Bulk | Self::Unknown => Media::Mixed,
        }
    }
}

#[derive(Clone, Copy, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RtpParameters {
    pub ssrc: u32,
    pub payload_type: u8,
    pub clock_hz: u32,
    pub first_sequence: u16,
    /// Whether the last packet of a frame is marked.
    pub marks_frames: bool,
}

impl RtpParameters {
    pub fn spec(self) -> RtpSpec {
        RtpSpec { ssrc: self.ssrc, payload_type: self.payload_type, clock_hz: self.clock_hz }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseKind {
    /// Whole frames are left out.
    Thinning,
    /// Frames are those of one of a few smaller encodings.
    LevelSwitching,
    /// Frames shrink by any factor.
    RateFollowing,
}

#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResponseParameters {
    pub kind: ResponseKind,
    /// The player reports so often, s.
    pub report_interval_s: f64,
    /// Weight of the newest report in the rate.
    pub newest_weight: f64,
    /// Relative rates of the levels, descending from 1; for level switching.
    pub levels: Vec<f64>,
    pub curves: Vec<CurveParameters>,
}

/// What a report says that a curve is looked up by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    LossRate,
    QueueingDelayS,
    /// The rate that arrives while the path is congested.
    ThroughputBps,
}

/// Relative rate against a condition.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CurveParameters {
    pub condition: Condition,
    /// Condition and relative rate, ascending in the condition.
    pub points: Vec<(f64, f64)>,
    /// Each point holds up to the next one; else the rate is interpolated.
    pub in_steps: bool,
}

impl Parameters {
    /// Check the numbers.
    ///
    /// # Errors
    /// A sentence that names the number and what it must be.
    pub fn validate(&self) -> Result<(), String> {
        if self.streams.is_empty() {
            return Err("streams is empty".into());
        }
        for stream in &self.streams {
            stream.tcp.validate()?;
            stream.quic.validate()?;
        }
        self.response.as_ref().map_or(Ok(()), ResponseParameters::validate)
    }
}

impl ResponseParameters {
    fn validate(&self) -> Result<(), String> {
        positive("report_interval_s", self.report_interval_s)?;
        positive("newest_weight", self.newest_weight)?;
        if self.newest_weight > 1.0 {
            return Err(format!("newest_weight must be at most 1, not {}", self.newest_weight));
        }
        if self.kind == ResponseKind::LevelSwitching && self.levels.is_empty() {
            return Err("level switching needs levels".into());
        }
        if self.levels.iter().any(|level| !(0.0..=1.0).contains(level)) {
            return Err("levels must be from 0 to 1".into());
        }
        if self.levels.windows(2).any(|pair| pair[1] >= pair[0]) {
            return Err("levels must descend".into());
        }
        self.curves.iter().try_for_each(CurveParameters::validate)
    }
}

impl CurveParameters {
    fn validate(&self) -> Result<(), String> {
        if self.points.is_empty() {
            return Err("a curve has no points".into());
        }
        if self
            .points
            .iter()
            .any(|(condition, rate)| !condition.is_finite() || !(0.0..=1.0).contains(rate))
        {
            return Err("a curve's points need a finite condition and a rate from 0 to 1".into());
        }
        if self.points.windows(2).any(|pair| pair[1].0 <= pair[0].0) {
            return Err("a curve's conditions must ascend".into());
        }
        Ok(())
    }
}
