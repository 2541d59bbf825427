//! The clock of the playback: how much media is there, and when it runs out.

use crate::des::{ns, seconds, Time};

/// State of the playback.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Playback {
    /// Media that has come, s.
    fetched_s: f64,
    /// Media that had been played when the clock was last stopped or started, s.
    played_s: f64,
    /// Since when it plays; None while it halts.
    since: Option<Time>,
}

impl Playback {
    pub const NEW: Self = Self { fetched_s: 0.0, played_s: 0.0, since: None };

    pub fn is_playing(&self) -> bool {
        self.since.is_some()
    }

    /// Media that is there and was not played, s.
    pub fn buffer_s(&self, now: Time) -> f64 {
        self.buffer_of(self.fetched_s, now)
    }

    /// What was not played of a medium of which `fetched_s` has come, s.
    pub fn buffer_of(&self, fetched_s: f64, now: Time) -> f64 {
        let playing_s = self.since.map_or(0.0, |since| seconds(now - since));
        (fetched_s - self.played_s - playing_s).max(0.0)
    }

    /// Every medium has come up to here.
    pub fn fetch_to(&mut self, media_s: f64) {
        self.fetched_s = media_s;
    }

    pub fn start(&mut self, now: Time) {
        self.since = Some(now);
    }

    /// Everything that has come was played.
    pub fn halt(&mut self) {
        self.played_s = self.fetched_s;
        self.since = None;
    }

    /// When the media runs out; None while it halts.
    pub fn empty_at(&self) -> Option<Time> {
        self.since.map(|since| since + ns(self.fetched_s - self.played_s))
    }
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    #[test]
    fn media_is_played_in_real_time_and_halts_keep_the_place() {
        let mut playback = Playback::NEW;
        playback.fetch_to(4.0);
        assert_eq!(playback.buffer_s(ns(100.0)), 4.0);
        playback.start(ns(100.0));
        assert_eq!(playback.buffer_s(ns(101.0)), 3.0);
        assert_eq!(playback.empty_at(), Some(ns(104.0)));
        playback.fetch_to(8.0);
        assert_eq!(playback.empty_at(), Some(ns(108.0)));
        playback.halt();
        assert_eq!(playback.buffer_s(ns(120.0)), 0.0);
        playback.fetch_to(10.0);
        playback.start(ns(121.0));
        assert_eq!(playback.empty_at(), Some(ns(123.0)));
    }
}
