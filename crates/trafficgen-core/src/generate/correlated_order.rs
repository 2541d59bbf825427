//! Values put in an order with a given spectrum, from a random order on.
//!
//! Source: Theiler et al., "Testing for nonlinearity in time series: the method of surrogate data",
//! Physica D 58, 1992; Schreiber and Schmitz, "Improved surrogate data for nonlinearity tests",
//! Physical Review Letters 77, 1996.

use super::radix::order_values;
use super::spectral_ranks::Turning;
use rustfft::num_complex::Complex64;
use rustfft::{Fft, FftPlannerScalar};
use std::cell::RefCell;
use std::sync::Arc;

const TINY: f64 = 1e-300;

type Transforms = (Arc<dyn Fft<f64>>, Arc<dyn Fft<f64>>);

thread_local! {
    /// Transforms of the last length: sessions of a model often have series of one length.
    static LAST: RefCell<Option<(usize, Transforms)>> = const { RefCell::new(None) };
}

fn transforms(count: usize) -> Transforms {
    LAST.with_borrow_mut(|last| match last {
        Some((known, transforms)) if *known == count => transforms.clone(),
        _ => {
            // The planner that looks for vector instructions would make the bytes depend on the
            // processor.
            let mut planner = FftPlannerScalar::new();
            let made = (planner.plan_fft_forward(count), planner.plan_fft_inverse(count));
            *last = Some((count, made.clone()));
            made
        }
    })
}

/// Orders the values of a series so that its amplitudes are about those given.
///
/// In each turn the amplitudes at the Fourier frequencies 0 to n / 2 are restored and the values,
/// `ascending`, put in the order of the outcome; turns end when the order no longer changes.
///
/// # Panics
///
/// When there are not as many values in both, or not n / 2 + 1 amplitudes.
#[must_use]
pub fn correlated_order(
    series: Vec<f64>,
    ascending: &[f64],
    mean: f64,
    amplitude: &[f64],
    most_turns: usize,
) -> Vec<f64> {
    let count = series.len();
    assert!(ascending.len() == count && amplitude.len() == count / 2 + 1, "as many values");
    let centred =
        |values: &[f64]| -> Vec<f64> { values.iter().map(|value| value - mean).collect() };
    let (start, offered) = (centred(&series), centred(ascending));
    let ranks = if count % 2 == 0 {
        ranks_of_pairs(&start, &offered, amplitude, most_turns)
    } else {
        ranks_of_odd(start, &offered, amplitude, most_turns)
    };
    if ranks.is_empty() {
        return series;
    }
    ranks.into_iter().map(|rank| ascending[rank as usize]).collect()
}

/// Ranks of the last series, none without a turn; its values are transformed in pairs.
fn ranks_of_pairs(start: &[f64], offered: &[f64], amplitude: &[f64], turns: usize) -> Vec<u32> {
    let mut turning = Turning::new(start.len());
    let mut ranks = Vec::new();
    turning.put(start);
    for _ in 0..turns {
        turning.restore(amplitude, 1.0, 0.0);
        turning.end_exactly();
        if turning.ranks == ranks {
            break;
        }
        ranks.clone_from(&turning.ranks);
        turning.take(offered);
    }
    ranks
}

/// The same for an odd number of values.
fn ranks_of_odd(
    mut series: Vec<f64>,
    offered: &[f64],
    amplitude: &[f64],
    turns: usize,
) -> Vec<u32> {
    let count = series.len();
    let (forward, inverse) = transforms(count);
    let scratch = forward.get_inplace_scratch_len().max(inverse.get_inplace_scratch_len());
    let mut scratch = vec![Complex64::default(); scratch];
    let mut bent = vec![Complex64::default(); count];
    let (mut words, mut other) = (Vec::new(), Vec::new());
    let mut ranks: Vec<u32> = Vec::new();
    for _ in 0..turns {
        for (bent, value) in bent.iter_mut().zip(&series) {
            *bent = Complex64::new(*value, 0.0);
        }
        forward.process_with_scratch(&mut bent, &mut scratch);
        for (place, wanted) in amplitude.iter().enumerate() {
            let restored = bent[place] * (wanted / bent[place].norm().max(TINY));
            bent[place] = restored;
            if place > 0 {
                bent[count - place] = restored.conj();
            }
        }
        inverse.process_with_scratch(&mut bent, &mut scratch);
        order_values(count, |place| bent[place].re, &mut words, &mut other);
        let mut found = vec![0; count];
        for (rank, (word, value)) in (0..).zip(words.iter().zip(offered)) {
            found[*word as u32 as usize] = rank;
            series[*word as u32 as usize] = *value;
        }
        if found == ranks {
            break;
        }
        ranks = found;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::correlated_order;

    #[test]
    fn one_frequency_gives_one_wave() {
        for count in [15_usize, 16] {
            let ascending: Vec<f64> = (0..count).map(|value| value as f64).collect();
            let series: Vec<f64> = (0..count).map(|place| ascending[place * 7 % count]).collect();
            let mut amplitude = vec![0.0; count / 2 + 1];
            amplitude[1] = 1.0;
            let mean = (count - 1) as f64 / 2.0;
            let ordered = correlated_order(series, &ascending, mean, &amplitude, 30);
            let place = |wanted: f64| ordered.iter().position(|value| *value == wanted);
            let (Some(top), Some(bottom)) = (place(count as f64 - 1.0), place(0.0)) else {
                unreachable!("values are kept: {ordered:?}")
            };
            assert!(top.abs_diff(bottom).abs_diff(count / 2) <= 1, "half a period: {ordered:?}");
        }
    }
}
