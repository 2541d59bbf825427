//! The player's buffer: it waits until enough media is there, plays, and halts when it has run
//! empty (CCZ-B5).

use crate::des::time::NEVER;
use crate::des::{ns, seconds, Time};

/// What has changed in playback.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    Started,
    Stalled,
    Resumed,
    /// The last of the clip has been played.
    Played,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// Waits since a time, having received so much media before.
    Waiting {
        since: Time,
        received_s: f64,
        playhead_s: f64,
        first: bool,
    },
    Playing {
        since: Time,
        playhead_s: f64,
    },
    Played,
}

#[derive(Clone, Debug)]
pub struct Playback {
    start_s: f64,
    limit: Time,
    length_s: f64,
    state: State,
    /// Where the newest media ends.
    newest_s: f64,
    /// Sum of all media that came.
    received_s: f64,
}

impl Playback {
    /// A player that waits from `now` on.
    pub fn new(start_s: f64, limit_s: f64, length_s: f64, now: Time) -> Self {
        let state = State::Waiting { since: now, received_s: 0.0, playhead_s: 0.0, first: true };
        Self { start_s, limit: ns(limit_s), length_s, state, newest_s: 0.0, received_s: 0.0 }
    }

    pub fn received_s(&self) -> f64 {
        self.received_s
    }

    pub fn is_playing(&self) -> bool {
        matches!(self.state, State::Playing { .. })
    }

    /// Whether playback has never begun.
    pub fn is_before_start(&self) -> bool {
        matches!(self.state, State::Waiting { first: true, .. })
    }

    pub fn playhead_s(&self, now: Time) -> f64 {
        match self.state {
            State::Waiting { playhead_s, .. } => playhead_s,
            State::Playing { since, playhead_s } => playhead_s + seconds(now - since),
            State::Played => self.length_s,
        }
    }

    /// Whether the end of the clip has come.
    pub fn has_all(&self) -> bool {
        self.newest_s >= self.length_s - 1e-9
    }

    /// Media ahead of playback.
    pub fn buffered_s(&self, now: Time) -> f64 {
        (self.newest_s - self.playhead_s(now)).max(0.0)
    }

    /// Media has come: `duration_s` of it; where it is new, it ends at `end_s`.
    pub fn on_media(&mut self, now: Time, duration_s: f64, end_s: Option<f64>) -> Option<Change> {
        self.received_s += duration_s;
        self.newest_s = end_s.unwrap_or(self.newest_s);
        match self.state {
            State::Waiting { received_s, .. }
                if self.received_s - received_s >= self.start_s || self.has_all() =>
            {
                Some(self.play(now))
            }
            _ => None,
        }
    }

    /// When [`Self::on_due`] wants to be called; it may be later by then.
    pub fn due(&self) -> Time {
        match self.state {
            State::Waiting { since, .. } => since + self.limit,
            State::Playing { since, playhead_s } => {
                since + ns((self.newest_s - playhead_s).max(0.0))
            }
            State::Played => NEVER,
        }
    }

    /// The time that [`Self::due`] named has come.
    pub fn on_due(&mut self, now: Time) -> Option<Change> {
        if now < self.due() {
            return None;
        }
        match self.state {
            State::Waiting { .. } => Some(self.play(now)),
            State::Playing { .. } if self.has_all() => {
                self.state = State::Played;
                Some(Change::Played)
            }
            State::Playing { .. } => {
                let (received_s, playhead_s) = (self.received_s, self.newest_s);
                self.state = State::Waiting { since: now, received_s, playhead_s, first: false };
                Some(Change::Stalled)
            }
            State::Played => None,
        }
    }

    fn play(&mut self, now: Time) -> Change {
        let first = self.is_before_start();
        let playhead_s = self.playhead_s(now);
        self.state = State::Playing { since: now, playhead_s };
        if first {
            Change::Started
        } else {
            Change::Resumed
        }
    }
}
