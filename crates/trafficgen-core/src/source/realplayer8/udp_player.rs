//! The player over UDP: it counts what comes, reports it, and asks for what is missing.

use super::packetiser::MediaPacket;
use super::playback::{Change, Playback};
use crate::des::{seconds, Time};

/// A report of the player.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    pub received: u32,
    pub lost: u32,
    /// Time that the counts are for.
    pub interval_s: f64,
    /// Payload that came since the report before; without the first two packets of all, which a
    /// path may pass at once.
    pub goodput_bps: f64,
    /// Time stamp of the last packet that came, and how long ago that was.
    pub echo: Option<(Time, Time)>,
    /// Media that came in all, s.
    pub received_s: f64,
    pub playhead_s: f64,
    pub playing: bool,
    /// Playback has not begun yet.
    pub before_start: bool,
    /// Packets asked for again: a range of the list that all reports share.
    pub missing: (usize, usize),
}

impl Report {
    /// Share of first sendings that were lost; all of them where nothing came.
    pub fn loss(&self) -> f64 {
        if self.received == 0 {
            return 1.0;
        }
        f64::from(self.lost) / f64::from(self.received + self.lost)
    }

    pub fn losses_per_s(&self) -> f64 {
        f64::from(self.lost) / self.interval_s
    }
}

#[derive(Debug)]
pub struct UdpPlayer {
    pub playback: Playback,
    pub level: Option<u16>,
    pub last_arrival: Time,
    /// The next sequence number.
    next: u32,
    packets: u64,
    received: u32,
    lost: u32,
    /// Payload since `since`.
    bytes: u64,
    since: Time,
    echo: Option<(Time, Time)>,
    reported: Time,
    /// Length of the shared list of missing packets at the report before.
    asked: usize,
}

impl UdpPlayer {
    pub fn new(playback: Playback, now: Time) -> Self {
        Self {
            playback,
            level: None,
            last_arrival: now,
            next: 0,
            packets: 0,
            received: 0,
            lost: 0,
            bytes: 0,
            since: now,
            echo: None,
            reported: now,
            asked: 0,
        }
    }

    /// A packet has come. Numbers that were passed over go to `missing`.
    pub fn on_packet(
        &mut self,
        now: Time,
        sequence: u32,
        resent: bool,
        sent_ns: Time,
        packet: &MediaPacket,
        missing: &mut Vec<u32>,
    ) -> Option<Change> {
        self.last_arrival = now;
        self.echo = Some((sent_ns, now));
        self.packets += 1;
        self.bytes += u64::from(packet.payload_bytes);
        if self.packets <= 2 {
            (self.bytes, self.since) = (0, now);
        }
        if resent || sequence < self.next {
            return self.playback.on_media(now, packet.duration_s, None);
        }
        missing.extend(self.next..sequence);
        self.lost += sequence - self.next;
        self.received += 1;
        self.next = sequence + 1;
        self.level = Some(packet.level);
        self.playback.on_media(now, packet.duration_s, Some(packet.end_s))
    }

    pub fn report(&mut self, now: Time, missing: &[u32]) -> Report {
        let goodput_bps = self.bytes as f64 * 8.0 / seconds(now - self.since).max(1e-3);
        let report = Report {
            received: self.received,
            lost: self.lost,
            interval_s: seconds(now - self.reported).max(1e-3),
            goodput_bps,
            echo: self.echo.map(|(sent, at)| (sent, now - at)),
            received_s: self.playback.received_s(),
            playhead_s: self.playback.playhead_s(now),
            playing: self.playback.is_playing(),
            before_start: self.playback.is_before_start(),
            missing: (self.asked, missing.len()),
        };
        (self.received, self.lost, self.bytes, self.since) = (0, 0, 0, now);
        self.reported = now;
        self.asked = missing.len();
        report
    }
}
