//! Stretches of a stream, kept sorted and apart from one another.

use std::collections::VecDeque;

/// Disjoint, non-adjacent half-open stretches in rising order. Storage is kept when they go away.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges {
    ranges: VecDeque<(u64, u64)>,
    bytes: u64,
}

impl Ranges {
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Sum of all lengths.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn first(&self) -> Option<(u64, u64)> {
        self.ranges.front().copied()
    }

    /// Number of stretches.
    pub fn count(&self) -> usize {
        self.ranges.len()
    }

    /// From the highest down.
    pub fn descending(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.ranges.iter().rev().copied()
    }

    pub fn highest_end(&self) -> Option<u64> {
        self.ranges.back().map(|range| range.1)
    }

    /// Index of the first range that ends after `offset`.
    fn index_after(&self, offset: u64) -> usize {
        // most questions are about the highest range
        match self.ranges.len() {
            0 => 0,
            count if self.ranges[count - 1].0 <= offset => {
                count - usize::from(self.ranges[count - 1].1 > offset)
            }
            _ => self.ranges.partition_point(|range| range.1 <= offset),
        }
    }

    pub fn containing(&self, offset: u64) -> Option<(u64, u64)> {
        self.ranges.get(self.index_after(offset)).copied().filter(|range| range.0 <= offset)
    }

    /// Bytes of `start..end` that are covered.
    pub fn covered_in(&self, start: u64, end: u64) -> u64 {
        if start >= end {
            return 0;
        }
        let first = self.index_after(start);
        let inside = self.ranges.range(first..).take_while(|range| range.0 < end);
        inside.map(|range| range.1.min(end) - range.0.max(start)).sum()
    }

    /// The first uncovered stretch of `start..limit`.
    pub fn gap(&self, start: u64, limit: u64) -> Option<(u64, u64)> {
        let mut from = start;
        let mut index = self.index_after(start);
        if let Some(range) = self.ranges.get(index).filter(|range| range.0 <= from) {
            from = range.1;
            index += 1;
        }
        let to = self.ranges.get(index).map_or(limit, |range| range.0.min(limit));
        (from < to).then_some((from, to))
    }

    /// Adds `start..end`; the bytes that were not covered before.
    pub fn insert(&mut self, start: u64, end: u64) -> u64 {
        // the first range that touches or follows
        let first = self.index_after(start.saturating_sub(1));
        let (mut low, mut high, mut covered, mut touched) = (start, end, 0, 0);
        for range in self.ranges.range(first..).take_while(|range| range.0 <= end) {
            low = low.min(range.0);
            high = high.max(range.1);
            covered += range.1 - range.0;
            touched += 1;
        }
        match touched {
            0 => self.ranges.insert(first, (low, high)),
            _ => self.ranges[first] = (low, high),
        }
        if touched > 1 {
            self.ranges.drain(first + 1..first + touched);
        }
        let added = high - low - covered;
        self.bytes += added;
        added
    }

    /// Up to where all is covered from `offset` on; forgets what lies below that.
    pub fn advance(&mut self, offset: u64) -> u64 {
        let end = self.containing(offset).map_or(offset, |range| range.1);
        self.remove_below(end);
        end
    }

    /// Forgets what lies below `offset`; the bytes forgotten.
    pub fn remove_below(&mut self, offset: u64) -> u64 {
        let mut removed = 0;
        while let Some(range) = self.ranges.front_mut() {
            if range.0 >= offset {
                break;
            }
            let to = range.1.min(offset);
            removed += to - range.0;
            range.0 = to;
            if range.0 == range.1 {
                self.ranges.pop_front();
            }
        }
        self.bytes -= removed;
        removed
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ranges_agree_with_a_set_of_bytes(
            inserts in prop::collection::vec((0u64..60, 1u64..9), 1..30),
            cut in 0u64..40,
            from in 0u64..50,
        ) {
            let mut ranges = Ranges::default();
            let mut bytes = std::collections::BTreeSet::new();
            for (start, length) in inserts {
                let before = bytes.len();
                bytes.extend(start..start + length);
                let fresh = (bytes.len() - before) as u64;
                prop_assert_eq!(ranges.insert(start, start + length), fresh);
            }
            let removed = ranges.remove_below(cut);
            prop_assert_eq!(removed, bytes.iter().filter(|byte| **byte < cut).count() as u64);
            bytes.retain(|byte| *byte >= cut);
            prop_assert_eq!(ranges.bytes(), bytes.len() as u64);
            let covered = bytes.range(from..from + 7).count() as u64;
            prop_assert_eq!(ranges.covered_in(from, from + 7), covered);
            let hole = (from..70).find(|byte| !bytes.contains(byte));
            prop_assert_eq!(ranges.gap(from, 70).map(|gap| gap.0), hole);
            if let Some((_, end)) = ranges.gap(from, 70) {
                prop_assert!(end == 70 || bytes.contains(&end));
            }
            prop_assert_eq!(ranges.containing(from).is_some(), bytes.contains(&from));
            let pairs: Vec<_> = ranges.descending().collect();
            prop_assert!(pairs.windows(2).all(|pair| pair[1].1 < pair[0].0));
            prop_assert_eq!(Some(ranges.advance(from)), hole);
            prop_assert!(ranges.first().is_none_or(|first| Some(first.0) > hole));
        }
    }
}
