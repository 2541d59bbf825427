//! Leaving the first slow start before it overflows a queue: HyStart++ (RFC 9406).

use super::super::Time;
use super::Acknowledged;

const LEAST_THRESHOLD_NS: Time = 4_000_000;
const GREATEST_THRESHOLD_NS: Time = 16_000_000;
const RTT_DIVISOR: Time = 8;
const SAMPLES: u32 = 8;
const CAUTIOUS_GROWTH_DIVISOR: f64 = 4.0;
const CAUTIOUS_ROUNDS: u32 = 5;

/// Conservative slow start: how many rounds of it, and the round-trip time it began with.
#[derive(Clone, Copy, Debug)]
struct Cautious {
    rounds: u32,
    baseline_ns: Time,
}

#[derive(Clone, Debug)]
pub(super) struct HyStartPlus {
    round_end: u64,
    last_minimum_ns: Time,
    minimum_ns: Time,
    samples: u32,
    cautious: Option<Cautious>,
}

impl Default for HyStartPlus {
    fn default() -> Self {
        Self {
            round_end: 0,
            last_minimum_ns: Time::MAX,
            minimum_ns: Time::MAX,
            samples: 0,
            cautious: None,
        }
    }
}

impl HyStartPlus {
    /// By how much slow start is to be slower for this acknowledgement.
    pub fn growth_divisor(&mut self, ack: &Acknowledged) -> f64 {
        if ack.una >= self.round_end {
            self.start_round(ack.nxt);
        }
        if let Some(rtt_ns) = ack.rtt_ns {
            self.minimum_ns = self.minimum_ns.min(rtt_ns);
            self.samples += 1;
        }
        if self.samples >= SAMPLES {
            self.judge();
        }
        if self.cautious.is_some() {
            CAUTIOUS_GROWTH_DIVISOR
        } else {
            1.0
        }
    }

    fn start_round(&mut self, nxt: u64) {
        self.round_end = nxt;
        self.last_minimum_ns = self.minimum_ns;
        self.minimum_ns = Time::MAX;
        self.samples = 0;
        if let Some(cautious) = &mut self.cautious {
            cautious.rounds += 1;
        }
    }

    fn judge(&mut self) {
        match self.cautious {
            None if self.last_minimum_ns != Time::MAX => {
                let margin_ns = (self.last_minimum_ns / RTT_DIVISOR)
                    .clamp(LEAST_THRESHOLD_NS, GREATEST_THRESHOLD_NS);
                if self.minimum_ns >= self.last_minimum_ns + margin_ns {
                    self.cautious = Some(Cautious { rounds: 0, baseline_ns: self.minimum_ns });
                }
            }
            // A false alarm.
            Some(cautious) if self.minimum_ns < cautious.baseline_ns => self.cautious = None,
            _ => {}
        }
    }

    pub fn is_over(&self) -> bool {
        self.cautious.is_some_and(|cautious| cautious.rounds >= CAUTIOUS_ROUNDS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Time = 1_000_000;

    /// Runs `rounds` rounds of ten acknowledgements each; the divisor at the end.
    fn rounds(hystart: &mut HyStartPlus, first: u64, rounds: u64, rtt_ns: Time) -> f64 {
        let mut divisor = 0.0;
        for step in 0..rounds * 10 {
            let una = first * 10 + step;
            let ack = Acknowledged {
                now: 0,
                bytes: 1.0,
                una,
                nxt: una + 10,
                smoothed_rtt_ns: rtt_ns,
                rtt_ns: Some(rtt_ns),
                shortest_rtt_ns: rtt_ns,
                in_use: true,
                after_timeout: false,
            };
            divisor = hystart.growth_divisor(&ack);
        }
        divisor
    }

    #[test]
    fn a_longer_round_trip_slows_the_start_and_five_rounds_end_it() {
        let mut hystart = HyStartPlus::default();
        assert!(rounds(&mut hystart, 0, 3, 40 * MS) < 1.5);
        assert!(rounds(&mut hystart, 3, 1, 46 * MS) > 3.5);
        assert!(!hystart.is_over());
        rounds(&mut hystart, 4, 5, 46 * MS);
        assert!(hystart.is_over());
    }

    #[test]
    fn a_false_alarm_is_taken_back() {
        let mut hystart = HyStartPlus::default();
        rounds(&mut hystart, 0, 3, 40 * MS);
        rounds(&mut hystart, 3, 1, 46 * MS);
        assert!(rounds(&mut hystart, 4, 1, 40 * MS) < 1.5);
    }
}
