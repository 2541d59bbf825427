//! Series with given values and a given spectrum: amplitudes restored and ranks mapped to the
//! values in turn.
//!
//! Source: Schreiber and Schmitz, "Improved surrogate data for nonlinearity tests", Physical Review
//! Letters 77, 1996. The transforms of a real series are those of a complex one of half its length,
//! whose real parts are its values at even places and whose imaginary parts those at odd ones
//! (Cooley, Lewis and Welch, "The fast Fourier transform algorithm: programming considerations",
//! Journal of Sound and Vibration 12, 1970).

use super::radix::{ascending_key, order_values, radix_ranks, KEY_BITS};
use rustfft::num_complex::Complex64;
use rustfft::{Fft, FftPlannerScalar};
use std::cell::RefCell;
use std::collections::HashMap;
use std::f64::consts::TAU;
use std::sync::Arc;

const TINY: f64 = 1e-300;
/// Lengths whose plans a thread keeps: sessions of a model have series of about the same length.
const MOST_PLANS: usize = 64;
/// Sum of the lengths whose plans a thread keeps: a plan takes several numbers for each of its
/// values.
const MOST_PLANNED_VALUES: usize = 1 << 18;
/// Words that are compared rather than counted by their digits: there are more counters than these.
const FEW_WORDS: usize = 512;
/// A turn that leaves more than this of what the amplitudes were off is the last.
const HARDLY_NEARER: f64 = 0.985;
/// In every second turn amplitudes are moved beyond those asked for, by this share of what they
/// were off: a series with a heavy tail needs half as many turns (over-relaxation; Fienup, "Phase
/// retrieval algorithms: a comparison", Applied Optics 21, 1982).
const BEYOND: f64 = 1.0;
/// After so many turns, each goes on by this share of the step before: where turns bring little,
/// half as many do (momentum; Polyak, "Some methods of speeding up the convergence of iteration
/// methods", USSR Computational Mathematics 4, 1964). From then on turns are compared with those
/// two before: they swing.
const FIRST_TURNS: usize = 4;
const MOMENTUM: f64 = 0.7;

thread_local! {
    static PLANS: RefCell<HashMap<usize, Plans>> = RefCell::default();
}

/// The ranks, 0 to n - 1, of a series of n values with a spectrum.
///
/// `ascending` has the values, less their mean, in ascending order; `amplitude` and `phase` (in
/// radians) those of the Fourier frequencies 0 to n / 2, with which the series begins. Turns end
/// after `most_turns`, or when the amplitudes of the series are as `near` as that, or a turn hardly
/// brings them nearer: what is counted is the part of the power that lies in the differences
/// between them and those that are asked for, at whatever scale suits best.
///
/// # Panics
///
/// When n is odd or 0, or `amplitude` or `phase` has not n / 2 + 1 values.
#[must_use]
pub fn spectral_ranks(
    ascending: &[f64],
    amplitude: &[f64],
    phase: &[f64],
    most_turns: usize,
    near: f64,
) -> Vec<i64> {
    let count = ascending.len();
    assert!(count > 0 && count % 2 == 0, "an even number of values");
    assert!(
        amplitude.len() == count / 2 + 1 && phase.len() == amplitude.len(),
        "n / 2 + 1 amplitudes and phases"
    );
    let mut turning = Turning::new(count);
    turning.begin(amplitude, phase);
    // Of a real series half the power lies at the frequencies up to n / 2 (Parseval).
    let wanted_power = power(amplitude).max(TINY);
    let whole = (count as f64 / 2.0 * power(ascending) / wanted_power).sqrt();
    // The highest frequency is real: of what is asked for there, a series has a random part.
    let highest = amplitude[count / 2].powi(2) / wanted_power;
    let (mut scale, mut misfits) = (whole, [f64::INFINITY; 2]);
    for turn in 0..most_turns {
        let off = turning.take(ascending);
        let as_asked = turn % 2 == 0;
        // Where the series had the amplitudes asked for, those of its values are as near as the
        // values are to it, or nearer: often no transform is needed.
        if as_asked && off + highest <= near {
            break;
        }
        if turn + 1 >= FIRST_TURNS {
            turning.move_on(MOMENTUM);
        }
        let beyond = if as_asked { BEYOND } else { 0.0 };
        let misfit = turning.restore(amplitude, scale, beyond);
        let [before_last, last] = misfits;
        let enough = if turn < FIRST_TURNS {
            HARDLY_NEARER * last
        } else {
            HARDLY_NEARER * HARDLY_NEARER * before_last
        };
        if misfit <= near || misfit > enough {
            break;
        }
        (scale, misfits) = (whole * (1.0 - misfit).sqrt(), [last, misfit]);
        turning.end();
    }
    turning.ranks.into_iter().map(i64::from).collect()
}

fn power(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum()
}

/// Transforms for one length of real series.
#[derive(Clone)]
struct Plans {
    forward: Arc<dyn Fft<f64>>,
    inverse: Arc<dyn Fft<f64>>,
    /// exp(2 pi i k / n) for k from 0 to n / 4.
    turns: Arc<[Complex64]>,
}

impl Plans {
    fn of(count: usize) -> Self {
        PLANS.with_borrow_mut(|plans| {
            if let Some(known) = plans.get(&count) {
                return known.clone();
            }
            let made = Self::made(count);
            if count <= MOST_PLANNED_VALUES {
                if plans.len() == MOST_PLANS
                    || plans.keys().sum::<usize>() + count > MOST_PLANNED_VALUES
                {
                    plans.clear();
                }
                plans.insert(count, made.clone());
            }
            made
        })
    }

    fn made(count: usize) -> Self {
        // The planner that looks for vector instructions would make the bytes depend on the
        // processor.
        let mut planner = FftPlannerScalar::new();
        Self {
            forward: planner.plan_fft_forward(count / 2),
            inverse: planner.plan_fft_inverse(count / 2),
            turns: (0..=count / 4)
                .map(|place| Complex64::cis(TAU * place as f64 / count as f64))
                .collect(),
        }
    }
}

/// A series on its way, with transforms and buffers for its length.
pub(super) struct Turning {
    plans: Plans,
    /// Pairs of values, or what stands for the spectrum in between.
    pairs: Vec<Complex64>,
    scratch: Vec<Complex64>,
    pub(super) ranks: Vec<u32>,
    words: Vec<u64>,
    other: Vec<u64>,
    /// The series before this one, where its last step is kept.
    before: Vec<Complex64>,
}

impl Turning {
    pub(super) fn new(count: usize) -> Self {
        let plans = Plans::of(count);
        let scratch =
            plans.forward.get_inplace_scratch_len().max(plans.inverse.get_inplace_scratch_len());
        Self {
            plans,
            pairs: vec![Complex64::default(); count / 2],
            scratch: vec![Complex64::default(); scratch],
            ranks: vec![0; count],
            words: Vec::with_capacity(count),
            other: Vec::new(),
            before: Vec::new(),
        }
    }

    /// Makes the series of a spectrum.
    fn begin(&mut self, amplitude: &[f64], phase: &[f64]) {
        self.each_frequency(|place, _| Complex64::from_polar(amplitude[place], phase[place]));
        self.end();
    }

    /// Puts values in the places of the series.
    pub(super) fn put(&mut self, values: &[f64]) {
        for (pair, values) in self.pairs.iter_mut().zip(values.chunks_exact(2)) {
            *pair = Complex64::new(values[0], values[1]);
        }
    }

    /// Turns a spectrum into the ranks of its series, to every digit.
    pub(super) fn end_exactly(&mut self) {
        self.plans.inverse.process_with_scratch(&mut self.pairs, &mut self.scratch);
        let pairs = &self.pairs;
        let value =
            |place: usize| if place % 2 == 0 { pairs[place / 2].re } else { pairs[place / 2].im };
        order_values(self.ranks.len(), value, &mut self.words, &mut self.other);
        for (rank, &word) in (0_u32..).zip(&self.words) {
            self.ranks[word as u32 as usize] = rank;
        }
    }

    /// Turns a spectrum into the ranks of its series.
    fn end(&mut self) {
        self.plans.inverse.process_with_scratch(&mut self.pairs, &mut self.scratch);
        self.rank();
    }

    /// Puts values in the order of the ranks, and returns the part of their power that lies in the
    /// differences between them and the series that was ranked, at the scale that suits best.
    pub(super) fn take(&mut self, ascending: &[f64]) -> f64 {
        let (mut found_power, mut power, mut product) = (TINY, TINY, 0.0);
        for (pair, ranks) in self.pairs.iter_mut().zip(self.ranks.chunks_exact(2)) {
            let values = Complex64::new(ascending[ranks[0] as usize], ascending[ranks[1] as usize]);
            found_power += values.norm_sqr();
            power += pair.norm_sqr();
            product += pair.re * values.re + pair.im * values.im;
            *pair = values;
        }
        1.0 - product * product / (found_power * power)
    }

    /// Moves the series on by a share of its last step, where that is known.
    fn move_on(&mut self, share: f64) {
        if self.before.is_empty() {
            self.before.clone_from(&self.pairs);
            return;
        }
        for (pair, before) in self.pairs.iter_mut().zip(&mut self.before) {
            let here = *pair;
            *pair += (here - *before) * share;
            *before = here;
        }
    }

    /// Turns the series into its spectrum, gives that its amplitudes again, `scale` times those
    /// given and `beyond` times what they were off more, and returns how far they were off.
    pub(super) fn restore(&mut self, amplitude: &[f64], scale: f64, beyond: f64) -> f64 {
        self.plans.forward.process_with_scratch(&mut self.pairs, &mut self.scratch);
        let (mut found_power, mut power, mut product) = (TINY, TINY, 0.0);
        self.each_frequency(|place, found| {
            let (wanted, size) = (amplitude[place], found.norm_sqr().sqrt());
            found_power += size * size;
            power += wanted * wanted;
            product += size * wanted;
            found * ((1.0 + beyond) * scale * (wanted / size.max(TINY)) - beyond)
        });
        1.0 - product * product / (found_power * power)
    }

    /// Replaces each frequency 0 to n / 2 of the series, whose pairs are transformed; those at both
    /// ends are real.
    fn each_frequency(&mut self, mut replaced: impl FnMut(usize, Complex64) -> Complex64) {
        let half = self.pairs.len();
        let first = self.pairs[0];
        let lowest = replaced(0, Complex64::new(first.re + first.im, 0.0)).re;
        let highest = replaced(half, Complex64::new(first.re - first.im, 0.0)).re;
        self.pairs[0] = Complex64::new(lowest + highest, lowest - highest);
        for place in 1..=half / 2 {
            let mirror = half - place;
            let turn = self.plans.turns[place];
            let (here, there) = (self.pairs[place], self.pairs[mirror].conj());
            let even = (here + there) * 0.5;
            let odd = (here - there) * 0.5 * turn.conj();
            // odd / i, and its conjugate at the mirrored frequency
            let odd = Complex64::new(odd.im, -odd.re);
            let found = replaced(place, even + odd);
            let mirrored = if mirror == place {
                found.conj()
            } else {
                replaced(mirror, (even - odd).conj()).conj()
            };
            let even = found + mirrored;
            let odd = (found - mirrored) * turn;
            let odd = Complex64::new(-odd.im, odd.re);
            self.pairs[place] = even + odd;
            self.pairs[mirror] = (even - odd).conj();
        }
    }

    /// Ranks the values of the series, equal ones in order.
    fn rank(&mut self) {
        let values = self.pairs.iter().flat_map(|pair| [pair.re, pair.im]);
        self.words.clear();
        self.words.extend(
            values
                .enumerate()
                .map(|(place, value)| ascending_key(value) << KEY_BITS | place as u64),
        );
        if self.words.len() > FEW_WORDS {
            radix_ranks(&mut self.words, &mut self.other, &mut self.ranks);
            return;
        }
        self.words.sort_unstable();
        for (rank, &word) in (0_u32..).zip(&self.words) {
            self.ranks[word as u32 as usize] = rank;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ascending_key, spectral_ranks, Plans, MOST_PLANNED_VALUES, PLANS};

    #[test]
    fn keys_ascend_with_values() {
        let values = [f64::NEG_INFINITY, -2.0, -1e-30, 0.0, 1e-30, 1.0, 2.5, f64::INFINITY];
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
        assert_eq!(
            top.abs_diff(bottom),
            8,
            "the largest and the smallest value are half a period apart: {ranks:?}"
        );
        let mut sorted = ranks.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..16).collect::<Vec<_>>());
    }
}
