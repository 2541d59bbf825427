//! Words put in order by some of their bits.

use std::borrow::Cow;

/// Bits that one pass looks at: as many counters stay in the first-level cache.
const DIGIT_BITS: u32 = 11;
const BUCKETS: usize = 1 << DIGIT_BITS;
const DIGIT_MASK: u64 = BUCKETS as u64 - 1;

/// Bits of a key, above as many for a place.
pub(super) const KEY_BITS: u32 = 32;

/// A number of 32 bits that is the larger the larger the value, to single precision.
pub(super) fn ascending_key(value: f64) -> u64 {
    let bits = (value as f32 + 0.0).to_bits(); // no negative zero
    u64::from(if bits >> 31 == 0 { bits | 1 << 31 } else { !bits })
}

/// Puts places in the order of their values: the lower half of each word is one. Equal values keep
/// their order; `other` is a buffer.
pub(super) fn order_values(
    count: usize,
    value: impl Fn(usize) -> f64,
    words: &mut Vec<u64>,
    other: &mut Vec<u64>,
) {
    words.clear();
    words.extend((0..count).map(|place| ascending_key(value(place)) << KEY_BITS | place as u64));
    radix_sort(words, other, KEY_BITS, KEY_BITS);
    order_ties(words, value);
}

/// Puts words in the order of their values where these are alike to single precision.
fn order_ties(words: &mut [u64], value: impl Fn(usize) -> f64) {
    let exact = |word: &u64| value(*word as u32 as usize) + 0.0; // no negative zero
    for tied in words.chunk_by_mut(|one, next| one >> KEY_BITS == next >> KEY_BITS) {
        if tied.len() > 1 {
            tied.sort_by(|one, next| exact(one).total_cmp(&exact(next)));
        }
    }
}

/// The places of values in ascending order; equal ones keep their order.
#[must_use]
pub fn stable_order(values: &[f64]) -> Vec<i64> {
    let mut words = Vec::new();
    order_values(values.len(), |place| values[place], &mut words, &mut Vec::new());
    words.into_iter().map(|word| i64::from(word as u32)).collect()
}

/// Ranks of values from 1 on; equal ones share the mean of theirs, and NaN has none and stays.
///
/// Sorted where they are: series of ranks are the longest of a fit, and have no room for a buffer.
#[must_use]
pub fn mean_ranks(values: &[f64]) -> Vec<f64> {
    let mut ranks = vec![f64::NAN; values.len()];
    let value = |word: &u64| values[*word as u32 as usize];
    let mut words = Vec::with_capacity(values.len());
    words.extend(
        values
            .iter()
            .enumerate()
            .filter(|(_, value)| !value.is_nan())
            .map(|(place, value)| ascending_key(*value) << KEY_BITS | place as u64),
    );
    words.sort_unstable();
    order_ties(&mut words, |place| values[place]);
    let mut below = 0;
    for equal in words.chunk_by(|one, next| value(one) == value(next)) {
        let mean = below as f64 + (equal.len() + 1) as f64 / 2.0;
        for word in equal {
            ranks[*word as u32 as usize] = mean;
        }
        below += equal.len();
    }
    ranks
}

/// Values in ascending order; no others where they are so already.
pub(super) fn sorted(values: &[f64]) -> Cow<'_, [f64]> {
    if values.is_sorted() {
        return Cow::Borrowed(values);
    }
    let mut words = Vec::new();
    order_values(values.len(), |place| values[place], &mut words, &mut Vec::new());
    words.into_iter().map(|word| values[word as u32 as usize]).collect()
}

/// Fewer values are compared rather than counted by their digits.
const FEW_VALUES: usize = 2048;

/// Numbers in ascending order, those that are none at the ends: sorted by their digits, which takes
/// a third of the time of comparing them.
#[must_use]
pub fn sort_values(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    if values.is_sorted() {
        return sorted;
    }
    if values.len() < FEW_VALUES {
        sorted.sort_unstable_by(f64::total_cmp);
        return sorted;
    }
    let sign = 1 << (u64::BITS - 1);
    let mut words: Vec<u64> = values
        .iter()
        .map(|value| value.to_bits())
        .map(|bits| if bits & sign == 0 { bits | sign } else { !bits })
        .collect();
    radix_sort(&mut words, &mut Vec::new(), 0, u64::BITS);
    for (value, word) in sorted.iter_mut().zip(words) {
        *value = f64::from_bits(if word & sign == 0 { !word } else { word & !sign });
    }
    sorted
}

type Counter = [u32; BUCKETS];

/// Sorts words by `count` bits above the lowest `skipped` ones; equal ones keep their order.
/// `other` is a buffer.
///
/// # Panics
///
/// When there are 2^32 words or more.
pub(super) fn radix_sort(words: &mut Vec<u64>, other: &mut Vec<u64>, skipped: u32, count: u32) {
    for (shift, mut next) in counters(words, skipped, count) {
        pass(words, other, shift, &mut next);
    }
}

/// Sets the rank of each place, which is the lower half of a word, by the upper half.
///
/// # Panics
///
/// When a place is not below the number of ranks.
pub(super) fn radix_ranks(words: &mut Vec<u64>, other: &mut Vec<u64>, ranks: &mut [u32]) {
    let mut counters = counters(words, KEY_BITS, KEY_BITS);
    let last = counters.pop();
    for (shift, mut next) in counters {
        pass(words, other, shift, &mut next);
    }
    // Words that would be put in order are not needed: where they would go is all.
    if let Some((shift, mut next)) = last {
        for &word in words.iter() {
            let rank = &mut next[(word >> shift & DIGIT_MASK) as usize];
            ranks[word as u32 as usize] = *rank;
            *rank += 1;
        }
    }
}

/// For each digit, the lowest first, its place in a word and where the words of each value start;
/// words are read once for all.
fn counters(words: &[u64], skipped: u32, count: u32) -> Vec<(u32, Counter)> {
    assert!(u32::try_from(words.len()).is_ok(), "words are counted in 32 bits");
    let digits = 0..count.div_ceil(DIGIT_BITS);
    let mut counters: Vec<(u32, Counter)> =
        digits.map(|digit| (skipped + digit * DIGIT_BITS, [0; BUCKETS])).collect();
    for &word in words {
        for (shift, counter) in &mut counters {
            counter[(word >> *shift & DIGIT_MASK) as usize] += 1;
        }
    }
    for (_, counter) in &mut counters {
        let mut before = 0;
        for place in counter.iter_mut() {
            before += std::mem::replace(place, before);
        }
    }
    counters
}

fn pass(words: &mut Vec<u64>, other: &mut Vec<u64>, shift: u32, next: &mut Counter) {
    other.resize(words.len(), 0);
    for &word in words.iter() {
        let place = &mut next[(word >> shift & DIGIT_MASK) as usize];
        other[*place as usize] = word;
        *place += 1;
    }
    std::mem::swap(words, other);
}

#[cfg(test)]
mod tests {
    use super::{mean_ranks, sort_values, stable_order};
    use proptest::prelude::*;

    #[test]
    fn equal_values_share_the_mean_of_their_ranks() {
        assert_eq!(mean_ranks(&[3.0, -0.0, 3.0, 0.0, 1e-40, 3.0]), [5.0, 1.5, 5.0, 1.5, 3.0, 5.0]);
        assert!(mean_ranks(&[]).is_empty());
        let ranks = mean_ranks(&[2.0, f64::NAN, 1.0]);
        assert!(ranks[0] == 2.0 && ranks[1].is_nan() && ranks[2] == 1.0);
    }

    proptest! {
        #[test]
        fn places_are_those_of_a_stable_sort(
            values in prop::collection::vec(
                prop_oneof![-1e9..1e9_f64, 1.0..1.000_000_1_f64, Just(0.0), Just(-0.0), Just(7.0)],
                0..600,
            )
        ) {
            let mut places: Vec<i64> = (0..values.len() as i64).collect();
            places.sort_by(|one, other| {
                (values[*one as usize] + 0.0).total_cmp(&(values[*other as usize] + 0.0))
            });
            prop_assert_eq!(stable_order(&values), places);
        }

        #[test]
        fn values_sorted_by_digits_are_those_of_comparisons(
            values in prop::collection::vec(any::<f64>(), 0..5000)
        ) {
            let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect();
            let mut compared = values.clone();
            compared.sort_unstable_by(f64::total_cmp);
            let (sorted, compared): (Vec<u64>, Vec<u64>) =
                (bits(&sort_values(&values)), bits(&compared));
            prop_assert_eq!(sorted, compared);
        }
    }
}
