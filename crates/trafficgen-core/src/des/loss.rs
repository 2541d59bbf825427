//! Random loss: independent packets (Bernoulli), or runs of them from the two-state chain of
//! Gilbert (1960).

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::time::{ns, Time};

#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LossConfig {
    /// Share of packets that is lost.
    pub rate: f64,
    /// Mean run of lost packets; None: packets are lost independently.
    pub mean_burst_packets: Option<f64>,
    /// Loss holds from here on, s after the first media packet is sent; None: from the very start.
    pub start_s: Option<f64>,
    /// Loss ends here, s after the first media packet is sent; None: never.
    pub stop_s: Option<f64>,
}

impl LossConfig {
    /// Check the numbers.
    ///
    /// # Errors
    /// A sentence that names the number and what it must be.
    pub fn validate(&self) -> Result<(), String> {
        if !(0.0..=1.0).contains(&self.rate) {
            return Err(format!("loss rate must be from 0 to 1, not {}", self.rate));
        }
        let Some(burst) = self.mean_burst_packets else { return Ok(()) };
        if !burst.is_finite() || burst < 1.0 {
            return Err(format!("mean_burst_packets must be at least 1, not {burst}"));
        }
        if self.rate < 1.0 && self.rate / (burst * (1.0 - self.rate)) > 1.0 {
            return Err(format!(
                "loss of {} cannot come in runs as short as {burst} packets",
                self.rate
            ));
        }
        Ok(())
    }
}

#[derive(Clone, Debug)]
pub struct Loss {
    config: LossConfig,
    good_to_bad: f64,
    bad_to_good: f64,
    bad: bool,
}

impl Loss {
    pub fn new(config: &LossConfig) -> Self {
        let (good_to_bad, bad_to_good) = match config.mean_burst_packets {
            Some(burst) if config.rate < 1.0 => {
                (config.rate / (burst * (1.0 - config.rate)), 1.0 / burst)
            }
            _ => (config.rate, 1.0 - config.rate),
        };
        Self { config: config.clone(), good_to_bad, bad_to_good, bad: false }
    }

    /// Whether a packet that comes now is lost.
    pub fn takes(&mut self, now: Time, first_media: Option<Time>, rng: &mut ChaCha8Rng) -> bool {
        if !self.holds(now, first_media) {
            return false;
        }
        let draw: f64 = rng.random();
        self.bad = if self.bad { draw >= self.bad_to_good } else { draw < self.good_to_bad };
        self.bad
    }

    fn holds(&self, now: Time, first_media: Option<Time>) -> bool {
        let after = |limit_s: f64| first_media.is_some_and(|first| now >= first + ns(limit_s));
        self.config.start_s.is_none_or(after) && !self.config.stop_s.is_some_and(after)
    }
}
