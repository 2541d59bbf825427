//! What a radio link adds: fades that take packets, repetitions below IP, and handovers.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::time::{ns, Time};

/// Of a packet that did not come through; what then fails is lost (3GPP TS 38.331 and 36.331 let
/// operators set the number; four transmissions in all are usual).
const MOST_REPETITIONS: u32 = 3;

/// A link that is well or fades, each for exponential times: the chain of Gilbert and Elliott in
/// time, so that its state does not wait for packets.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FadeConfig {
    /// Mean time from the end of a fade to the next one, s.
    pub every_s: f64,
    /// Mean length of a fade, s.
    pub lasts_s: f64,
    /// Share of packets that a fade takes.
    pub loss: f64,
}

/// Hybrid ARQ (HARQ): a packet that did not come through is retransmitted below IP, and later ones
/// wait for it.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HarqConfig {
    /// Share of transmissions that do not come through.
    pub share: f64,
    /// What each repetition takes, s.
    pub delay_s: f64,
}

/// The link goes over to another station in equal intervals, and for some time each, s; what it
/// sends meanwhile arrives after that.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandoverConfig {
    pub every_s: f64,
    pub lasts_s: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RadioConfig {
    pub fade: Option<FadeConfig>,
    pub harq: Option<HarqConfig>,
    pub handover: Option<HandoverConfig>,
}

impl RadioConfig {
    /// Check the numbers.
    ///
    /// # Errors
    /// A sentence that names the number and what it must be.
    pub fn validate(&self) -> Result<(), String> {
        let share = |name, value: f64| match (0.0..=1.0).contains(&value) {
            true => Ok(()),
            false => Err(format!("{name} must be from 0 to 1, not {value}")),
        };
        let time = |name, value: f64| match (1e-4..=1e6).contains(&value) {
            true => Ok(()),
            false => Err(format!("{name} must be from 0.0001 to 1000000, not {value}")),
        };
        if let Some(fade) = self.fade {
            time("fade: every_s", fade.every_s)?;
            time("fade: lasts_s", fade.lasts_s)?;
            share("fade: loss", fade.loss)?;
        }
        if let Some(harq) = self.harq {
            share("harq: share", harq.share)?;
            time("harq: delay_s", harq.delay_s)?;
        }
        if let Some(handover) = self.handover {
            time("handover: every_s", handover.every_s)?;
            time("handover: lasts_s", handover.lasts_s)?;
            if handover.lasts_s >= handover.every_s {
                return Err(format!("handover: lasts_s must be below every_s, not {handover:?}"));
            }
        }
        Ok(())
    }
}

#[derive(Debug)]
pub struct Radio {
    config: RadioConfig,
    fades: bool,
    /// Until when the link stays as it is; None: nothing has come yet.
    changes_at: Option<Time>,
    /// When one of the handovers begins; the others are whole intervals away.
    handover_at: Time,
    /// Packets come in order: none before this.
    last_at: Time,
}

impl Radio {
    /// A radio link; the `share` of an interval goes by before the first handover.
    pub fn new(config: RadioConfig, share: f64) -> Self {
        let every_s = config.handover.map_or(0.0, |handover| handover.every_s);
        let handover_at = ns(share * every_s);
        Self { config, fades: false, changes_at: None, handover_at, last_at: Time::MIN }
    }

    /// Whether a fade takes a packet that comes now.
    pub fn takes(&mut self, now: Time, rng: &mut ChaCha8Rng) -> bool {
        let Some(fade) = self.config.fade else { return false };
        let mut changes_at = self.changes_at.unwrap_or_else(|| {
            self.fades = rng.random::<f64>() < fade.lasts_s / (fade.every_s + fade.lasts_s);
            now + self.stay_ns(fade, rng)
        });
        if now - changes_at > 100 * ns(fade.every_s + fade.lasts_s) {
            changes_at = now; // what it was so long ago tells nothing
        }
        while changes_at <= now {
            self.fades = !self.fades;
            changes_at += self.stay_ns(fade, rng);
        }
        self.changes_at = Some(changes_at);
        self.fades && rng.random::<f64>() < fade.loss
    }

    fn stay_ns(&self, fade: FadeConfig, rng: &mut ChaCha8Rng) -> Time {
        let mean_s = if self.fades { fade.lasts_s } else { fade.every_s };
        ns(-mean_s * (1.0 - rng.random::<f64>()).ln()).max(1)
    }

    /// When a packet arrives that would arrive at `at`, had it nothing to wait for; None: it does
    /// not.
    pub fn arrival(&mut self, at: Time, rng: &mut ChaCha8Rng) -> Option<Time> {
        let mut later = at;
        if let Some(handover) = self.config.handover {
            let into = (at - self.handover_at).rem_euclid(ns(handover.every_s).max(1));
            later += (ns(handover.lasts_s) - into).max(0);
        }
        if let Some(harq) = self.config.harq {
            let mut repetitions = 0;
            while rng.random::<f64>() < harq.share {
                if repetitions == MOST_REPETITIONS {
                    return None;
                }
                repetitions += 1;
                later += ns(harq.delay_s);
            }
        }
        self.last_at = self.last_at.max(later);
        Some(self.last_at)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    const MS: Time = 1_000_000;

    fn radio(config: RadioConfig) -> (Radio, ChaCha8Rng) {
        assert_eq!(config.validate(), Ok(()));
        (Radio::new(config, 0.5), ChaCha8Rng::seed_from_u64(3))
    }

    #[test]
    fn fades_take_their_share_of_the_time_and_of_its_packets() {
        let fade = FadeConfig { every_s: 0.9, lasts_s: 0.1, loss: 0.5 };
        let (mut radio, mut rng) = radio(RadioConfig { fade: Some(fade), ..Default::default() });
        let lost: Vec<bool> = (0..1_000_000).map(|at| radio.takes(at * MS, &mut rng)).collect();
        let share = lost.iter().filter(|lost| **lost).count() as f64 / lost.len() as f64;
        assert!((share - 0.05).abs() < 0.004, "{share}");
        // Elliott: after a loss the next packet is lost with the loss of a fade, while it lasts.
        let pairs = lost.windows(2).filter(|pair| pair[0]);
        let (mut after, mut both) = (0.0, 0.0);
        for pair in pairs {
            after += 1.0;
            both += f64::from(u8::from(pair[1]));
        }
        let stays = (-1.0_f64 / 100.0).exp();
        assert!((both / after - 0.5 * stays).abs() < 0.01, "{}", both / after);
    }

    #[test]
    fn repetitions_delay_by_steps_keep_the_order_and_lose_the_fourth_power() {
        let harq = HarqConfig { share: 0.1, delay_s: 0.008 };
        let (mut radio, mut rng) = radio(RadioConfig { harq: Some(harq), ..Default::default() });
        let count = 400_000;
        let (mut lost, mut delays, mut last) = (0.0, [0.0; 4], 0);
        for number in 0..count {
            let at = number * 100 * MS; // apart, so that none waits for another
            match radio.arrival(at, &mut rng) {
                Some(arrives) => {
                    assert!(arrives >= last && (arrives - at) % (8 * MS) == 0);
                    delays[((arrives - at) / (8 * MS)) as usize] += 1.0;
                    last = arrives;
                }
                None => lost += 1.0,
            }
        }
        for (steps, share) in delays.iter().zip([0.9, 0.09, 0.009, 0.0009]) {
            let error = 4.0 * (share / f64::from(count as u32)).sqrt();
            assert!((steps / count as f64 - share).abs() < error, "{delays:?}");
        }
        assert!((lost / count as f64 - 1e-4_f64).abs() < 6e-5, "{lost}");
        let close: Vec<_> = (0..1000).filter_map(|at| radio.arrival(at, &mut rng)).collect();
        assert!(close.windows(2).all(|pair| pair[0] <= pair[1]));
    }

    #[test]
    fn what_is_sent_in_a_handover_comes_at_its_end() {
        let handover = HandoverConfig { every_s: 15.0, lasts_s: 0.04 };
        let (mut radio, mut rng) =
            radio(RadioConfig { handover: Some(handover), ..Default::default() });
        let begins = 7_500 * MS;
        for round in 0..3 {
            let begins = begins + round * 15_000 * MS;
            for (after, expected) in [(-1, -1), (0, 40), (39, 40), (40, 40), (41, 41)] {
                let arrives = radio.arrival(begins + after * MS, &mut rng);
                assert_eq!(arrives, Some(begins + expected * MS));
            }
        }
    }

    #[test]
    fn a_long_silence_takes_no_time() {
        let fade = FadeConfig { every_s: 1e-4, lasts_s: 1e-4, loss: 1.0 };
        let (mut radio, mut rng) = radio(RadioConfig { fade: Some(fade), ..Default::default() });
        radio.takes(0, &mut rng);
        radio.takes(super::super::time::NEVER, &mut rng);
        assert!(radio.changes_at > Some(super::super::time::NEVER));
    }
}
