//! The order of packets in time, by words that hold the time and the place of a packet: a few
//! flows, each in order, are merged, many are sorted by radix.

use super::radix::radix_sort;

/// Flows that are merged, one level for each doubling: as many levels take less than the passes of
/// a radix sort.
const FEW_FLOWS: usize = 8;

/// The places of packets in order of time, then of flow, then as they stand; `None` where they are
/// in that order.
///
/// # Panics
///
/// When there are not as many flows as times.
#[must_use]
pub fn time_order(time_ns: &[i64], flow: &[u32]) -> Option<Vec<i64>> {
    assert_eq!(time_ns.len(), flow.len(), "a flow for each time");
    let in_order = |pair: &[i64], flows: &[u32]| {
        pair[0] < pair[1] || (pair[0] == pair[1] && flows[0] <= flows[1])
    };
    if time_ns.windows(2).zip(flow.windows(2)).all(|(times, flows)| in_order(times, flows)) {
        return None;
    }
    let first = time_ns.iter().copied().min()?;
    let last = time_ns.iter().copied().max()?;
    let place_bits = bits(time_ns.len() as u64 - 1);
    let time_bits = bits(last.abs_diff(first));
    if time_bits + place_bits > u64::BITS {
        return Some(compared(time_ns, flow));
    }
    let mut words: Vec<u64> = time_ns
        .iter()
        .enumerate()
        .map(|(place, time)| time.abs_diff(first) << place_bits | place as u64)
        .collect();
    if words.windows(2).filter(|pair| pair[0] > pair[1]).count() < FEW_FLOWS {
        words.sort(); // merges what is in order
    } else {
        radix_sort(&mut words, &mut Vec::new(), place_bits, time_bits);
    }
    let place_mask = (1_u64 << place_bits) - 1;
    order_ties(&mut words, flow, place_bits, place_mask);
    Some(words.into_iter().map(|word| (word & place_mask) as i64).collect())
}

fn bits(value: u64) -> u32 {
    u64::BITS - value.leading_zeros()
}

/// For times so far apart that a place does not fit beside them.
fn compared(time_ns: &[i64], flow: &[u32]) -> Vec<i64> {
    let mut places: Vec<i64> = (0..time_ns.len() as i64).collect();
    places.sort_by_key(|&place| (time_ns[place as usize], flow[place as usize]));
    places
}

/// Puts words of the same time in order of flow; few packets share a nanosecond.
fn order_ties(words: &mut [u64], flow: &[u32], place_bits: u32, place_mask: u64) {
    let flow_of = |word: u64| flow[(word & place_mask) as usize];
    for tied in words.chunk_by_mut(|a, b| a >> place_bits == b >> place_bits) {
        if tied.len() > 1 && !tied.is_sorted_by_key(|&word| flow_of(word)) {
            tied.sort_by_key(|&word| flow_of(word));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::time_order;
    use proptest::prelude::*;

    fn sorted_at_once(time_ns: &[i64], flow: &[u32]) -> Vec<i64> {
        let mut places: Vec<i64> = (0..time_ns.len() as i64).collect();
        places.sort_by_key(|&place| (time_ns[place as usize], flow[place as usize], place));
        places
    }

    #[test]
    fn packets_in_order_need_no_places() {
        assert_eq!(time_order(&[], &[]), None);
        assert_eq!(time_order(&[1, 1, 2], &[0, 1, 0]), None);
        assert_eq!(time_order(&[1, 1], &[1, 0]), Some(vec![1, 0]));
    }

    #[test]
    fn times_at_both_ends_of_their_range_are_ordered() {
        assert_eq!(time_order(&[i64::MAX, 0, i64::MIN], &[0, 0, 0]), Some(vec![2, 1, 0]));
    }

    #[test]
    fn few_flows_in_order_are_merged() {
        let (time_ns, flow): (Vec<i64>, Vec<u32>) = (0..3)
            .flat_map(|flow| (0..5000).map(move |place| (place * (7 - i64::from(flow)), flow)))
            .unzip();
        assert_eq!(time_order(&time_ns, &flow), Some(sorted_at_once(&time_ns, &flow)));
    }

    proptest! {
        #[test]
        fn order_is_that_of_a_sort_by_time_flow_and_place(
            rows in prop::collection::vec((-40_i64..40, 0_u32..4), 0..200), shift in 0_u32..56
        ) {
            let (time_ns, flow): (Vec<i64>, Vec<u32>) =
                rows.into_iter().map(|(time, flow)| (time << shift, flow)).unzip();
            let expected = sorted_at_once(&time_ns, &flow);
            let unmoved = expected.iter().enumerate().all(|(row, &place)| row as i64 == place);
            match time_order(&time_ns, &flow) {
                None => prop_assert!(unmoved),
                Some(order) => prop_assert_eq!(order, expected),
            }
        }
    }
}
