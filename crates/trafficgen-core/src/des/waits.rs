//! How long packets waited: counts in bins that are a thirty-second of an octave wide.

use super::time::Time;

/// Binary digits of a wait that are kept: a bin is at most 3% wide.
const DIGITS: u32 = 5;

/// Waits of packets, for quantiles.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Waits {
    bins: Vec<u32>,
    count: u64,
}

impl Waits {
    #[inline]
    pub fn add(&mut self, wait_ns: Time) {
        let bin = Self::bin(wait_ns.max(0) as u64);
        if bin >= self.bins.len() {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += 1;
        self.count += 1;
    }

    /// Waits below this length have bins of their own; longer ones share those of their octave.
    #[inline]
    fn bin(wait_ns: u64) -> usize {
        let shift = (u64::BITS - wait_ns.leading_zeros()).saturating_sub(DIGITS + 1);
        ((u64::from(shift) << DIGITS) + (wait_ns >> shift)) as usize
    }

    /// Middle of a bin, ns.
    fn middle(bin: usize) -> f64 {
        let shift = (bin >> DIGITS).saturating_sub(1);
        let first = ((bin - (shift << DIGITS)) as u64) << shift;
        first as f64 + ((1_u64 << shift) - 1) as f64 / 2.0
    }

    /// The wait that a share of the packets did not exceed, s; None without packets.
    pub fn quantile_s(&self, share: f64) -> Option<f64> {
        let wanted = (share * self.count as f64).ceil().max(1.0) as u64;
        let mut below = 0;
        let bin = self.bins.iter().position(|count| {
            below += u64::from(*count);
            below >= wanted
        })?;
        Some(Self::middle(bin) / 1e9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_half_a_bin() {
        let mut waits = Waits::default();
        assert_eq!(waits.quantile_s(0.95), None);
        for wait_ns in 1..=1_000_000 {
            waits.add(wait_ns);
        }
        for share in [0.001, 0.05, 0.5, 0.95, 1.0] {
            let found = waits.quantile_s(share).unwrap_or(f64::NAN) * 1e9;
            assert!((found / (share * 1e6) - 1.0).abs() < 0.016, "{share}: {found}");
        }
    }

    #[test]
    fn short_waits_are_exact_and_most_of_no_wait_is_none() {
        let mut waits = Waits::default();
        (0..10).for_each(|_| waits.add(0));
        waits.add(17);
        assert_eq!(waits.quantile_s(0.9), Some(0.0));
        assert_eq!(waits.quantile_s(1.0), Some(17e-9));
    }
}
