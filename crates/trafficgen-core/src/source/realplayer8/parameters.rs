//! What a RealPlayer 8 session is made of: the clip, and the numbers of its server and player.

use super::super::parameters::positive;
use crate::transport::TcpConfig;

/// What fits into a packet of 1500 bytes over TCP.
const LARGEST_PAYLOAD_BYTES: u32 = 1460;

/// Transport of the media; the RTSP control connection is TCP in both cases (CCZ-S5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    Udp,
    Tcp,
}

/// How the player steps down over TCP; both kinds are in the paper (CCZ-M3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TcpResponse {
    /// Whenever the slow estimate of the goodput falls below the level.
    Steps,
    /// Once a refill of the buffer has taken as long as the player waits, to the level that the
    /// goodput carries.
    Jump,
}

/// A row of the playlist: what the clip is, and the path to its server.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clip {
    /// Number in the playlist, from 1.
    pub clip: u32,
    /// Media payload rates of the encodings, ascending.
    pub ladder_kbps: Vec<f64>,
    pub length_s: f64,
    /// Times the level's rate while buffering over UDP.
    pub multiple: f64,
    /// The first level follows a measurement at the start.
    pub preselect: bool,
    pub tcp_response: TcpResponse,
    /// Path to the clip's server: for those who build the path, the source does not look at it.
    #[serde(rename = "base_rtt_s")]
    pub _base_rtt_s: f64,
    #[serde(rename = "path_loss")]
    pub _path_loss: f64,
    #[serde(rename = "answers_ping")]
    pub _answers_ping: bool,
}

/// All numbers of a session; they come from the catalogue entry, which says where each is from.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Number of the clip in the playlist, from 1.
    pub clip: u32,
    pub transport: Transport,
    pub playlist: Vec<Clip>,
    /// These replace what the playlist says about the clip.
    pub ladder_kbps: Option<Vec<f64>>,
    pub length_s: Option<f64>,
    pub multiple: Option<f64>,
    pub preselect: Option<bool>,
    pub tcp_response: Option<TcpResponse>,

    /// Times the level's rate while buffering over TCP.
    pub tcp_multiple: f64,
    /// Times the level's rate at which it is refilled later.
    pub tcp_refill_multiple: f64,
    /// Buffering ends when this much media is ahead of playback ...
    pub ahead_s: f64,
    /// ... or after this time.
    pub buffering_limit_s: f64,
    /// Share of what came that the UDP server sends on with after congestion while buffering.
    pub buffering_share: f64,
    /// The player begins to play with this much media ...
    pub playback_start_s: f64,
    /// ... or after this time, and waits as long when its buffer has run empty.
    pub stall_limit_s: f64,
    /// The player over TCP leaves when so many waits in a row brought less than this share of the
    /// lowest level.
    pub give_up_waits: u32,
    pub give_up_share: f64,
    /// The player leaves when nothing has come for this long.
    pub silence_limit_s: f64,

    pub report_interval_s: f64,
    /// First report of a clip with `preselect`.
    pub preselect_report_s: f64,
    /// Weight of a report in the server's mean of lost packets, which starts anew at each step.
    pub loss_weight: f64,
    /// Weight of a report in its quick mean of the share lost, which starts anew at each step too
    /// ...
    pub severe_loss_weight: f64,
    /// ... and the share above which it steps down at once.
    pub severe_loss: f64,
    /// Lost packets per s above which the UDP server steps down ...
    pub down_losses_per_s: f64,
    /// ... where the RTT is above the smallest one by this; elsewhere ...
    pub down_queue_s: f64,
    /// ... above this number: loss without a queue is the path's.
    pub down_losses_unqueued_per_s: f64,
    /// Lost packets per s below which the path counts as clear.
    pub up_losses_per_s: f64,
    /// The path must be clear for this long before a step up; a failed try doubles it, up to the
    /// longest.
    pub up_wait_s: f64,
    pub up_wait_most_s: f64,
    /// Resendings take at most this share of the level's rate.
    pub resend_share: f64,

    /// Time constant of the player's estimate of the goodput over TCP.
    pub goodput_time_constant_s: f64,
    /// The player asks for a lower level where the estimate is below this share of the level.
    pub tcp_down_share: f64,
    /// Time constant of the estimate that must carry a higher level.
    pub evidence_time_constant_s: f64,
    /// The TCP server sends faster than playback until this much media is ahead of it.
    pub tcp_ahead_s: f64,
    /// The player's buffer counts as full with this much media ...
    pub tcp_full_s: f64,
    /// ... and the player asks for a higher level when it has been full for this long.
    pub tcp_up_wait_s: f64,
    /// The player tells the server over TCP how far it has played this often.
    pub status_interval_s: f64,
    /// Bytes that measure the path before the first level is chosen over TCP.
    pub preselect_probe_bytes: u32,

    /// The lowest level of a clip with several is audio only up to this rate.
    pub audio_only_kbps: f64,
    pub frames_per_s: f64,
    /// Share of audio in a level's rate.
    pub audio_share: f64,
    /// Range of audio packets, payload bytes.
    pub audio_payload_bytes: (u32, u32),
    /// Range of video packets, payload bytes.
    pub video_payload_bytes: (u32, u32),
    pub server_tcp: TcpConfig,
    pub client_tcp: TcpConfig,
}

/// The clip that a session plays.
#[derive(Clone, Debug)]
pub struct Programme {
    /// Ascending, bit/s of media payload.
    pub ladder_bps: Vec<f64>,
    pub length_s: f64,
    pub multiple: f64,
    pub preselect: bool,
    pub tcp_response: TcpResponse,
    pub audio_only_bps: f64,
}

impl Programme {
    /// The highest level that `rate_bps` carries, else the lowest.
    pub fn level_within(&self, rate_bps: f64) -> usize {
        self.ladder_bps.iter().rposition(|level_bps| *level_bps <= rate_bps).unwrap_or(0)
    }

    pub fn top(&self) -> usize {
        self.ladder_bps.len() - 1
    }

    /// Whether a level has no video: the lowest of several, up to the rate that the entry names
    /// (CCZ-M6).
    pub fn audio_only(&self, level: usize) -> bool {
        level == 0 && self.ladder_bps.len() > 1 && self.ladder_bps[0] <= self.audio_only_bps
    }
}

impl Parameters {
    /// Check the numbers and find the clip.
    ///
    /// # Errors
    /// A sentence that names what is wrong.
    pub fn programme(&self) -> Result<Programme, String> {
        self.validate()?;
        let clips = self.playlist.len();
        let row = self.playlist.iter().find(|row| row.clip == self.clip);
        let row = row.ok_or_else(|| {
            format!("clip must be one of the {clips} of the playlist, not {}", self.clip)
        })?;
        let ladder_kbps = self.ladder_kbps.as_ref().unwrap_or(&row.ladder_kbps);
        let programme = Programme {
            ladder_bps: ladder_kbps.iter().map(|kbps| kbps * 1000.0).collect(),
            length_s: self.length_s.unwrap_or(row.length_s),
            multiple: self.multiple.unwrap_or(row.multiple),
            preselect: self.preselect.unwrap_or(row.preselect),
            tcp_response: self.tcp_response.unwrap_or(row.tcp_response),
            audio_only_bps: self.audio_only_kbps * 1000.0,
        };
        positive("length_s", programme.length_s)?;
        let ascends = ladder_kbps.windows(2).all(|pair| pair[0] < pair[1]);
        if !ascends || ladder_kbps.first().is_none_or(|lowest| *lowest <= 0.0) {
            return Err("ladder_kbps must hold rates above 0 that ascend".into());
        }
        if !(programme.multiple >= 1.0 && programme.multiple.is_finite()) {
            return Err(format!("multiple must be at least 1, not {}", programme.multiple));
        }
        Ok(programme)
    }

    fn validate(&self) -> Result<(), String> {
        for (name, value) in [
            ("ahead_s", self.ahead_s),
            ("buffering_limit_s", self.buffering_limit_s),
            ("playback_start_s", self.playback_start_s),
            ("stall_limit_s", self.stall_limit_s),
            ("silence_limit_s", self.silence_limit_s),
            ("report_interval_s", self.report_interval_s),
            ("preselect_report_s", self.preselect_report_s),
            ("down_losses_per_s", self.down_losses_per_s),
            ("down_queue_s", self.down_queue_s),
            ("down_losses_unqueued_per_s", self.down_losses_unqueued_per_s),
            ("up_losses_per_s", self.up_losses_per_s),
            ("up_wait_s", self.up_wait_s),
            ("up_wait_most_s", self.up_wait_most_s),
            ("goodput_time_constant_s", self.goodput_time_constant_s),
            ("evidence_time_constant_s", self.evidence_time_constant_s),
            ("tcp_ahead_s", self.tcp_ahead_s),
            ("tcp_full_s", self.tcp_full_s),
            ("tcp_up_wait_s", self.tcp_up_wait_s),
            ("status_interval_s", self.status_interval_s),
            ("frames_per_s", self.frames_per_s),
            ("tcp_multiple", self.tcp_multiple),
            ("tcp_refill_multiple", self.tcp_refill_multiple),
        ] {
            positive(name, value)?;
        }
        for (name, value) in [
            ("loss_weight", self.loss_weight),
            ("severe_loss_weight", self.severe_loss_weight),
            ("severe_loss", self.severe_loss),
            ("buffering_share", self.buffering_share),
            ("give_up_share", self.give_up_share),
            ("resend_share", self.resend_share),
            ("tcp_down_share", self.tcp_down_share),
            ("audio_share", self.audio_share),
        ] {
            if !(0.0..=1.0).contains(&value) {
                return Err(format!("{name} must be from 0 to 1, not {value}"));
            }
        }
        for (name, (low, high)) in [
            ("audio_payload_bytes", self.audio_payload_bytes),
            ("video_payload_bytes", self.video_payload_bytes),
        ] {
            if low == 0 || low > high || high > LARGEST_PAYLOAD_BYTES {
                return Err(format!(
                    "{name} must be two ascending sizes from 1 to 1460, not {low} and {high}"
                ));
            }
        }
        self.server_tcp.validate()?;
        self.client_tcp.validate()
    }
}
