//! Loss by time (RACK, RFC 8985): what left well before something that has arrived is lost.

use std::collections::VecDeque;

use super::Time;

/// How long what is overtaken is waited for where the path reorders: steps of this share of the
/// shortest round trip, at most a smoothed one.
const SHORTEST_RTT_DIVISOR: Time = 4;
const MOST_STEPS: Time = 255;
/// Recoveries without a needless retransmission after which the wait is one step again.
const PERSISTENT_RECOVERIES: u32 = 16;

/// A stretch under way, and when it left last.
#[derive(Clone, Copy, Debug)]
struct Departure {
    start: u64,
    end: u64,
    sent_at: Time,
    /// Its place among all departures: several may leave at one time.
    order: u64,
    again: bool,
    arrived: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Rack {
    under_way: VecDeque<Departure>,
    departures: u64,
    /// The latest departure of all that have arrived.
    latest: u64,
    rtt_ns: Time,
    shortest_rtt_ns: Time,
    /// All below has arrived or is lost.
    settled_below: u64,
    sees_reordering: bool,
    steps: Time,
    recoveries_left: u32,
    /// A needless retransmission widens the wait again once this is acknowledged.
    widened_until: u64,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            under_way: VecDeque::new(),
            departures: 0,
            latest: 0,
            rtt_ns: 0,
            shortest_rtt_ns: Time::MAX,
            settled_below: 0,
            sees_reordering: false,
            steps: 1,
            recoveries_left: 0,
            widened_until: 0,
        }
    }
}

impl Rack {
    fn place_after(&self, offset: u64) -> usize {
        match (self.under_way.front(), self.under_way.back()) {
            (Some(first), _) if first.end > offset => 0,
            (_, Some(last)) if last.end > offset => {
                self.under_way.partition_point(|one| one.end <= offset)
            }
            _ => self.under_way.len(),
        }
    }

    /// `start..end` leaves, for the first time or again.
    pub fn note_sent(&mut self, now: Time, start: u64, end: u64) {
        self.departures += 1;
        let order = self.departures;
        let known = self.under_way.back().map_or(start, |last| last.end.max(start));
        if start < known {
            let first = self.place_after(start);
            for one in self.under_way.range_mut(first..).take_while(|one| one.start < end) {
                one.sent_at = now;
                one.order = order;
                one.again = true;
            }
        }
        if known < end {
            self.under_way.push_back(Departure {
                start: known,
                end,
                sent_at: now,
                order,
                again: false,
                arrived: false,
            });
        }
    }

    /// `start..end` has arrived, as was not known before; `highest` is the end of what had arrived
    /// beyond a hole until now. Whether any of it had left only once.
    pub fn note_arrival(&mut self, now: Time, start: u64, end: u64, highest: Option<u64>) -> bool {
        let mut is_original = false;
        let first = self.place_after(start);
        for one in self.under_way.range_mut(first..).take_while(|one| one.end <= end) {
            one.arrived = true;
            let rtt_ns = now - one.sent_at;
            if one.again && rtt_ns < self.shortest_rtt_ns {
                continue; // an answer to what left before it
            }
            if !one.again {
                is_original = true;
                self.shortest_rtt_ns = self.shortest_rtt_ns.min(rtt_ns);
                self.sees_reordering |= highest.is_some_and(|highest| one.start < highest);
            }
            if one.order >= self.latest {
                self.latest = one.order;
                self.rtt_ns = rtt_ns;
            }
        }
        is_original
    }

    /// Nothing from `una` on is lost after all, and what was taken for the arrival of a repetition
    /// was that of its original: the next arrivals say which departure is the latest.
    pub fn look_again(&mut self, una: u64) {
        self.settled_below = una;
        self.latest = 0;
    }

    pub fn forget_below(&mut self, una: u64) {
        while self.under_way.front().is_some_and(|one| one.end <= una) {
            self.under_way.pop_front();
        }
    }

    /// The receiver had `una` and more when a retransmission came, which was needless: waits
    /// longer, by one step in a round trip.
    pub fn widen(&mut self, una: u64, nxt: u64) {
        if una >= self.widened_until {
            self.steps = (self.steps + 1).min(MOST_STEPS);
            self.recoveries_left = PERSISTENT_RECOVERIES;
            self.widened_until = nxt;
        }
    }

    pub fn end_recovery(&mut self) {
        self.recoveries_left = self.recoveries_left.saturating_sub(1);
        if self.recoveries_left == 0 {
            self.steps = 1;
        }
    }

    /// What left this long ago, before something that has arrived, is lost. Where nothing was ever
    /// reordered, a `certain` loss is waited for no longer.
    pub fn patience_ns(&self, smoothed_rtt_ns: Time, certain: bool) -> Time {
        if certain && !self.sees_reordering || self.shortest_rtt_ns == Time::MAX {
            return self.rtt_ns;
        }
        let wait_ns = self.shortest_rtt_ns / SHORTEST_RTT_DIVISOR * self.steps;
        self.rtt_ns + wait_ns.min(smoothed_rtt_ns)
    }

    pub fn latest(&self) -> u64 {
        self.latest
    }

    /// How often anything has left.
    pub fn departures(&self) -> u64 {
        self.departures
    }

    /// The end of what is lost of all sent once from `from` on, and when more will be if it does
    /// not arrive.
    pub fn find_losses(&mut self, from: u64, lost_before: Time) -> (Option<u64>, Option<Time>) {
        self.settled_below = self.settled_below.max(from);
        let (mut lost_below, mut latest_waiting) = (None, None);
        for one in self.under_way.range(self.place_after(self.settled_below)..) {
            if one.arrived {
                if latest_waiting.is_none() {
                    self.settled_below = one.end;
                }
                continue;
            }
            if one.order > self.latest {
                break;
            }
            if one.sent_at > lost_before {
                latest_waiting = Some(one.sent_at);
            } else {
                lost_below = Some(one.end);
                self.settled_below = one.end;
            }
        }
        (lost_below, latest_waiting)
    }

    /// When what is outstanding first left.
    pub fn head_sent_at(&self) -> Option<Time> {
        self.under_way.front().map(|one| one.sent_at)
    }

    /// The last stretch under way.
    pub fn tail(&self) -> Option<(u64, u64)> {
        self.under_way.back().map(|one| (one.start, one.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Time = 1_000_000;

    /// Ten segments of 1000 bytes, one each millisecond.
    fn ten() -> Rack {
        let mut rack = Rack::default();
        for step in 0..10u64 {
            rack.note_sent(step as Time * MS, 1000 * step, 1000 * (step + 1));
        }
        rack
    }

    #[test]
    fn what_left_before_an_arrival_is_lost_and_what_left_later_is_not() {
        let mut rack = ten();
        rack.note_arrival(104 * MS, 4000, 5000, None);
        assert_eq!(rack.patience_ns(100 * MS, true), 100 * MS);
        assert_eq!(rack.find_losses(0, 4 * MS), (Some(4000), None));
        assert_eq!(rack.find_losses(4000, 9 * MS), (None, None));
    }

    #[test]
    fn a_doubtful_loss_is_waited_for() {
        let mut rack = ten();
        rack.note_arrival(104 * MS, 4000, 5000, None);
        let patience_ns = rack.patience_ns(400 * MS, false);
        assert_eq!(patience_ns, 125 * MS);
        assert_eq!(rack.patience_ns(10 * MS, false), 110 * MS);
        // At 126 ms the first two are late, the fourth one is waited for.
        assert_eq!(rack.find_losses(0, 126 * MS - patience_ns), (Some(2000), Some(3 * MS)));
    }

    #[test]
    fn after_reordering_every_loss_is_waited_for() {
        let mut rack = ten();
        rack.note_arrival(104 * MS, 4000, 5000, None);
        rack.note_arrival(105 * MS, 3000, 4000, Some(5000));
        assert_eq!(rack.patience_ns(800 * MS, true), 100 * MS + 100 * MS / 4);
        rack.widen(0, 10_000);
        rack.widen(0, 10_000);
        assert_eq!(rack.patience_ns(800 * MS, true), 100 * MS + 100 * MS / 2);
        (0..16).for_each(|_| rack.end_recovery());
        assert_eq!(rack.patience_ns(800 * MS, true), 100 * MS + 100 * MS / 4);
    }

    #[test]
    fn an_answer_that_comes_too_soon_is_not_of_the_retransmission() {
        let mut rack = ten();
        rack.note_arrival(101 * MS, 1000, 2000, None);
        rack.note_sent(110 * MS, 0, 1000);
        rack.note_arrival(111 * MS, 0, 1000, Some(2000));
        assert_eq!(rack.latest(), 2);
        rack.note_sent(120 * MS, 2000, 3000);
        rack.note_arrival(230 * MS, 2000, 3000, Some(2000));
        assert_eq!(rack.latest(), rack.departures());
    }
}
