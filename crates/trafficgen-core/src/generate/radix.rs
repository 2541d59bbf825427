//! Words put in order by some of their bits.

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

/// Sorts words by `count` bits above the lowest `skipped` ones; equal ones keep their order.
/// `other` is a buffer.
///
/// # Panics
///
/// When there are 2^32 words or more.
pub(super) fn radix_sort(words: &mut Vec<u64>, other: &mut Vec<u64>, skipped: u32, count: u32) {
    assert!(u32::try_from(words.len()).is_ok(), "words are counted in 32 bits");
    other.resize(words.len(), 0);
    let passes = count.div_ceil(DIGIT_BITS);
    let digit =
        |word: u64, pass: u32| (word >> (skipped + pass * DIGIT_BITS) & DIGIT_MASK) as usize;
    // Words are read once for the counters of all passes.
    let mut counters = vec![[0_u32; BUCKETS]; passes as usize];
    for &word in words.iter() {
        for (pass, counter) in (0..).zip(&mut counters) {
            counter[digit(word, pass)] += 1;
        }
    }
    for (pass, next) in (0..).zip(&mut counters) {
        let mut before = 0;
        for place in next.iter_mut() {
            before += std::mem::replace(place, before);
        }
        for &word in words.iter() {
            let place = &mut next[digit(word, pass)];
            other[*place as usize] = word;
            *place += 1;
        }
        std::mem::swap(words, other);
    }
}

#[cfg(test)]
mod tests {
    use super::stable_order;
    use proptest::prelude::*;

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
    }
}
