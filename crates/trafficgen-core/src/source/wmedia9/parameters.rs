//! Parameters of a Windows Media 9 session, as they stand in the catalogue entry.

use super::clip::{Clip, Rendition};
use crate::source::parameters::positive;

/// What the encoder makes at one bit rate; the rate counts audio too, and media payload only.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Encoding {
    pub rate_kbps: f64,
    pub audio_kbps: f64,
    pub frames_per_s: f64,
}

/// Bursts of packets: `idle_s` from the last packet of one to the first of the next, `gap_s`
/// between packets inside.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bursts {
    pub idle_s: f64,
    pub gap_s: f64,
}

/// A point of a piecewise linear function, constant outside of its points.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Multiple {
    pub rate_kbps: f64,
    pub multiple: f64,
}

#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Bit rate of a clip with one rate.
    pub encoding_rate_kbps: f64,
    /// Bit rates of a clip with several; it then stands instead of `encoding_rate_kbps`.
    #[serde(default)]
    pub ladder_kbps: Option<Vec<f64>>,
    pub encodings: Vec<Encoding>,
    pub clip_s: f64,
    /// From the player's first request to its PLAY.
    pub silence_s: f64,
    /// From the SETUP at the server to the packet pair.
    pub probe_delay_s: f64,
    /// How long after the silence the player waits for it.
    pub probe_wait_s: f64,
    pub probe_packets: u32,
    /// IP bytes of a packet of the pair.
    pub probe_packet_bytes: u32,
    /// Media payload of a packet, without the RTP header.
    pub packet_payload_bytes: u32,
    /// Buffering is accelerated for encodings up to this share of the estimated capacity.
    pub accelerated_share_of_capacity: f64,
    /// ... and to this share of it.
    pub acceleration_limit_share_of_capacity: f64,
    /// Acceleration by bit rate, ascending.
    pub multiples: Vec<Multiple>,
    pub bursts_accelerated: Bursts,
    pub bursts_normal: Bursts,
    /// Media in the player at which its buffer is full, s.
    pub buffer_full_s: f64,
    /// How often a missing packet is asked for while the player buffers, and while it plays.
    pub requests_buffering: u8,
    pub requests_playing: u8,
    pub request_interval_s: f64,
    /// How long after its absence was seen a packet is asked for.
    pub request_lifetime_s: f64,
    pub packets_per_request: u32,
    /// Packets that the server sends again at most, as a share of those that it sends.
    pub resend_share: f64,
    /// At most so many reports are sent under loss, 1/s.
    pub reports_per_s: f64,
    /// Between reports without loss.
    pub report_interval_s: f64,
    /// Where the seconds of the verdict begin, after the first media packet, and how many there
    /// are.
    pub verdict_start_s: f64,
    pub verdict_seconds: u32,
    /// The threshold of a session lies evenly between these loss shares.
    pub verdict_loss_low: f64,
    pub verdict_loss_high: f64,
    /// When the server acts on it, after its first media packet.
    pub response_s: f64,
    /// It goes down to what is at most this share of the estimated capacity.
    pub response_share_of_capacity: f64,
    /// Share of the video bytes that half of the frames need, and that key frames need.
    pub half_frames_share: f64,
    pub key_frames_share: f64,
    pub key_frame_interval_s: f64,
    /// Levels up to this rate are sent along while buffering...
    pub sent_along_kbps: f64,
    /// ...if all of it is at most this share of the estimated capacity.
    pub sent_along_share_of_capacity: f64,
    /// Playback that has run dry waits until so much media is there.
    pub rebuffer_s: f64,
}

impl Parameters {
    /// Check the numbers, and make the clip out of them.
    ///
    /// # Errors
    /// A sentence that names what is wrong.
    pub fn clip(&self) -> Result<Clip, String> {
        self.check_numbers()?;
        let rates = match &self.ladder_kbps {
            Some(rates) => rates.clone(),
            None => vec![self.encoding_rate_kbps],
        };
        let levels =
            rates.iter().map(|rate| self.rendition(*rate)).collect::<Result<Vec<_>, _>>()?;
        Clip::new(levels)
    }

    fn rendition(&self, rate_kbps: f64) -> Result<Rendition, String> {
        let found = self.encodings.iter().find(|encoding| encoding.rate_kbps == rate_kbps);
        found.map(Rendition::from).ok_or_else(|| {
            let known: Vec<String> =
                self.encodings.iter().map(|encoding| encoding.rate_kbps.to_string()).collect();
            format!("no clip is encoded at {rate_kbps} kbps; there are {}", known.join(", "))
        })
    }

    fn check_numbers(&self) -> Result<(), String> {
        let above_zero = [
            ("clip_s", self.clip_s),
            ("silence_s", self.silence_s),
            ("probe_delay_s", self.probe_delay_s),
            ("probe_wait_s", self.probe_wait_s),
            ("buffer_full_s", self.buffer_full_s),
            ("request_interval_s", self.request_interval_s),
            ("request_lifetime_s", self.request_lifetime_s),
            ("reports_per_s", self.reports_per_s),
            ("report_interval_s", self.report_interval_s),
            ("verdict_start_s", self.verdict_start_s),
            ("response_s", self.response_s),
            ("key_frame_interval_s", self.key_frame_interval_s),
            ("rebuffer_s", self.rebuffer_s),
            ("idle_s of bursts_accelerated", self.bursts_accelerated.idle_s),
            ("gap_s of bursts_accelerated", self.bursts_accelerated.gap_s),
            ("idle_s of bursts_normal", self.bursts_normal.idle_s),
            ("gap_s of bursts_normal", self.bursts_normal.gap_s),
        ];
        above_zero.iter().try_for_each(|(name, value)| positive(name, *value))?;
        self.check_sizes()?;
        for encoding in &self.encodings {
            positive("rate_kbps of an encoding", encoding.rate_kbps)?;
            if !(encoding.audio_kbps > 0.0 && encoding.audio_kbps < encoding.rate_kbps) {
                return Err(format!(
                    "the audio of {} kbps must be above 0 and below it",
                    encoding.rate_kbps
                ));
            }
        }
        Ok(())
    }

    fn check_sizes(&self) -> Result<(), String> {
        if !(100..=1460).contains(&self.packet_payload_bytes) {
            return Err(format!(
                "packet_payload_bytes must be from 100 to 1460, not {}",
                self.packet_payload_bytes
            ));
        }
        if !(100..=1500).contains(&self.probe_packet_bytes) || self.probe_packets < 2 {
            return Err("the probe needs at least 2 packets of 100 to 1500 bytes".to_owned());
        }
        if self.multiples.is_empty() || self.multiples.iter().any(|point| point.multiple < 1.0) {
            return Err("multiples must name at least one multiple, and none below 1".to_owned());
        }
        if self.verdict_loss_low > self.verdict_loss_high {
            return Err("verdict_loss_low must not be above verdict_loss_high".to_owned());
        }
        Ok(())
    }

    /// Acceleration of an encoding of this rate.
    pub fn multiple(&self, rate_bps: f64) -> f64 {
        let rate_kbps = rate_bps / 1000.0;
        let above = self.multiples.iter().position(|point| point.rate_kbps >= rate_kbps);
        match above {
            None => self.multiples[self.multiples.len() - 1].multiple,
            Some(0) => self.multiples[0].multiple,
            Some(next) => {
                let (low, high) = (self.multiples[next - 1], self.multiples[next]);
                let share = (rate_kbps - low.rate_kbps) / (high.rate_kbps - low.rate_kbps);
                low.multiple + share * (high.multiple - low.multiple)
            }
        }
    }
}
