//! What has come of the streams, what is missing, and what was asked for.

use std::collections::VecDeque;

use super::wire::STREAMS;
use crate::des::Time;

/// A packet that has not come.
#[derive(Clone, Copy, Debug)]
struct Missing {
    stream: usize,
    sequence: usize,
    asked: u8,
    due: Time,
    /// Not worth asking for any more.
    given_up: Time,
}

#[derive(Debug)]
pub struct Reception {
    /// By stream and sequence number: whether it has come.
    arrived: [Vec<bool>; STREAMS],
    /// Never asked for, and asked for before; both in the order in which they are due.
    fresh: VecDeque<Missing>,
    again: VecDeque<Missing>,
    request_interval: Time,
    lifetime: Time,
    expected: u64,
    received: u64,
}

impl Reception {
    /// `request_interval` lies between two requests for a packet, `lifetime` after its absence was
    /// seen nothing is asked.
    pub fn new(request_interval: Time, lifetime: Time) -> Self {
        Self {
            arrived: Default::default(),
            fresh: VecDeque::new(),
            again: VecDeque::new(),
            request_interval,
            lifetime,
            expected: 0,
            received: 0,
        }
    }

    /// Take a packet that has come; returns whether it is the first copy.
    pub fn take(&mut self, now: Time, stream: usize, sequence: usize) -> bool {
        let arrived = &mut self.arrived[stream];
        if let Some(known) = arrived.get_mut(sequence) {
            return !std::mem::replace(known, true);
        }
        for missing in arrived.len()..sequence {
            let given_up = now + self.lifetime;
            self.fresh.push_back(Missing {
                stream,
                sequence: missing,
                asked: 0,
                due: now,
                given_up,
            });
        }
        self.expected += (sequence + 1 - arrived.len()) as u64;
        self.received += 1;
        arrived.resize(sequence, false);
        arrived.push(true);
        true
    }

    /// First sendings that were to come since the last call, and those that did.
    pub fn end_interval(&mut self) -> (u64, u64) {
        (std::mem::take(&mut self.expected), std::mem::take(&mut self.received))
    }

    /// Forget what has come meanwhile, what was asked for often enough, and what is too old.
    fn settle(&mut self, now: Time, requests: u8) {
        let arrived = &self.arrived;
        let settled = |missing: &Missing| {
            missing.asked >= requests
                || missing.given_up <= now
                || arrived[missing.stream][missing.sequence]
        };
        for queue in [&mut self.again, &mut self.fresh] {
            while queue.front().is_some_and(settled) {
                queue.pop_front();
            }
        }
    }

    /// When the next missing packet may be asked for.
    pub fn next_due(&mut self, now: Time, requests: u8) -> Option<Time> {
        self.settle(now, requests);
        let fronts = [self.again.front(), self.fresh.front()];
        fronts.into_iter().flatten().map(|missing| missing.due).min()
    }

    /// A missing packet that is to be asked for now, one that was asked for before first.
    pub fn ask(&mut self, now: Time, requests: u8) -> Option<(usize, usize)> {
        self.settle(now, requests);
        let queue = if self.again.front().is_some_and(|missing| missing.due <= now) {
            &mut self.again
        } else {
            &mut self.fresh
        };
        let missing = queue.pop_front()?;
        let asked = missing.asked + 1;
        self.again.push_back(Missing { asked, due: now + self.request_interval, ..missing });
        Some((missing.stream, missing.sequence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_asked_for_once_an_interval_and_no_more_than_allowed() {
        let mut reception = Reception::new(1000, 5000);
        assert!(reception.take(0, 1, 0));
        assert!(reception.take(5, 1, 2));
        assert_eq!(reception.next_due(5, 2), Some(5));
        assert_eq!(reception.ask(5, 2), Some((1, 1)));
        assert_eq!(reception.next_due(5, 2), Some(1005));
        assert_eq!(reception.ask(1005, 2), Some((1, 1)));
        assert_eq!(reception.next_due(1005, 2), None);
    }

    #[test]
    fn a_packet_that_came_late_is_not_asked_for_and_its_second_copy_does_not_count() {
        let mut reception = Reception::new(1000, 5000);
        reception.take(0, 0, 0);
        reception.take(0, 0, 3);
        assert!(reception.take(1, 0, 1));
        assert!(!reception.take(2, 0, 1));
        assert_eq!(reception.ask(2, 3), Some((0, 2)));
        assert_eq!(reception.ask(2, 3), None);
    }

    #[test]
    fn what_is_too_old_is_not_asked_for() {
        let mut reception = Reception::new(1000, 5000);
        reception.take(0, 0, 0);
        reception.take(7, 0, 2);
        assert_eq!(reception.next_due(5006, 3), Some(7));
        assert_eq!(reception.next_due(5007, 3), None);
        assert_eq!(reception.ask(5007, 3), None);
    }

    #[test]
    fn loss_of_first_sendings_does_not_count_what_was_resent() {
        let mut reception = Reception::new(1000, 5000);
        reception.take(0, 0, 0);
        reception.take(0, 0, 9);
        reception.take(1, 0, 4);
        assert_eq!(reception.end_interval(), (10, 2));
        assert_eq!(reception.end_interval(), (0, 0));
    }
}
