//! Words put in order by some of their bits.

/// Bits that one pass looks at: as many counters stay in the first-level cache.
const DIGIT_BITS: u32 = 11;
const BUCKETS: usize = 1 << DIGIT_BITS;
const DIGIT_MASK: u64 = BUCKETS as u64 - 1;

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
