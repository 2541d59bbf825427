//! How far apart two samples are.

use std::borrow::Cow;

/// Largest difference of the distribution functions of two samples, in any order and of any sizes.
///
/// Source: Smirnov, "Table for estimating the goodness of fit of empirical distributions", Annals
/// of Mathematical Statistics 19, 1948.
pub fn sample_distance(one: &[f64], other: &[f64]) -> f64 {
    let (one, other) = (ascending(one), ascending(other));
    let share = |count: usize, of: &[f64]| count as f64 / of.len() as f64;
    let (mut first, mut second, mut largest) = (0, 0, 0.0_f64);
    // Beyond the end of a sample the other's distribution function only comes nearer.
    while first < one.len() && second < other.len() {
        let value = one[first].min(other[second]);
        let is_passed = |at: &&f64| **at <= value || at.is_nan();
        first += one[first..].iter().take_while(is_passed).count();
        second += other[second..].iter().take_while(is_passed).count();
        largest = largest.max((share(first, &one) - share(second, &other)).abs());
    }
    largest
}

fn ascending(sample: &[f64]) -> Cow<'_, [f64]> {
    if sample.is_sorted() {
        return Cow::Borrowed(sample);
    }
    let mut ordered = sample.to_vec();
    ordered.sort_unstable_by(f64::total_cmp);
    Cow::Owned(ordered)
}

#[cfg(test)]
mod tests {
    use super::sample_distance;

    #[test]
    fn distances_are_those_of_the_distribution_functions() {
        assert_eq!(sample_distance(&[3.0, 1.0, 2.0], &[2.0, 3.0, 1.0]), 0.0);
        assert_eq!(sample_distance(&[1.0, 1.0], &[2.0, 3.0, 4.0]), 1.0);
        assert_eq!(sample_distance(&[1.0, 2.0, 2.0, 5.0], &[2.0, 9.0]), 0.5);
        assert_eq!(sample_distance(&[1.0, 4.0], &[2.0, 2.0, 3.0]), 0.5);
    }
}
