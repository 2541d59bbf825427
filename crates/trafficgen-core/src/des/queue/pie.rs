//! PIE (RFC 8033): a share of the arriving packets is dropped, which a controller sets by how long
//! packets wait.

use rand::RngExt;

use super::{Discipline, Fifo, Moment, Waiting};
use crate::des::time::{seconds, Time};

// RFC 8033 4.2, per second of wait.
const ALPHA: f64 = 0.125;
const BETA: f64 = 1.25;
/// MAX_BURST (RFC 8033 4.4).
const MOST_BURST_NS: Time = 150_000_000;
/// MEAN_PKTSIZE (RFC 8033 4.1): two such packets are never too long a queue.
const MEAN_PACKET_BYTES: u64 = 1024;
/// mark_ecnth (RFC 8033 5.1): beyond this share, packets that could be marked are dropped too.
const MOST_MARKED: f64 = 0.1;
/// Bounds of the sum that spaces drops (RFC 8033 5.4).
const FEWEST_SUM: f64 = 0.85;
const MOST_SUM: f64 = 8.5;
/// A share so small drops nothing in any simulation.
const NO_SHARE: f64 = 1e-9;

#[derive(Debug)]
pub struct Pie {
    target_s: f64,
    update_ns: Time,
    queue: Fifo,
    /// Share of packets that is dropped.
    share: f64,
    /// Sum of the shares since the last drop.
    sum: f64,
    /// Wait now, as the last packet that left had it, and at the last update.
    delay_s: f64,
    old_delay_s: f64,
    burst_ns: Time,
    next_update: Option<Time>,
}

impl Pie {
    pub fn new(target_ns: Time, update_ns: Time) -> Self {
        Self {
            target_s: seconds(target_ns),
            update_ns,
            queue: Fifo::default(),
            share: 0.0,
            sum: 0.0,
            delay_s: 0.0,
            old_delay_s: 0.0,
            burst_ns: MOST_BURST_NS,
            next_update: None,
        }
    }

    /// Make the updates that were due until now.
    fn catch_up(&mut self, now: Time) {
        let mut due = *self.next_update.get_or_insert(now + self.update_ns);
        while due <= now {
            due += self.update_ns;
            let before = self.state();
            self.update();
            if self.state() == before {
                // Nothing comes or goes between: what one update does not change, none does.
                due += (now - due).max(0) / self.update_ns * self.update_ns;
            }
        }
        self.next_update = Some(due);
    }

    /// What updates change.
    fn state(&self) -> (f64, f64, f64, Time) {
        (self.share, self.delay_s, self.old_delay_s, self.burst_ns)
    }

    fn update(&mut self) {
        if self.queue.packets() == 0 {
            self.delay_s = 0.0;
        }
        self.share = self.updated(self.share, self.delay_s, self.old_delay_s);
        self.burst_ns = (self.burst_ns - self.update_ns).max(0);
        let short = self.target_s / 2.0;
        if self.share == 0.0 && self.delay_s < short && self.old_delay_s < short {
            self.burst_ns = MOST_BURST_NS; // RFC 8033 4.4
        }
        self.old_delay_s = self.delay_s;
    }

    /// The share after an update (RFC 8033 4.2 and 5.3).
    pub(super) fn updated(&self, share: f64, delay_s: f64, old_delay_s: f64) -> f64 {
        let change = ALPHA * (delay_s - self.target_s) + BETA * (delay_s - old_delay_s);
        let mut change = change * scale(share);
        if share >= 0.1 {
            change = change.min(0.02);
        }
        let mut share = share + change;
        if delay_s == 0.0 && old_delay_s == 0.0 {
            share *= 0.98;
        }
        if share < NO_SHARE {
            0.0
        } else {
            share.min(1.0)
        }
    }

    #[cfg(test)]
    pub(super) fn share(&self) -> f64 {
        self.share
    }

    /// Whether the controller wants to drop or mark the packet that arrives (RFC 8033 4.1, 5.4).
    fn acts(&mut self, moment: &mut Moment) -> bool {
        let short = self.old_delay_s < self.target_s / 2.0 && self.share < 0.2;
        if self.burst_ns > 0 || short || self.queue.bytes() <= 2 * MEAN_PACKET_BYTES {
            return false;
        }
        if self.share == 0.0 {
            self.sum = 0.0;
        }
        self.sum += self.share;
        let acts = self.sum >= FEWEST_SUM
            && (self.sum >= MOST_SUM || moment.rng.random::<f64>() < self.share);
        if acts {
            self.sum = 0.0;
        }
        acts
    }
}

/// How much smaller changes of a small share are (RFC 8033 4.2).
fn scale(share: f64) -> f64 {
    const STEPS: [(f64, f64); 6] = [
        (0.000_001, 2048.0),
        (0.000_01, 512.0),
        (0.000_1, 128.0),
        (0.001, 32.0),
        (0.01, 8.0),
        (0.1, 2.0),
    ];
    STEPS.iter().find(|(below, _)| share < *below).map_or(1.0, |(_, divisor)| 1.0 / divisor)
}

impl Discipline for Pie {
    fn enqueue(&mut self, moment: &mut Moment, packet: Waiting) {
        self.catch_up(moment.now);
        if !self.acts(moment) {
            self.queue.push(packet);
        } else if self.share > MOST_MARKED {
            moment.dropped.push(packet);
        } else if let Some(marked) = moment.mark_or_drop(packet) {
            self.queue.push(marked);
        }
    }

    fn dequeue(&mut self, moment: &mut Moment) -> Option<Waiting> {
        self.catch_up(moment.now);
        let packet = self.queue.pop()?;
        self.delay_s = seconds(moment.now - packet.arrived);
        Some(packet)
    }

    fn packets(&self) -> usize {
        self.queue.packets()
    }

    fn bytes(&self) -> u64 {
        self.queue.bytes()
    }
}
