//! CoDel (RFC 8289): packets that have waited too long for too long are dropped when they would go.

use super::{Discipline, Fifo, Moment, Waiting};
use crate::des::time::Time;

/// A queue of no more than this is never too long: a packet of Ethernet (RFC 8289 5.5).
const MTU_BYTES: u64 = 1514;

/// What waits are acceptable.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    /// Acceptable wait.
    pub target_ns: Time,
    /// How long waits may stay above it.
    pub interval_ns: Time,
}

impl Law {
    /// When to drop next after a drop that was due at `at` (RFC 8289 3.3): drops come ever faster,
    /// so that the throughput of TCP falls linearly.
    pub fn next_drop(&self, at: Time, count: u32) -> Time {
        at + (self.interval_ns as f64 / f64::from(count).sqrt()) as Time
    }
}

/// State of the law for one queue; names of RFC 8289 5.
#[derive(Clone, Copy, Debug, Default)]
pub struct Codel {
    /// When waits will have been above the target for an interval.
    first_above: Option<Time>,
    drop_next: Time,
    count: u32,
    last_count: u32,
    dropping: bool,
}

impl Codel {
    /// The next packet that goes, and what is dropped before it (RFC 8289 5.6).
    pub fn dequeue(&mut self, law: &Law, queue: &mut Fifo, moment: &mut Moment) -> Option<Waiting> {
        let (mut packet, mut may_drop) = self.take(law, queue, moment.now);
        if self.dropping {
            self.dropping = may_drop;
            while self.dropping && moment.now >= self.drop_next {
                self.count += 1;
                if let Some(marked) = packet.and_then(|packet| moment.mark_or_drop(packet)) {
                    self.drop_next = law.next_drop(self.drop_next, self.count);
                    return Some(marked);
                }
                (packet, may_drop) = self.take(law, queue, moment.now);
                self.dropping = may_drop;
                if may_drop {
                    self.drop_next = law.next_drop(self.drop_next, self.count);
                }
            }
        } else if may_drop {
            let marked = packet.and_then(|packet| moment.mark_or_drop(packet));
            self.start_dropping(law, moment.now);
            if marked.is_some() {
                return marked;
            }
            packet = self.take(law, queue, moment.now).0;
        }
        packet
    }

    /// Begin with the drop rate that was found last, where that is not long ago.
    fn start_dropping(&mut self, law: &Law, now: Time) {
        self.dropping = true;
        let delta = self.count - self.last_count;
        let recent = now - self.drop_next < 16 * law.interval_ns;
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.drop_next = law.next_drop(now, self.count);
        self.last_count = self.count;
    }

    /// The first packet, and whether it may be dropped.
    fn take(&mut self, law: &Law, queue: &mut Fifo, now: Time) -> (Option<Waiting>, bool) {
        let Some(packet) = queue.pop() else {
            self.first_above = None;
            return (None, false);
        };
        if now - packet.arrived < law.target_ns || queue.bytes() <= MTU_BYTES {
            self.first_above = None;
            return (Some(packet), false);
        }
        let due = *self.first_above.get_or_insert(now + law.interval_ns);
        (Some(packet), now >= due)
    }
}

/// One queue with CoDel.
#[derive(Debug)]
pub struct CodelQueue {
    law: Law,
    codel: Codel,
    queue: Fifo,
}

impl CodelQueue {
    pub fn new(law: Law) -> Self {
        Self { law, codel: Codel::default(), queue: Fifo::default() }
    }
}

impl Discipline for CodelQueue {
    fn enqueue(&mut self, _moment: &mut Moment, packet: Waiting) {
        self.queue.push(packet);
    }

    fn dequeue(&mut self, moment: &mut Moment) -> Option<Waiting> {
        self.codel.dequeue(&self.law, &mut self.queue, moment)
    }

    fn packets(&self) -> usize {
        self.queue.packets()
    }

    fn bytes(&self) -> u64 {
        self.queue.bytes()
    }
}
