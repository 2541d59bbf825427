//! Series with given values and a given spectrum: amplitudes restored and ranks mapped to the values in turn.
//!
//! Source: Schreiber and Schmitz, "Improved surrogate data for nonlinearity tests", Physical Review Letters 77, 1996.

use rustfft::num_complex::Complex64;
use rustfft::{Fft, FftPlannerScalar};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

const TINY: f64 = 1e-300;
/// Lengths whose plans a thread keeps: sessions of a model have series of about the same length.
const MOST_PLANS: usize = 64;
/// Sum of the lengths whose plans a thread keeps: a plan takes up to 130 bytes for each of its values.
const MOST_PLANNED_VALUES: usize = 1 << 18;

thread_local! {
    static PLANS: RefCell<HashMap<usize, Plans>> = RefCell::default();
}

/// The ranks, 0 to n - 1, of a series of n values with a spectrum.
///
/// `ascending` has the values, less their mean, in ascending order; `amplitude` and `phase` (in radians) those of the
/// Fourier frequencies 0 to n / 2, with which the series begins. Turns end after `most_turns`, or when one of them
/// moves no more than the share `still` of the ranks.
///
/// # Panics
///
/// When `amplitude` or `phase` has not n / 2 + 1 values.
#[must_use]
pub fn spectral_ranks(ascending: &[f64], amplitude: &[f64], phase: &[f64], most_turns: usize, still: f64) -> Vec<i64> {
    let count = ascending.len();
    assert!(amplitude.len() == count / 2 + 1 && phase.len() == amplitude.len(), "n / 2 + 1 amplitudes and phases");
    let mut turning = Turning::new(count);
    for (place, (&amplitude, &phase)) in amplitude.iter().zip(phase).enumerate() {
        turning.set_frequency(place, Complex64::from_polar(amplitude, phase));
    }
    turning.transform_back();
    let mut ranks = vec![0; count];
    turning.rank(&mut ranks);
    let most_moved = (still * count as f64) as usize;
    for _ in 0..most_turns {
        for (value, &rank) in turning.values.iter_mut().zip(&ranks) {
            *value = Complex64::new(ascending[rank as usize], 0.0);
        }
        turning.transform_forward();
        for (place, &amplitude) in amplitude.iter().enumerate() {
            let found = turning.values[place];
            turning.set_frequency(place, found * (amplitude / found.norm_sqr().sqrt().max(TINY)));
        }
        turning.transform_back();
        if turning.rank(&mut ranks) <= most_moved {
            break;
        }
    }
    ranks
}

/// Transforms of one length.
#[derive(Clone)]
struct Plans {
    forward: Arc<dyn Fft<f64>>,
    inverse: Arc<dyn Fft<f64>>,
}

impl Plans {
    fn of(count: usize) -> Self {
        PLANS.with_borrow_mut(|plans| {
            if let Some(known) = plans.get(&count) {
                return known.clone();
            }
            let made = Self::made(count);
            if count <= MOST_PLANNED_VALUES {
                if plans.len() == MOST_PLANS || plans.keys().sum::<usize>() + count > MOST_PLANNED_VALUES {
                    plans.clear();
                }
                plans.insert(count, made.clone());
            }
            made
        })
    }

    fn made(count: usize) -> Self {
        // The planner that looks for vector instructions would make the bytes depend on the processor.
        let mut planner = FftPlannerScalar::new();
        Self { forward: planner.plan_fft_forward(count), inverse: planner.plan_fft_inverse(count) }
    }
}

/// Transforms and buffers for one length.
struct Turning {
    plans: Plans,
    values: Vec<Complex64>,
    scratch: Vec<Complex64>,
    keyed: Vec<(u64, u32)>,
}

impl Turning {
    fn new(count: usize) -> Self {
        let plans = Plans::of(count);
        let scratch = plans.forward.get_inplace_scratch_len().max(plans.inverse.get_inplace_scratch_len());
        Self {
            plans,
            values: vec![Complex64::default(); count],
            scratch: vec![Complex64::default(); scratch],
            keyed: Vec::with_capacity(count),
        }
    }

    /// Sets one of the frequencies 0 to n / 2, and the one that mirrors it, so that the series is real.
    fn set_frequency(&mut self, place: usize, value: Complex64) {
        let mirror = (self.values.len() - place) % self.values.len();
        let value = if mirror == place { Complex64::new(value.re, 0.0) } else { value };
        self.values[place] = value;
        self.values[mirror] = value.conj();
    }

    fn transform_forward(&mut self) {
        self.plans.forward.process_with_scratch(&mut self.values, &mut self.scratch);
    }

    fn transform_back(&mut self) {
        self.plans.inverse.process_with_scratch(&mut self.values, &mut self.scratch);
    }

    /// Replaces the ranks by those of the series, equal values in order, and returns how many were moved.
    fn rank(&mut self, ranks: &mut [i64]) -> usize {
        self.keyed.clear();
        self.keyed.extend(self.values.iter().enumerate().map(|(place, value)| (ascending_key(value.re), place as u32)));
        self.keyed.sort_unstable();
        let mut moved = 0;
        for (rank, &(_, place)) in self.keyed.iter().enumerate() {
            let before = std::mem::replace(&mut ranks[place as usize], rank as i64);
            moved += usize::from(before != rank as i64);
        }
        moved
    }
}

/// A number that is the larger the larger the value.
fn ascending_key(value: f64) -> u64 {
    let bits = (value + 0.0).to_bits(); // no negative zero
    if bits >> 63 == 0 {
        bits | 1 << 63
    } else {
        !bits
    }
}

#[cfg(test)]
mod tests {
    use super::{ascending_key, spectral_ranks, Plans, MOST_PLANNED_VALUES, PLANS};

    #[test]
    fn keys_ascend_with_values() {
        let values = [f64::NEG_INFINITY, -2.0, -1e-310, 0.0, 1e-310, 1.0, 2.5, f64::INFINITY];
        assert!(values.windows(2).all(|pair| ascending_key(pair[0]) < ascending_key(pair[1])));
        assert_eq!(ascending_key(-0.0), ascending_key(0.0));
    }

    #[test]
    fn plans_that_are_kept_are_bounded_by_the_sum_of_their_lengths() {
        let kept = || PLANS.with_borrow(|plans| plans.keys().sum::<usize>());
        for count in (40_001..60_000).step_by(997) {
            let _ = Plans::of(count);
            assert!((count..=MOST_PLANNED_VALUES).contains(&kept()));
        }
        let before = kept();
        let _ = Plans::of(MOST_PLANNED_VALUES + 1);
        assert_eq!(kept(), before);
    }

    #[test]
    fn one_frequency_gives_one_wave() {
        let ascending: Vec<f64> = (0..16).map(|value| f64::from(value) - 7.5).collect();
        let mut amplitude = vec![0.0; 9];
        amplitude[1] = 1.0;
        let ranks = spectral_ranks(&ascending, &amplitude, &[0.3; 9], 30, 0.0);
        let top = ranks.iter().position(|&rank| rank == 15).unwrap_or_default();
        let bottom = ranks.iter().position(|&rank| rank == 0).unwrap_or_default();
        assert_eq!(top.abs_diff(bottom), 8, "the largest and the smallest value are half a period apart: {ranks:?}");
        let mut sorted = ranks.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..16).collect::<Vec<_>>());
    }
}
