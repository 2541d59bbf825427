//! The retransmission timeout: RFC 6298 with the timer back-off of Karn.

use super::{TcpConfig, Time};

const MAXIMUM_RTO_NS: Time = 60_000_000_000;

#[derive(Clone, Debug)]
pub(super) struct RetransmissionTimeout {
    smoothed_ns: Time,
    variation_ns: Time,
    minimum_ns: Time,
    minimum_above_smoothed: bool,
    base_ns: Time,
    backoffs: u32,
}

impl RetransmissionTimeout {
    pub fn new(config: &TcpConfig) -> Self {
        Self {
            smoothed_ns: 0,
            variation_ns: 0,
            minimum_ns: config.minimum_rto_ns,
            minimum_above_smoothed: config.minimum_rto_above_srtt,
            base_ns: config.initial_rto_ns.max(config.minimum_rto_ns),
            backoffs: 0,
        }
    }

    /// Takes a round-trip time of something that was sent once, or told apart by its timestamp.
    pub fn sample(&mut self, round_trip_ns: Time) {
        if self.smoothed_ns == 0 {
            self.smoothed_ns = round_trip_ns.max(1);
            self.variation_ns = round_trip_ns / 2;
        } else {
            let error_ns = (round_trip_ns - self.smoothed_ns).abs();
            self.variation_ns += (error_ns - self.variation_ns) / 4;
            self.smoothed_ns = (self.smoothed_ns + (round_trip_ns - self.smoothed_ns) / 8).max(1);
        }
        let margin_ns = 4 * self.variation_ns;
        self.base_ns = if self.minimum_above_smoothed {
            self.smoothed_ns + margin_ns.max(self.minimum_ns)
        } else {
            (self.smoothed_ns + margin_ns).max(self.minimum_ns)
        };
        self.backoffs = 0;
    }

    /// Doubles the timeout.
    pub fn back_off(&mut self) {
        self.backoffs += 1;
    }

    /// The present timeout.
    pub fn timeout_ns(&self) -> Time {
        self.timeout_beyond_ns(0)
    }

    /// The present timeout where the other end may hold an acknowledgement back for `delay_ns`.
    pub fn timeout_beyond_ns(&self, delay_ns: Time) -> Time {
        let base_ns = self.base_beyond_ns(delay_ns);
        (base_ns << self.backoffs.min(12)).min(MAXIMUM_RTO_NS.max(self.minimum_ns))
    }

    /// That timeout before it was doubled.
    pub fn base_beyond_ns(&self, delay_ns: Time) -> Time {
        self.base_ns + delay_ns
    }

    /// Something was acknowledged: the timeout is no longer doubled.
    pub fn reset(&mut self) {
        self.backoffs = 0;
    }

    pub fn minimum_ns(&self) -> Time {
        self.minimum_ns
    }

    /// Smoothed round-trip time, 0 before the first sample.
    pub fn smoothed_ns(&self) -> Time {
        self.smoothed_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Time = 1_000_000;

    fn rfc() -> RetransmissionTimeout {
        RetransmissionTimeout::new(&TcpConfig {
            minimum_rto_above_srtt: false,
            ..TcpConfig::default()
        })
    }

    #[test]
    fn samples_are_smoothed_as_rfc_6298_says() {
        let mut rto = rfc();
        assert_eq!(rto.timeout_ns(), 1000 * MS);
        rto.sample(100 * MS);
        assert_eq!((rto.smoothed_ns(), rto.timeout_ns()), (100 * MS, 300 * MS));
        rto.sample(180 * MS);
        assert_eq!((rto.smoothed_ns(), rto.timeout_ns()), (110 * MS, (110 + 4 * 57) * MS + 2 * MS));
    }

    #[test]
    fn timeouts_double_up_to_a_minute_and_a_sample_ends_that() {
        let mut rto = rfc();
        rto.sample(100 * MS);
        rto.back_off();
        rto.back_off();
        assert_eq!(rto.timeout_ns(), 1200 * MS);
        (0..20).for_each(|_| rto.back_off());
        assert_eq!(rto.timeout_ns(), 60_000 * MS);
        rto.sample(100 * MS);
        assert_eq!(rto.timeout_ns(), (100 + 4 * 37) * MS + 2 * MS);
    }

    #[test]
    fn the_minimum_stands_on_top_of_the_round_trip_time_where_asked() {
        let mut linux = RetransmissionTimeout::new(&TcpConfig::default());
        let mut plain = rfc();
        for _ in 0..100 {
            linux.sample(300 * MS);
            plain.sample(300 * MS);
        }
        assert_eq!(linux.timeout_ns(), 500 * MS);
        assert!(plain.timeout_ns() < 301 * MS);
    }
}
