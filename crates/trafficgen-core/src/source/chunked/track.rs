//! A medium that is fetched by a clock of its own: its segments, and how far it has come.

use crate::des::{ConnectionId, Time};

/// A segment that is on its way.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    pub asked_at: Time,
    pub bytes: u64,
    /// Answers that have not come.
    pub outstanding: u32,
    /// Since when bytes of it come, and how many had come by then.
    pub first: Option<(Time, u64)>,
}

#[derive(Debug)]
pub struct Track {
    pub segment_s: f64,
    /// Number of segments, and of that which is asked for next.
    pub count: u32,
    pub next: u32,
    pub segment: Option<Segment>,
    pub connections: Vec<ConnectionId>,
    /// Segments that were asked for over one connection after the other.
    turn: usize,
    /// Media that has come, s.
    pub fetched_s: f64,
}

impl Track {
    pub fn new(segment_s: f64, count: u32) -> Self {
        Self {
            segment_s,
            count,
            next: 0,
            segment: None,
            connections: Vec::new(),
            turn: 0,
            fetched_s: 0.0,
        }
    }

    /// Everything was asked for and has come.
    pub fn is_complete(&self) -> bool {
        self.segment.is_none() && self.next >= self.count
    }

    /// The next segment may be asked for, if the buffer has room.
    pub fn is_idle(&self) -> bool {
        self.segment.is_none() && self.next < self.count
    }

    /// A segment was asked for by `requests` requests.
    pub fn ask(&mut self, now: Time, bytes: u64, requests: u32) {
        self.next += 1;
        self.segment = Some(Segment { asked_at: now, bytes, outstanding: requests, first: None });
    }

    /// The first bytes of a segment have come, `bytes` of them.
    pub fn begin(&mut self, now: Time, bytes: u64) {
        if let Some(segment) = self.segment.as_mut() {
            segment.first.get_or_insert((now, bytes));
        }
    }

    /// An answer is complete; the segment, if it was the last of it.
    pub fn answer(&mut self) -> Option<Segment> {
        let segment = self.segment.as_mut()?;
        segment.outstanding -= 1;
        if segment.outstanding > 0 {
            return None;
        }
        self.fetched_s += self.segment_s;
        self.segment.take()
    }

    /// The connection whose turn it is.
    pub fn take_turn(&mut self) -> ConnectionId {
        self.turn += 1;
        self.connections[(self.turn - 1) % self.connections.len()]
    }
}
