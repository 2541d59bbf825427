//! What a RealVideo 10 session is made of: the clips, and the numbers of server and player.

use super::super::parameters::positive;
use crate::transport::TcpConfig;

/// A clip by the rate of its audience, or the clip that holds the encodings of all of them.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(untagged)]
pub enum ClipName {
    AudienceKbps(f64),
    Word(String),
}

/// The word for the clip with all encodings.
const SURESTREAM: &str = "surestream";

/// A row of the table of clips (BMW-S2, BMW-T1).
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clip {
    /// Rate of the audience that the encoding is made for.
    pub audience_kbps: f64,
    /// Media payload.
    pub true_kbps: f64,
    pub audio_kbps: f64,
    /// First packet to the start of playback.
    pub buffering_s: f64,
    pub packet_payload_bytes: u32,
    pub frames_per_s: f64,
}

/// All numbers of a session; they come from the catalogue entry, which says where each is from.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    pub encoding_rate_kbps: ClipName,
    pub turboplay: bool,
    pub clips: Vec<Clip>,
    pub clip_length_s: f64,
    pub surestream_length_s: f64,
    pub surestream_buffering_s: f64,

    /// Headers only for this long, one packet of this payload each interval.
    pub quiet_s: f64,
    pub header_interval_s: f64,
    pub header_payload_bytes: u32,
    /// Then the rate rises from this share of the clip's own to its target.
    pub rise_from_share: f64,
    pub rise_time_constant_s: f64,
    /// Times the clip's rate before and after playback has begun ...
    pub before_playback_multiple: f64,
    pub after_playback_multiple: f64,
    /// ... but no more than this, media payload, and no less than the clip's own rate.
    pub accelerated_cap_kbps: f64,
    /// While it fills its buffer, a player that plays requests at least this many times the clip's
    /// rate ...
    pub least_multiple: f64,
    /// ... and after congestion for this many.
    pub eased_multiple: f64,
    /// The server sends faster than the clip plays until this much media is ahead of playback.
    pub ahead_s: f64,
    /// It stops doing so when less than this share of what it sent in a second has come.
    pub accelerated_goodput_share: f64,
    /// The rate varies about its mean: standard deviation and bound, as shares, and time constant.
    pub rate_sigma: f64,
    pub rate_bound_share: f64,
    pub rate_time_constant_s: f64,
    /// Share of that variation which is left where the player, and not the clip, sets the rate.
    pub asked_variation_share: f64,

    /// The server sends what is due at these intervals, back to back, unless the link's rate paces
    /// it.
    pub burst_interval_s: f64,

    /// Packets of the train that measures the link.
    pub train_packets: u32,
    /// The player tells the estimate this long after the first packet of the train.
    pub train_report_s: f64,
    /// Packets over which the player takes a rate for the estimate; it keeps the largest.
    pub estimate_window_packets: u32,
    /// Times the estimate at which TurboPlay sends.
    pub turboplay_pace_ratio: f64,
    /// TurboPlay sends at the link's rate no longer than this.
    pub turboplay_limit_s: f64,
    /// With TurboPlay playback begins with this much media, if that is before the clip's own time.
    pub turboplay_playback_media_s: f64,

    pub report_interval_s: f64,
    /// A report with more than this share lost, and at least this much payload, is taken for
    /// congestion.
    pub congestion_loss: f64,
    pub congestion_least_bytes: u32,
    /// After a change of rate, reports of this long say nothing about it.
    pub settling_s: f64,
    /// Without congestion for this long, the rate goes up again where it can.
    pub clear_s: f64,
    /// The same of a SureStream clip.
    pub levels_least_bytes: u32,
    /// Congestion lasts when so many of the last so many reports tell of it.
    pub lasting_reports: (u32, u32),
    /// A SureStream encoding that was too much within that time doubles it for its next trial, up
    /// to this.
    pub clear_most_s: f64,
    /// Clips of a true rate up to this have no parts that can be left out: frames are dropped, then
    /// all video.
    pub no_parts_up_to_kbps: f64,
    /// Share of the frames that stay when frames are left out.
    pub thinned_share: f64,
    /// At this many times of congestion such a clip becomes audio only for good.
    pub give_up_count: u32,
    pub audio_burst_interval_s: f64,
    /// A clip with parts leaves some out when more than this share is lost for so long.
    pub parts_loss: f64,
    /// Share of the goodput that the parts which stay take.
    pub parts_goodput_share: f64,
    /// Resendings take at most this share of the clip's rate.
    pub resend_share: f64,

    /// Playback begins, or goes on, with at least this much media.
    pub playback_least_s: f64,
    /// The player leaves when nothing has come for this long.
    pub silence_limit_s: f64,
    pub server_tcp: TcpConfig,
    pub client_tcp: TcpConfig,
}

/// An encoding of a clip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Encoding {
    pub bps: f64,
    pub audio_bps: f64,
    pub payload_bytes: u32,
    pub frames_per_s: f64,
}

/// The clip that a session plays.
#[derive(Clone, Debug)]
pub struct Programme {
    /// Ascending; one unless it is a SureStream clip.
    pub encodings: Vec<Encoding>,
    pub length_s: f64,
    pub buffering_s: f64,
}

impl Programme {
    pub fn is_surestream(&self) -> bool {
        self.encodings.len() > 1
    }

    pub fn top(&self) -> usize {
        self.encodings.len() - 1
    }
}

impl Clip {
    fn encoding(&self) -> Encoding {
        Encoding {
            bps: self.true_kbps * 1e3,
            audio_bps: self.audio_kbps * 1e3,
            payload_bytes: self.packet_payload_bytes,
            frames_per_s: self.frames_per_s,
        }
    }

    fn validate(&self) -> Result<(), String> {
        positive("clips: true_kbps", self.true_kbps)?;
        positive("clips: audio_kbps", self.audio_kbps)?;
        positive("clips: frames_per_s", self.frames_per_s)?;
        if self.audio_kbps > self.true_kbps {
            return Err(format!(
                "clips: audio_kbps {} is more than true_kbps {}",
                self.audio_kbps, self.true_kbps
            ));
        }
        payload("clips: packet_payload_bytes", self.packet_payload_bytes)
    }
}

impl Parameters {
    /// The clip that is to be played, once all numbers make sense.
    ///
    /// # Errors
    /// What makes no sense.
    pub fn programme(&self) -> Result<Programme, String> {
        self.validate()?;
        match &self.encoding_rate_kbps {
            ClipName::AudienceKbps(rate) => self.single(*rate),
            ClipName::Word(word) if word == SURESTREAM => {
                let mut encodings: Vec<Encoding> = self.clips.iter().map(Clip::encoding).collect();
                encodings.sort_by(|one, other| one.bps.total_cmp(&other.bps));
                Ok(Programme {
                    encodings,
                    length_s: self.surestream_length_s,
                    buffering_s: self.surestream_buffering_s,
                })
            }
            ClipName::Word(word) => match word.parse() {
                Ok(rate) => self.single(rate),
                Err(_) => Err(format!(
                    "encoding_rate_kbps must be a rate or {SURESTREAM:?}, not {word:?}"
                )),
            },
        }
    }

    fn single(&self, rate: f64) -> Result<Programme, String> {
        let known = || {
            self.clips
                .iter()
                .map(|clip| clip.audience_kbps.to_string())
                .collect::<Vec<_>>()
                .join(", ")
        };
        let clip =
            self.clips.iter().find(|clip| clip.audience_kbps == rate).ok_or_else(|| {
                format!("encoding_rate_kbps must be one of {}, not {rate}", known())
            })?;
        Ok(Programme {
            encodings: vec![clip.encoding()],
            length_s: self.clip_length_s,
            buffering_s: clip.buffering_s,
        })
    }

    fn validate(&self) -> Result<(), String> {
        self.clips.iter().try_for_each(Clip::validate)?;
        if self.clips.is_empty() {
            return Err("clips must have at least one clip".to_owned());
        }
        self.validate_numbers()?;
        for (name, share) in [
            ("rise_from_share", self.rise_from_share),
            ("accelerated_goodput_share", self.accelerated_goodput_share),
            ("congestion_loss", self.congestion_loss),
            ("asked_variation_share", self.asked_variation_share),
            ("parts_loss", self.parts_loss),
            ("thinned_share", self.thinned_share),
            ("resend_share", self.resend_share),
        ] {
            if !(0.0..=1.0).contains(&share) {
                return Err(format!("{name} must be from 0 to 1, not {share}"));
            }
        }
        if !(0.0..=0.9).contains(&self.rate_bound_share)
            || self.rate_sigma.is_nan()
            || self.rate_sigma < 0.0
        {
            return Err(
                "rate_sigma must be at least 0 and rate_bound_share from 0 to 0.9".to_owned()
            );
        }
        if self.estimate_window_packets < 2 {
            return Err("estimate_window_packets must be at least 2".to_owned());
        }
        let (enough, of) = self.lasting_reports;
        if !(1..=32).contains(&of) || enough > of {
            return Err(format!(
                "lasting_reports must be so many of at most 32, not {enough} of {of}"
            ));
        }
        payload("header_payload_bytes", self.header_payload_bytes)?;
        self.server_tcp.validate()?;
        self.client_tcp.validate()
    }

    fn validate_numbers(&self) -> Result<(), String> {
        for (name, value) in [
            ("clip_length_s", self.clip_length_s),
            ("surestream_length_s", self.surestream_length_s),
            ("header_interval_s", self.header_interval_s),
            ("rise_time_constant_s", self.rise_time_constant_s),
            ("before_playback_multiple", self.before_playback_multiple),
            ("after_playback_multiple", self.after_playback_multiple),
            ("accelerated_cap_kbps", self.accelerated_cap_kbps),
            ("least_multiple", self.least_multiple),
            ("eased_multiple", self.eased_multiple),
            ("rate_time_constant_s", self.rate_time_constant_s),
            ("burst_interval_s", self.burst_interval_s),
            ("train_report_s", self.train_report_s),
            ("turboplay_pace_ratio", self.turboplay_pace_ratio),
            ("report_interval_s", self.report_interval_s),
            ("audio_burst_interval_s", self.audio_burst_interval_s),
            ("parts_goodput_share", self.parts_goodput_share),
            ("silence_limit_s", self.silence_limit_s),
        ] {
            positive(name, value)?;
        }
        Ok(())
    }
}

/// Check that a payload fits a packet of 1500 bytes.
fn payload(name: &str, bytes: u32) -> Result<(), String> {
    if (1..=1472).contains(&bytes) {
        Ok(())
    } else {
        Err(format!("{name} must be from 1 to 1472, not {bytes}"))
    }
}
