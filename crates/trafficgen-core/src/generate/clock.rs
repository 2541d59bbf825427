//! Clocks in the headers of packets.

const NS_PER_S: f64 = 1e9;

/// A clock that moves by whole steps.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    pub steps_per_s: f64,
    /// Ticks of a step.
    pub step: i64,
    /// Whether each instant is later than the one before.
    pub apart: bool,
    /// The instant before the first one, steps.
    pub before: i64,
}

/// Ticks at the times, which are counted from `zero_ns` and rounded to steps, modulo 2^32, and the
/// last instant, steps.
#[must_use]
pub fn clock_ticks(time_ns: &[i64], zero_ns: i64, clock: Clock) -> (Vec<u32>, i64) {
    let mut before = clock.before;
    let ticks = time_ns
        .iter()
        .map(|time_ns| {
            let since_s = time_ns.wrapping_sub(zero_ns) as f64 / NS_PER_S;
            let mut instant = rounded(since_s * clock.steps_per_s);
            if clock.apart {
                instant = instant.max(before.wrapping_add(1));
            }
            before = instant;
            instant.wrapping_mul(clock.step) as u32
        })
        .collect();
    (ticks, before)
}

/// Rounded to the nearest whole number, of two the even one.
#[must_use]
#[inline]
pub fn rounded(value: f64) -> i64 {
    /// From here on doubles are whole numbers.
    const WHOLE: f64 = (1_u64 << 52) as f64;
    // What the processor would round in one instruction is a call on those of 2004, which we
    // compile for.
    if value.abs() < WHOLE {
        let moved = WHOLE.copysign(value);
        ((value + moved) - moved) as i64
    } else {
        value as i64
    }
}

#[cfg(test)]
mod tests {
    use super::{clock_ticks, rounded, Clock};
    use proptest::prelude::*;

    #[test]
    fn instants_are_rounded_to_steps_and_kept_apart() {
        let clock = Clock { steps_per_s: 50.0, step: 1800, apart: false, before: -1 };
        let time_ns = [7, 20_000_007, 31_000_007, 49_000_007];
        assert_eq!(clock_ticks(&time_ns, 7, clock).0, [0, 1800, 3600, 3600]);
        let apart = Clock { apart: true, ..clock };
        assert_eq!(clock_ticks(&time_ns, 7, apart), (vec![0, 1800, 3600, 5400], 3));
        let later = Clock { before: 9, ..apart };
        assert_eq!(clock_ticks(&time_ns[..1], 7, later), (vec![18_000], 10));
    }

    #[test]
    fn ticks_count_modulo_32_bits() {
        let clock = Clock { steps_per_s: 90_000.0, step: 1, apart: false, before: -1 };
        assert_eq!(clock_ticks(&[100_000 * 1_000_000_000], 0, clock).0, [410_065_408]);
    }

    proptest! {
        #[test]
        fn halves_are_rounded_to_even(value in prop_oneof![
            -1e18..1e18_f64, -1e3..1e3_f64, (-1000_i32..1000).prop_map(|n| f64::from(n) / 2.0)
        ]) {
            prop_assert_eq!(rounded(value), value.round_ties_even() as i64);
        }
    }
}
