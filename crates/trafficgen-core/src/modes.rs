//! Modes of the samples in windows of a series.

use std::ops::Range;

/// For each window of a series, the median of those values within `width` of one another that are
/// most, and how many they are; 0 of an empty window.
///
/// # Panics
///
/// When a window ends beyond the series.
#[must_use]
pub fn window_modes(values: &[f64], windows: &[Range<usize>], width: f64) -> Vec<(f64, i64)> {
    let mut ordered: Vec<f64> = Vec::new();
    let mut mode = |window: &Range<usize>| {
        ordered.clear();
        ordered.extend_from_slice(&values[window.clone()]);
        ordered.sort_unstable_by(f64::total_cmp);
        let (mut first, mut held, mut end) = (0, 0, 0);
        for (start, low) in ordered.iter().enumerate() {
            while ordered.get(end).is_some_and(|value| *value <= low + width) {
                end += 1;
            }
            if end.saturating_sub(start) > held {
                (first, held) = (start, end - start);
            }
        }
        if held == 0 {
            return (0.0, 0);
        }
        let (low, high) = (first + (held - 1) / 2, first + held / 2);
        ((ordered[low] + ordered[high]) / 2.0, held as i64)
    };
    windows.iter().map(&mut mode).collect()
}

#[cfg(test)]
mod tests {
    use super::window_modes;

    #[test]
    fn the_mode_is_the_median_of_the_densest_values() {
        let values = [9.0, 1.0, 5.0, 1.2, 5.1, 5.4, f64::INFINITY, 1.1];
        let modes = window_modes(&values, &[0..8, 0..2, 3..3], 0.5);
        assert_eq!(modes, [(1.1, 3), (1.0, 1), (0.0, 0)]);
        assert_eq!(window_modes(&[2.0, 3.0], &[0..2, 0..1], 1.0), [(2.5, 2), (2.0, 1)]);
    }
}
