//! Samples of the delivery rate (draft-cheng-iccrg-delivery-rate-estimation), taken as Linux does.

use std::collections::VecDeque;

use super::Time;

/// Sums when a stretch has left: bytes under way with it, and those lost so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    pub flight_bytes: u64,
    pub lost_ever_bytes: u64,
}

/// A stretch under way, and what had been delivered when it was sent last.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    start: u64,
    end: u64,
    sent_at: Time,
    delivered: u64,
    delivered_at: Time,
    /// When the flight was sent whose delivery this stretch measures.
    flight_sent_at: Time,
    flight_bytes: u64,
    lost_before_bytes: u64,
    application_limited: bool,
    repeated: bool,
    arrived: bool,
}

/// How fast data arrived between the sending of a stretch and its acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct DeliveryRate {
    /// Bytes delivered in all when the stretch was sent, which tell rounds apart.
    pub prior_delivered: u64,
    /// Bytes per second; None where the interval was shorter than a round trip.
    pub bytes_per_s: Option<f64>,
    /// Bytes delivered since the stretch was sent, and under way when it had left.
    pub delivered_bytes: u64,
    pub flight_bytes: u64,
    /// Bytes that had been lost in all when it was sent.
    pub lost_before_bytes: u64,
    /// Since the last stretch left, where it was sent once.
    pub rtt_ns: Option<Time>,
    /// The application had too little to send.
    pub application_limited: bool,
}

#[derive(Clone, Debug)]
pub(super) struct DeliveryRates {
    under_way: VecDeque<Stretch>,
    delivered: u64,
    delivered_at: Time,
    flight_sent_at: Time,
    /// The application was short of data until so much is delivered; 0: it is not.
    limited_until: u64,
    /// What was sent last of all that an acknowledgement delivers.
    newest: Option<Stretch>,
    minimum_rtt_ns: Time,
}

impl Default for DeliveryRates {
    fn default() -> Self {
        Self {
            under_way: VecDeque::new(),
            delivered: 0,
            delivered_at: 0,
            flight_sent_at: 0,
            limited_until: 0,
            newest: None,
            minimum_rtt_ns: Time::MAX,
        }
    }
}

impl DeliveryRates {
    /// Bytes that have arrived so far.
    pub fn delivered_bytes(&self) -> u64 {
        self.delivered
    }

    pub fn is_application_limited(&self) -> bool {
        self.limited_until > 0
    }

    /// The application leaves room in the window: what goes out now says little of the path.
    pub fn note_shortage(&mut self, in_flight_bytes: u64) {
        self.limited_until = (self.delivered + in_flight_bytes).max(1);
    }

    /// `start..end` leaves; `starts`: nothing else is outstanding.
    pub fn note_sent(&mut self, now: Time, (start, end): (u64, u64), starts: bool, sums: Sums) {
        if starts {
            self.flight_sent_at = now;
            self.delivered_at = now;
        }
        let sent = Stretch {
            start,
            end,
            sent_at: now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            flight_sent_at: self.flight_sent_at,
            flight_bytes: sums.flight_bytes,
            lost_before_bytes: sums.lost_ever_bytes,
            application_limited: self.is_application_limited(),
            repeated: false,
            arrived: false,
        };
        let first = self.first_after(start);
        for old in self.under_way.range_mut(first..).take_while(|old| old.start < end) {
            if !old.arrived {
                *old = Stretch { start: old.start, end: old.end, repeated: true, ..sent };
            }
        }
        let known = self.under_way.back().map_or(start, |last| last.end.max(start));
        if known < end {
            self.under_way.push_back(Stretch { start: known, ..sent });
        }
    }

    fn first_after(&self, offset: u64) -> usize {
        match self.under_way.back() {
            Some(last) if last.end > offset => {
                self.under_way.partition_point(|stretch| stretch.end <= offset)
            }
            _ => self.under_way.len(),
        }
    }

    /// `start..end` has arrived, as was not known before.
    pub fn note_arrival(&mut self, now: Time, start: u64, end: u64) {
        let first = self.first_after(start);
        for stretch in self.under_way.range_mut(first..).take_while(|one| one.end <= end) {
            if stretch.arrived {
                continue;
            }
            stretch.arrived = true;
            self.delivered += stretch.end - stretch.start;
            self.delivered_at = now;
            if self.newest.is_none_or(|newest| stretch.sent_at >= newest.sent_at) {
                self.newest = Some(*stretch);
            }
        }
    }

    /// Bytes, sums at sending and shortage of what of `start..end` is under way.
    pub fn stretches_in(
        &self,
        start: u64,
        end: u64,
    ) -> impl Iterator<Item = (u64, Sums, bool)> + '_ {
        let stretches = self.under_way.range(self.first_after(start)..);
        stretches.take_while(move |one| one.start < end).filter(|one| !one.arrived).map(|one| {
            let Stretch { flight_bytes, lost_before_bytes: lost_ever_bytes, .. } = *one;
            (one.end - one.start, Sums { flight_bytes, lost_ever_bytes }, one.application_limited)
        })
    }

    pub fn forget_below(&mut self, una: u64) {
        while self.under_way.front().is_some_and(|stretch| stretch.end <= una) {
            self.under_way.pop_front();
        }
    }

    /// The sample of an acknowledgement whose arrivals were noted; None where nothing had arrived.
    pub fn sample(&mut self, now: Time) -> Option<DeliveryRate> {
        if self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        let newest = self.newest.take()?;
        self.flight_sent_at = newest.sent_at;
        let rtt_ns = (!newest.repeated).then_some((now - newest.sent_at).max(1));
        self.minimum_rtt_ns = self.minimum_rtt_ns.min(rtt_ns.unwrap_or(Time::MAX));
        // The slower of both ends: neither bunched acknowledgements nor bursts count as speed.
        let sending_ns = newest.sent_at - newest.flight_sent_at;
        let interval_ns = sending_ns.max(now - newest.delivered_at);
        let valid = interval_ns > 0 && interval_ns >= self.minimum_rtt_ns;
        let bytes = (self.delivered - newest.delivered) as f64;
        Some(DeliveryRate {
            prior_delivered: newest.delivered,
            bytes_per_s: valid.then(|| bytes * 1e9 / interval_ns as f64),
            delivered_bytes: self.delivered - newest.delivered,
            flight_bytes: newest.flight_bytes,
            lost_before_bytes: newest.lost_before_bytes,
            rtt_ns,
            application_limited: newest.application_limited,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Time = 1_000_000;

    #[test]
    fn a_paced_flight_shows_its_rate_and_round_trip() {
        let mut rates = DeliveryRates::default();
        let mut sample = None;
        for step in 0..30u64 {
            let now = step as Time * MS;
            if step >= 10 {
                let arrived = (step - 10) * 1000;
                rates.note_arrival(now, arrived, arrived + 1000);
                rates.forget_below(arrived + 1000);
                sample = rates.sample(now);
            }
            rates.note_sent(now, (step * 1000, (step + 1) * 1000), step == 0, Sums::default());
        }
        let expected = DeliveryRate {
            prior_delivered: 10_000,
            bytes_per_s: Some(1e6),
            delivered_bytes: 10_000,
            flight_bytes: 0,
            lost_before_bytes: 0,
            rtt_ns: Some(10 * MS),
            application_limited: false,
        };
        assert_eq!(sample, Some(expected));
    }

    #[test]
    fn acknowledgements_that_come_at_once_show_no_higher_rate() {
        let mut rates = DeliveryRates::default();
        for step in 0..10u64 {
            rates.note_sent(
                step as Time * MS,
                (step * 1000, (step + 1) * 1000),
                step == 0,
                Sums::default(),
            );
        }
        rates.note_arrival(40 * MS, 0, 10_000);
        let rate = rates.sample(40 * MS).and_then(|sample| sample.bytes_per_s);
        assert_eq!(rate, Some(250_000.0));
    }

    #[test]
    fn a_repeated_stretch_times_no_round_trip_and_a_shortage_is_told() {
        let mut rates = DeliveryRates::default();
        rates.note_shortage(0);
        rates.note_sent(0, (0, 1000), true, Sums::default());
        rates.note_sent(5 * MS, (0, 1000), false, Sums::default());
        rates.note_arrival(20 * MS, 0, 1000);
        let sample = rates.sample(20 * MS);
        assert!(sample.is_some_and(|one| one.rtt_ns.is_none() && one.application_limited));
        assert!(!rates.is_application_limited());
    }
}
