//! How a level is cut into packets (CCZ-W4): audio and video packets in turn, so that each has its
//! share of the bytes.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::parameters::{Parameters, Programme};

/// What the server remembers of a packet, and the player reads from it.
#[derive(Clone, Copy, Debug)]
pub struct MediaPacket {
    pub payload_bytes: u32,
    pub level: u16,
    /// Media in it, s.
    pub duration_s: f64,
    /// Where in the clip it ends, s.
    pub end_s: f64,
}

#[derive(Clone, Debug)]
pub struct Packetiser {
    audio_share: f64,
    audio_bytes: (u32, u32),
    video_bytes: (u32, u32),
    /// Audio bytes that are due.
    audio_due: f64,
}

impl Packetiser {
    pub fn new(parameters: &Parameters) -> Self {
        Self {
            audio_share: parameters.audio_share,
            audio_bytes: parameters.audio_payload_bytes,
            video_bytes: parameters.video_payload_bytes,
            audio_due: 0.0,
        }
    }

    /// The next packet of a level, from `position_s` on.
    pub fn next(
        &mut self,
        rng: &mut ChaCha8Rng,
        programme: &Programme,
        level: usize,
        position_s: f64,
    ) -> MediaPacket {
        let rate_bps = programme.ladder_bps[level];
        let audio = self.audio_due > 0.0;
        let (low, high) =
            if audio || programme.audio_only(level) { self.audio_bytes } else { self.video_bytes };
        let whole = rng.random_range(low..=high);
        let left_bytes = ((programme.length_s - position_s) * rate_bps / 8.0).ceil().max(1.0);
        let payload_bytes = if left_bytes < f64::from(whole) { left_bytes as u32 } else { whole };
        let size = f64::from(payload_bytes);
        self.audio_due += size * self.audio_share - if audio { size } else { 0.0 };
        let duration_s = size * 8.0 / rate_bps;
        let end_s = (position_s + duration_s).min(programme.length_s);
        MediaPacket { payload_bytes, level: level as u16, duration_s, end_s }
    }
}
