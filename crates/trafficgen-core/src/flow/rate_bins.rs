//! How a flow's bytes spread over its time, in memory that does not grow: bins double in width when
//! time runs past them.

/// Bins of each direction; a flow's time takes more than half of them.
const BINS: usize = 128;
/// Width of the first bins is 2^20 ns, about 1 ms: a power of two makes the bin of a packet a
/// shift.
const FIRST_SHIFT: u32 = 20;

/// Bytes of the two directions of a flow, from the initiator and to it, over time.
#[derive(Clone, Debug)]
pub struct RateBins {
    /// Where the first bin begins; what lies before it is counted there.
    pub start_ns: i64,
    shift: u32,
    bytes: [[u64; BINS]; 2],
}

impl RateBins {
    pub fn new(start_ns: i64) -> Self {
        Self { start_ns, shift: FIRST_SHIFT, bytes: [[0; BINS]; 2] }
    }

    #[inline]
    pub fn add(&mut self, time_ns: i64, direction: usize, bytes: u64) {
        let after_ns = time_ns.saturating_sub(self.start_ns).max(0) as u64;
        if after_ns >> self.shift >= BINS as u64 {
            self.widen(after_ns);
        }
        self.bytes[direction][(after_ns >> self.shift) as usize] += bytes;
    }

    #[cold]
    fn widen(&mut self, after_ns: u64) {
        while after_ns >> self.shift >= BINS as u64 {
            for bins in &mut self.bytes {
                for bin in 0..BINS / 2 {
                    bins[bin] = bins[2 * bin] + bins[2 * bin + 1];
                }
                bins[BINS / 2..].fill(0);
            }
            self.shift += 1;
        }
    }

    pub fn bin_ns(&self) -> i64 {
        1 << self.shift
    }

    /// The bytes in each bin up to that of the flow's last packet, of either direction.
    pub fn up_to(&self, last_ns: i64) -> [&[u64]; 2] {
        let bins = (last_ns.saturating_sub(self.start_ns).max(0) >> self.shift) as usize + 1;
        let used = bins.min(BINS);
        [&self.bytes[0][..used], &self.bytes[1][..used]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn no_byte_is_lost_when_bins_widen_and_each_stays_in_its_place() {
        let mut bins = RateBins::new(5 * MS);
        for packet in 0..10_000_i64 {
            bins.add(5 * MS + packet * MS, usize::from(packet % 4 == 0), 100);
        }
        let last_ns = 5 * MS + 9_999 * MS;
        let [forward, backward] = bins.up_to(last_ns);
        assert_eq!((forward.iter().sum::<u64>(), backward.iter().sum::<u64>()), (750_000, 250_000));
        assert!(forward.len() > BINS / 2 && forward.len() <= BINS);
        let per_bin = bins.bin_ns() as f64 / MS as f64 * 75.0;
        for bytes in &forward[..forward.len() - 1] {
            assert!((*bytes as f64 - per_bin).abs() <= 200.0, "{bytes} of {per_bin}");
        }
    }

    #[test]
    fn packets_out_of_order_and_far_away_are_counted() {
        let mut bins = RateBins::new(1000);
        bins.add(0, 0, 1);
        bins.add(i64::MIN, 0, 2);
        bins.add(i64::MAX, 0, 4);
        let [forward, _] = bins.up_to(i64::MAX);
        assert_eq!((forward[0], forward.iter().sum::<u64>()), (3, 7));
        assert_eq!(forward[forward.len() - 1], 4);
    }
}
