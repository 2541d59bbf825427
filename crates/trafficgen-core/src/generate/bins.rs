//! Bins of time filled with packets, class by class.

/// Long gaps lose this share of their length at most.
const LARGEST_CUT: f64 = 0.9;

/// What is drawn for the bins of one class, one packet after the other.
#[derive(Debug, Clone, Copy)]
pub struct Filling<'a> {
    /// Gap before each packet, s.
    pub gaps_s: &'a [f64],
    pub bytes: &'a [u32],
    /// Which gaps may be cut; empty: those longer than `mean_gap_s`.
    pub long: &'a [bool],
    pub mean_gap_s: f64,
}

/// How bins are filled.
#[derive(Debug, Clone, Copy)]
pub struct Pace<'a> {
    /// Class of each bin, below 0 for none.
    pub class_of: &'a [i64],
    /// Packets of each bin.
    pub counts: &'a [i64],
    /// Share of its first gap that lies before the first packet of a bin after an idle one.
    pub before: &'a [f64],
    pub width_s: f64,
    /// How far packets may be from where they belong, s.
    pub tolerated_s: f64,
}

/// Times of packets after the start of the first bin, s, ascending, and their bytes.
///
/// Bins are filled by the gaps as they were drawn as long as packets are no further than tolerated
/// from where they belong; then one gap is lengthened, or the long ones are cut. So gaps keep their
/// law. After an idle bin, a random share of the first gap lies before the first packet.
///
/// # Panics
///
/// When there are fewer packets of a class than its bins have.
#[must_use]
pub fn place_in_bins(fillings: &[Filling<'_>], pace: &Pace<'_>) -> (Vec<f64>, Vec<u32>) {
    let total = pace.counts.iter().sum::<i64>() as usize;
    let (mut times, mut bytes) = (Vec::with_capacity(total), Vec::with_capacity(total));
    let mut next = vec![0_usize; fillings.len()];
    let mut gaps: Vec<f64> = Vec::new();
    let mut long: Vec<bool> = Vec::new();
    // One running sum, as array operations have it: the last digits do not depend on the loop.
    let (mut elapsed_s, mut late_s, mut next_bin) = (0.0, 0.0, None);
    for (bin, (class, count)) in pace.class_of.iter().zip(pace.counts).enumerate() {
        let count = *count as usize;
        if count == 0 {
            continue;
        }
        let filling = &fillings[*class as usize];
        let rows = next[*class as usize]..next[*class as usize] + count;
        next[*class as usize] += count;
        bytes.extend_from_slice(&filling.bytes[rows.clone()]);
        gaps.clear();
        gaps.extend_from_slice(&filling.gaps_s[rows.clone()]);
        long.clear();
        if filling.long.is_empty() {
            long.extend(gaps.iter().map(|gap| *gap > filling.mean_gap_s));
        } else {
            long.extend_from_slice(&filling.long[rows]);
        }
        let idle_bins = bin - next_bin.unwrap_or(0);
        if idle_bins > 0 || next_bin.is_none() {
            gaps[0] *= pace.before[bin];
        }
        if idle_bins > 0 {
            late_s = f64::max(0.0, late_s - idle_bins as f64 * pace.width_s);
        }
        next_bin = Some(bin + 1);
        let opens_s = bin as f64 * pace.width_s + late_s;
        let length_s: f64 = gaps.iter().sum();
        late_s = fit_gaps(&mut gaps, &long, late_s + (length_s - pace.width_s), pace.tolerated_s);
        let start_s = opens_s - (elapsed_s + gaps[0]) + gaps[0];
        for gap in &gaps {
            elapsed_s += gap;
            times.push(start_s + elapsed_s);
        }
    }
    (times, bytes)
}

/// Changes the gaps of a bin whose end is late, or early, and returns how late it is then, s.
fn fit_gaps(gaps: &mut [f64], long: &[bool], late_s: f64, tolerated_s: f64) -> f64 {
    if late_s < -tolerated_s {
        let mut longest = 0;
        for (place, gap) in gaps.iter().enumerate() {
            if *gap >= gaps[longest] {
                longest = place;
            }
        }
        gaps[longest] -= late_s;
        return 0.0;
    }
    if late_s <= tolerated_s {
        return late_s;
    }
    let each = gaps.iter().zip(long).filter(|(_, long)| **long);
    let cuttable_s: f64 = each.map(|(gap, _)| *gap).sum();
    let cut_s = f64::min(late_s, LARGEST_CUT * cuttable_s);
    let factor = 1.0 - cut_s / f64::max(cuttable_s, 1e-300);
    for (gap, _) in gaps.iter_mut().zip(long).filter(|(_, long)| **long) {
        *gap *= factor;
    }
    late_s - cut_s
}

#[cfg(test)]
mod tests {
    use super::{place_in_bins, Filling, Pace};

    fn placed(gaps_s: &[f64], counts: &[i64], tolerated_s: f64) -> Vec<f64> {
        let bytes = vec![100; gaps_s.len()];
        let filling = Filling { gaps_s, bytes: &bytes, long: &[], mean_gap_s: 0.3 };
        let class_of: Vec<i64> = counts.iter().map(|count| i64::from(*count > 0) - 1).collect();
        let before = vec![0.5; counts.len()];
        let pace = Pace { class_of: &class_of, counts, before: &before, width_s: 1.0, tolerated_s };
        let (times, sizes) = place_in_bins(&[filling], &pace);
        assert_eq!(sizes.len(), times.len());
        times
    }

    #[test]
    fn gaps_that_suit_stay_as_they_are() {
        assert_eq!(placed(&[0.5, 0.5, 0.25, 0.5], &[2, 2], 0.6), [0.25, 0.75, 1.0, 1.5]);
    }

    #[test]
    fn the_longest_gap_is_lengthened_where_packets_are_early() {
        // The second bin would end at 1.25, and ends at 2 with its second gap longer.
        assert_eq!(placed(&[0.5, 0.5, 0.25, 0.25], &[2, 2], 0.25), [0.25, 0.75, 1.0, 2.0]);
    }

    #[test]
    fn long_gaps_are_cut_where_packets_are_late() {
        // Half of the first gap lies before the idle bin's end; 1.5 s are cut to one.
        let times = placed(&[1.0, 1.0], &[0, 2], 0.125);
        assert!((times[0] - 4.0 / 3.0).abs() < 1e-12 && times[1] == 2.0, "{times:?}");
    }
}
