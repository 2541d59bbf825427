//! Packets that follow stored ones: stretches of a capture one after the other, or for each burst
//! one of about its length; and values put in the order of the ranks of what they follow.

use super::radix::{order_values, sorted};

/// Lengths of bursts whose places among the stored ones are remembered.
const REMEMBERED: usize = 1 << 10;

/// For each of `count` packets the stored one, of `stored`, that it follows: stretches begin at
/// `first` and have the `lengths`; after the last stored packet comes the first.
///
/// # Panics
///
/// When there are no stored packets, or more than 2^32.
#[must_use]
pub fn join_stretches(first: &[i64], lengths: &[i64], count: usize, stored: usize) -> Vec<u32> {
    assert!(stored > 0 && u32::try_from(stored).is_ok(), "stored packets, counted in 32 bits");
    let mut rows = Vec::with_capacity(count);
    for (first, length) in first.iter().zip(lengths) {
        let mut row = first.rem_euclid(stored as i64) as usize;
        let mut left = (*length).clamp(0, (count - rows.len()) as i64) as usize;
        while left > 0 {
            let run = left.min(stored - row);
            rows.extend(row as u32..(row + run) as u32);
            left -= run;
            row = 0;
        }
        if rows.len() == count {
            break;
        }
    }
    rows
}

/// Stored bursts, the shortest first.
#[derive(Debug, Clone, Copy)]
pub struct StoredBursts<'a> {
    /// Packets of each, ascending.
    pub packets: &'a [i64],
    /// Row of the first packet of each.
    pub first: &'a [i64],
}

impl StoredBursts<'_> {
    /// For each packet of bursts of `counts` packets the stored one that it follows. A burst
    /// follows one of its length, chosen by a number in [0, 1); where there are fewer than twice
    /// `near` of them, one that is so near in the order of lengths. A longer burst goes on as the
    /// stored one does after its first packet.
    ///
    /// # Panics
    ///
    /// When there is no stored burst, or not one number for each burst.
    #[must_use]
    pub fn follow(&self, counts: &[i64], numbers: &[f64], near: i64) -> Vec<u32> {
        let known = self.packets.len() as i64;
        assert!(known > 0 && self.first.len() == self.packets.len(), "a row for each burst");
        assert_eq!(counts.len(), numbers.len(), "a number for each burst");
        let mut rows = Vec::with_capacity(counts.iter().sum::<i64>() as usize);
        let mut remembered = vec![None; REMEMBERED];
        for (count, number) in counts.iter().zip(numbers) {
            let (low, high) = match remembered.get_mut(*count as usize) {
                Some(Some(alike)) => *alike,
                Some(unknown) => *unknown.insert(self.alike(*count, near)),
                None => self.alike(*count, near),
            };
            let chosen = low + (number * (high - low) as f64) as i64;
            let chosen = chosen.clamp(0, known - 1) as usize;
            let (stored, first) = (self.packets[chosen], self.first[chosen]);
            let alike = stored.min(*count);
            rows.extend(first as u32..(first + alike) as u32);
            let rest = 0..count - alike;
            rows.extend(rest.map(|place| {
                let again = 1 + (alike - 1 + place) % (stored - 1).max(1);
                (first + again.min(stored - 1)) as u32
            }));
        }
        rows
    }

    /// Places of the stored bursts that one of `count` packets may follow, the last excluded.
    fn alike(&self, count: i64, near: i64) -> (i64, i64) {
        let low = self.packets.partition_point(|packets| *packets < count) as i64;
        let high = self.packets.partition_point(|packets| *packets <= count) as i64;
        if high - low >= 2 * near {
            return (low, high);
        }
        let middle = (low + high) / 2;
        ((middle - near).max(0), (middle + near).min(self.packets.len() as i64))
    }
}

/// Scores of packets by the ranks of what they follow and a number each, times `spread`, which
/// decides among equal ones.
///
/// # Panics
///
/// When a row has no rank, or there is not one number for each row.
#[must_use]
pub fn rank_scores(ranks: &[f64], rows: &[u32], numbers: &[f64], spread: f64) -> Vec<f64> {
    assert_eq!(rows.len(), numbers.len(), "a number for each row");
    rows.iter().zip(numbers).map(|(row, number)| ranks[*row as usize] + number * spread).collect()
}

/// Values, which come in any order, in the order of scores; equal scores keep theirs.
///
/// # Panics
///
/// When there are not as many scores as values.
#[must_use]
pub fn order_by_scores(scores: &[f64], values: &[f64]) -> Vec<f64> {
    assert_eq!(scores.len(), values.len(), "a score for each value");
    placed(scores, &sorted(values))
}

/// The same for sizes of packets.
///
/// # Panics
///
/// When there are not as many scores as sizes.
#[must_use]
pub fn order_sizes_by_scores(scores: &[f64], sizes: &[u32]) -> Vec<u32> {
    assert_eq!(scores.len(), sizes.len(), "a score for each size");
    placed(scores, &sorted_sizes(sizes))
}

fn placed<T: Copy + Default>(scores: &[f64], ascending: &[T]) -> Vec<T> {
    let mut words = Vec::new();
    order_values(scores.len(), |place| scores[place], &mut words, &mut Vec::new());
    let mut found = vec![T::default(); ascending.len()];
    for (word, value) in words.iter().zip(ascending) {
        found[*word as u32 as usize] = *value;
    }
    found
}

/// Sizes in ascending order; those of packets are 16 bits long and are counted.
fn sorted_sizes(sizes: &[u32]) -> Vec<u32> {
    let largest = sizes.iter().copied().max().unwrap_or(0);
    if largest > u32::from(u16::MAX) || sizes.len() < largest as usize / 64 {
        let mut found = sizes.to_vec();
        found.sort_unstable();
        return found;
    }
    let mut counts = vec![0_usize; largest as usize + 1];
    for size in sizes {
        counts[*size as usize] += 1;
    }
    let mut found = Vec::with_capacity(sizes.len());
    for (size, count) in (0_u32..).zip(counts) {
        found.resize(found.len() + count, size);
    }
    found
}

/// Spacings dealt so that each is longer than its burst needs, as far as there are such: bursts
/// choose in order of need, the neediest first, each by its number in [0, 1) among the spacings
/// left that are long enough, or else takes the longest one left. As those that suit a burst also
/// suit all less needy ones, every order that leaves room is equally likely.
///
/// # Panics
///
/// When there are not as many needs and numbers as spacings.
#[must_use]
pub fn deal_spacings(spacings: &[f64], needs: &[f64], numbers: &[f64]) -> Vec<f64> {
    assert!(spacings.len() == needs.len() && needs.len() == numbers.len(), "one for each burst");
    let ascending = sorted(spacings);
    let (mut words, mut dealt) = (Vec::new(), vec![0.0; spacings.len()]);
    order_values(needs.len(), |place| -needs[place], &mut words, &mut Vec::new());
    let mut pool: Vec<f64> = Vec::new();
    let mut left = ascending.iter().copied().rev().peekable();
    for (word, number) in words.into_iter().zip(numbers) {
        let burst = word as u32 as usize;
        pool.extend(std::iter::from_fn(|| left.next_if(|spacing| *spacing > needs[burst])));
        if pool.is_empty() {
            pool.extend(left.next());
        }
        let chosen = (number * pool.len() as f64) as usize;
        dealt[burst] = pool.swap_remove(chosen.min(pool.len() - 1));
    }
    dealt
}

/// How many of the packets, one after the other, each bin takes by its bytes: a packet belongs to
/// the bin in whose share of the bytes its middle lies.
#[must_use]
pub fn share_packets(sizes: &[u32], bins: &[f64]) -> Vec<i64> {
    let (mut next, mut before, mut edge) = (0, 0.0, 0.0);
    // What lies before the first bin belongs to none.
    let skip = |next: &mut usize, before: &mut f64, edge: f64| {
        let first = *next;
        while let Some(size) = sizes.get(*next).copied().map(f64::from) {
            let reached = *before + size;
            if reached - 0.5 * size >= edge {
                break;
            }
            *before = reached;
            *next += 1;
        }
        (*next - first) as i64
    };
    skip(&mut next, &mut before, edge);
    bins.iter()
        .map(|bytes| {
            edge += bytes;
            skip(&mut next, &mut before, edge)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{
        deal_spacings, join_stretches, order_by_scores, order_sizes_by_scores, share_packets,
        StoredBursts,
    };
    use proptest::prelude::*;

    #[test]
    fn stretches_go_on_from_the_last_stored_packet_to_the_first() {
        assert_eq!(join_stretches(&[3, 0, 1], &[4, 1, 9], 7, 5), [3, 4, 0, 1, 0, 1, 2]);
        assert_eq!(join_stretches(&[1], &[5], 5, 2), [1, 0, 1, 0, 1]);
    }

    #[test]
    fn bursts_follow_stored_ones_of_their_length() {
        let stored = StoredBursts { packets: &[1, 3, 3, 5], first: &[7, 4, 1, 10] };
        // Two of three packets are as many as are asked for; the number chooses.
        assert_eq!(stored.follow(&[3, 3], &[0.0, 0.5], 1), [4, 5, 6, 1, 2, 3]);
        // A longer one goes on after the first packet of the stored one.
        assert_eq!(
            stored.follow(&[7, 2], &[0.9, 0.0], 1),
            [10, 11, 12, 13, 14, 11, 12, 7, 7][..7]
                .iter()
                .copied()
                .chain([7, 7])
                .collect::<Vec<_>>()
        );
        assert_eq!(stored.follow(&[0, 1], &[0.3, 0.0], 1), [7]);
    }

    #[test]
    fn each_burst_gets_a_spacing_that_is_long_enough_as_far_as_there_are_such() {
        let needs = [1.0, 5.0, 2.0, 9.0];
        // 9 has none and takes the longest; 5 then has 6 alone, 2 chooses between 4 and 3.
        assert_eq!(deal_spacings(&[3.0, 6.0, 4.0, 8.0], &needs, &[0.0; 4]), [3.0, 6.0, 4.0, 8.0]);
        let numbers = [0.0, 0.0, 0.9, 0.9];
        assert_eq!(deal_spacings(&[3.0, 6.0, 4.0, 8.0], &needs, &numbers), [4.0, 6.0, 3.0, 8.0]);
        assert!(deal_spacings(&[], &[], &[]).is_empty());
    }

    #[test]
    fn packets_belong_to_the_bin_in_which_their_middle_lies() {
        assert_eq!(share_packets(&[100, 100, 100], &[149.0, 0.0, 101.0]), [1, 0, 1]);
        assert_eq!(share_packets(&[100, 100], &[150.0, 500.0]), [1, 1]);
        assert_eq!(share_packets(&[], &[1.0]), [0]);
    }

    proptest! {
        #[test]
        fn values_come_in_the_order_of_their_scores(
            pairs in prop::collection::vec((0.0..4.0_f64, -5.0..5.0_f64), 0..300)
        ) {
            let (scores, values): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let mut places: Vec<usize> = (0..scores.len()).collect();
            places.sort_by(|one, other| scores[*one].total_cmp(&scores[*other]));
            let mut ascending = values.clone();
            ascending.sort_by(f64::total_cmp);
            let mut expected = vec![0.0; values.len()];
            for (place, value) in places.iter().zip(&ascending) {
                expected[*place] = *value;
            }
            prop_assert_eq!(order_by_scores(&scores, &values), expected);
        }

        #[test]
        fn sizes_come_in_the_order_of_their_scores(
            pairs in prop::collection::vec((0.0..4.0_f64, 0_u32..70_000), 0..300)
        ) {
            let (scores, sizes): (Vec<f64>, Vec<u32>) = pairs.into_iter().unzip();
            let values: Vec<f64> = sizes.iter().copied().map(f64::from).collect();
            let found: Vec<f64> =
                order_sizes_by_scores(&scores, &sizes).into_iter().map(f64::from).collect();
            prop_assert_eq!(found, order_by_scores(&scores, &values));
        }
    }
}
