//! The player: it counts what comes, plays it, and tells the server.

use super::link_estimate::LinkEstimate;
use super::packet::{MediaPacket, Report};
use super::parameters::{Parameters, Programme};
use crate::des::{ns, seconds, Sample, Time};

/// What has changed about playback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Started,
    Stalled,
    Resumed,
    /// All of the clip has been played.
    Played,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Playback {
    Waiting,
    Playing,
    Stalled,
    Played,
}

#[derive(Debug)]
pub struct Player {
    /// Earliest start of playback.
    starts_at: Time,
    /// Media with which TurboPlay starts before that.
    starts_with_s: Option<f64>,
    least_s: f64,
    length_s: f64,
    playback: Playback,
    /// Playhead at a time; it moves from then on while playing.
    playhead: (Time, f64),
    /// Furthest point of the clip that has come, s.
    received_to_s: f64,
    pub ended: bool,
    /// The last first sending that came.
    present: Option<MediaPacket>,
    pub last_arrival: Time,
    /// Number of the first sending that is expected next.
    next: u32,
    received: u32,
    lost: u32,
    bytes: u64,
    counted_since: Time,
    /// Share of the first sendings that came, in the last whole interval.
    arrived_share: f64,
    estimate: LinkEstimate,
}

impl Player {
    pub fn new(parameters: &Parameters, programme: &Programme, now: Time) -> Self {
        Self {
            starts_at: now + ns(programme.buffering_s),
            starts_with_s: parameters.turboplay.then_some(parameters.turboplay_playback_media_s),
            least_s: parameters.playback_least_s,
            length_s: programme.length_s,
            playback: Playback::Waiting,
            playhead: (now, 0.0),
            received_to_s: 0.0,
            ended: false,
            present: None,
            last_arrival: now,
            next: 0,
            received: 0,
            lost: 0,
            bytes: 0,
            counted_since: now,
            arrived_share: 1.0,
            estimate: LinkEstimate::new(parameters.estimate_window_packets),
        }
    }

    pub fn is_playing(&self) -> bool {
        self.playback == Playback::Playing
    }

    pub fn playhead_s(&self, now: Time) -> f64 {
        let (at, playhead_s) = self.playhead;
        let moved_s = if self.is_playing() { seconds(now - at) } else { 0.0 };
        (playhead_s + moved_s).min(self.received_to_s)
    }

    /// Level that comes now, if any has come.
    pub fn present(&self) -> Option<&MediaPacket> {
        self.present.as_ref()
    }

    /// A packet has come; returns the numbers that were passed over.
    pub fn on_packet(
        &mut self,
        now: Time,
        sequence: u32,
        resent: bool,
        packet: &MediaPacket,
    ) -> Option<(u32, u32)> {
        self.last_arrival = now;
        self.bytes += u64::from(packet.payload_bytes);
        self.estimate.on_arrival(now, packet.payload_bytes + 28);
        self.received_to_s = self.received_to_s.max(packet.end_s);
        if resent || sequence < self.next {
            return None;
        }
        let missing = (self.next < sequence).then_some((self.next, sequence));
        self.lost += sequence - self.next;
        self.received += 1;
        self.next = sequence + 1;
        self.present = Some(*packet);
        missing
    }

    /// What the clock or an arrival has changed about playback.
    pub fn advance(&mut self, now: Time) -> Option<Change> {
        let complete = self.ended || self.received_to_s >= self.length_s - 1e-6;
        let buffered_s = self.received_to_s - self.playhead_s(now);
        match self.playback {
            Playback::Waiting | Playback::Stalled if self.may_play(now, buffered_s) || complete => {
                let first = self.playback == Playback::Waiting;
                self.playhead.0 = now;
                self.playback = Playback::Playing;
                Some(if first { Change::Started } else { Change::Resumed })
            }
            Playback::Playing if now >= self.runs_empty_at() => {
                self.playhead = (now, self.received_to_s);
                self.playback = if complete { Playback::Played } else { Playback::Stalled };
                Some(if complete { Change::Played } else { Change::Stalled })
            }
            _ => None,
        }
    }

    fn may_play(&self, now: Time, buffered_s: f64) -> bool {
        let early = self.starts_with_s.is_some_and(|media_s| buffered_s >= media_s);
        let due = now >= self.starts_at && buffered_s >= self.least_s;
        due || (early && self.playback == Playback::Waiting)
    }

    fn runs_empty_at(&self) -> Time {
        self.playhead.0 + ns((self.received_to_s - self.playhead.1).max(0.0))
    }

    /// When playback must be looked at again.
    pub fn due(&self) -> Option<Time> {
        match self.playback {
            Playback::Waiting => Some(self.starts_at),
            Playback::Playing => Some(self.runs_empty_at()),
            Playback::Stalled | Playback::Played => None,
        }
    }

    pub fn report(&mut self, now: Time) -> Report {
        let report = Report {
            received: self.received,
            lost: self.lost,
            bytes: self.bytes,
            interval_s: seconds(now - self.counted_since),
            playhead_s: self.playhead_s(now),
            playing: self.is_playing(),
            link_bps: self.estimate.bps(),
        };
        if self.received + self.lost > 0 {
            self.arrived_share = 1.0 - report.loss();
        }
        (self.received, self.lost, self.bytes, self.counted_since) = (0, 0, 0, now);
        report
    }

    pub fn sample(&self, now: Time) -> Sample {
        let Some(present) = self.present else { return Sample::NONE };
        Sample {
            encoding_bps: present.encoding_bps,
            // A frame is shown as well as it can be with what came of it; those of which nothing
            // came are not.
            frames_per_s: if self.is_playing() {
                present.frames_per_s * self.arrived_share
            } else {
                0.0
            },
            buffer_s: self.received_to_s - self.playhead_s(now),
        }
    }
}
