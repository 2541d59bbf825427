//! RED (Floyd and Jacobson, 1993), gentle and adaptive (Floyd, Gummadi and Shenker, 2001): packets
//! are dropped at random by the average length of the queue.

use rand::RngExt;

use super::{Discipline, Fifo, Moment, Waiting};
use crate::des::time::{seconds, sending_ns, Time};

/// Size of a typical packet, by which the line's rate is counted in packets.
const PACKET_BYTES: u32 = 1000;
/// The lower threshold is at least this, packets (2001, section 5.2).
const LEAST_THRESHOLD: f64 = 5.0;
/// Packets that wait, at least, where one is dropped.
const LEAST_WAITING: usize = 2;
/// Largest share of packets that is dropped below the upper threshold, and its bounds.
const FIRST_MOST_SHARE: f64 = 0.1;
const BOUNDS: (f64, f64) = (0.01, 0.5);

#[derive(Debug)]
pub struct Red {
    queue: Fifo,
    /// Weight of a new length in the average.
    weight: f64,
    /// Time that a typical packet takes on the line, ns.
    packet_ns: Time,
    /// Thresholds of the average, packets.
    low: f64,
    high: f64,
    most_share: f64,
    average: f64,
    /// Packets since the last drop; None: the average is below the lower threshold.
    count: Option<u32>,
    idle_since: Option<Time>,
    interval_ns: Time,
    next_update: Option<Time>,
}

impl Red {
    /// Thresholds around the target at the line's mean rate (2001, section 5).
    pub fn new(target_ns: Time, interval_ns: Time, rate_bps: f64) -> Self {
        let packets_per_s = rate_bps / (8.0 * f64::from(PACKET_BYTES));
        let low = (seconds(target_ns) * packets_per_s / 2.0).max(LEAST_THRESHOLD);
        Self {
            queue: Fifo::default(),
            weight: 1.0 - (-1.0 / packets_per_s).exp(),
            packet_ns: sending_ns(PACKET_BYTES, rate_bps).max(1),
            low,
            high: 3.0 * low,
            most_share: FIRST_MOST_SHARE,
            average: 0.0,
            count: None,
            idle_since: None,
            interval_ns,
            next_update: None,
        }
    }

    /// Average the length that an arriving packet finds; an idle line counts as the packets that it
    /// could have sent (1993, section 4).
    fn update_average(&mut self, now: Time) {
        if let Some(since) = self.idle_since.take() {
            let missed = (now - since) as f64 / self.packet_ns as f64;
            self.average *= (1.0 - self.weight).powf(missed);
        }
        self.average += self.weight * (self.queue.packets() as f64 - self.average);
    }

    /// Keep the average in the middle of the thresholds (2001, section 4).
    fn adapt(&mut self, now: Time) {
        let mut due = *self.next_update.get_or_insert(now + self.interval_ns);
        let third = 0.4 * (self.high - self.low);
        while due <= now {
            due += self.interval_ns;
            if self.average > self.high - third && self.most_share <= BOUNDS.1 {
                self.most_share += (self.most_share / 4.0).min(0.01);
            } else if self.average < self.low + third && self.most_share >= BOUNDS.0 {
                self.most_share *= 0.9;
            } else {
                due += (now - due).max(0) / self.interval_ns * self.interval_ns;
            }
        }
        self.next_update = Some(due);
    }

    /// Share of packets dropped at an average: a line up to the upper threshold, and from there, in
    /// the gentle variant, another up to all of them at twice the threshold.
    pub(super) fn share(&self, average: f64) -> f64 {
        if average < self.low {
            0.0
        } else if average < self.high {
            self.most_share * (average - self.low) / (self.high - self.low)
        } else {
            let beyond = (average - self.high) / self.high;
            (self.most_share + (1.0 - self.most_share) * beyond).min(1.0)
        }
    }

    #[cfg(test)]
    pub(super) fn average(&self) -> f64 {
        self.average
    }

    /// Whether to drop or mark the packet that arrives: gaps between drops are uniform (1993,
    /// section 7), and none while hardly a packet waits, whatever the average, as in the authors'
    /// own simulation (ns-2).
    fn acts(&mut self, moment: &mut Moment) -> bool {
        let share = self.share(self.average);
        if share <= 0.0 || self.queue.packets() < LEAST_WAITING {
            self.count = None;
            return false;
        }
        let count = self.count.map_or(0, |count| count + 1);
        let left = 1.0 - f64::from(count) * share;
        let acts = left <= share || moment.rng.random::<f64>() < share / left;
        self.count = Some(if acts { 0 } else { count });
        acts
    }
}

impl Discipline for Red {
    fn enqueue(&mut self, moment: &mut Moment, packet: Waiting) {
        self.update_average(moment.now);
        self.adapt(moment.now);
        if !self.acts(moment) {
            self.queue.push(packet);
        } else if self.average >= 2.0 * self.high {
            moment.dropped.push(packet);
        } else if let Some(marked) = moment.mark_or_drop(packet) {
            self.queue.push(marked);
        }
    }

    fn dequeue(&mut self, moment: &mut Moment) -> Option<Waiting> {
        let packet = self.queue.pop();
        if self.queue.packets() == 0 {
            self.idle_since = Some(moment.now);
        }
        packet
    }

    fn packets(&self) -> usize {
        self.queue.packets()
    }

    fn bytes(&self) -> u64 {
        self.queue.bytes()
    }
}
