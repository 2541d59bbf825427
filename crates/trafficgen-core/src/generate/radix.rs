//! Words put in order by some of their bits.

/// Bits that one pass looks at: as many counters stay in the first-level cache.
const DIGIT_BITS: u32 = 11;
const BUCKETS: usize = 1 << DIGIT_BITS;
const DIGIT_MASK: u64 = BUCKETS as u64 - 1;

/// Sorts words by `count` bits above the lowest `skipped` ones; equal ones keep their order.
/// `other` is a buffer.
pub(super) fn radix_sort(words: &mut Vec<u64>, other: &mut Vec<u64>, skipped: u32, count: u32) {
    other.resize(words.len(), 0);
    for pass in 0..count.div_ceil(DIGIT_BITS) {
        let shift = skipped + pass * DIGIT_BITS;
        let digit = |word: u64| (word >> shift & DIGIT_MASK) as usize;
        let mut next = [0_usize; BUCKETS];
        for &word in words.iter() {
            next[digit(word)] += 1;
        }
        let mut before = 0;
        for place in &mut next {
            before += std::mem::replace(place, before);
        }
        for &word in words.iter() {
            let place = &mut next[digit(word)];
            other[*place] = word;
            *place += 1;
        }
        std::mem::swap(words, other);
    }
}
