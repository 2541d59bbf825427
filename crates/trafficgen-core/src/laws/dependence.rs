//! How neighbours of a series depend on one another. A series is given by the few values that it
//! takes and which of them comes at each time, so that nothing as long as it is made.

/// Mean product of neighbours, over as many as there are values: of values whose mean is 0, the
/// autocovariance at lag 1.
#[must_use]
pub fn lag_one_mean(values: &[f64], place: &[u16]) -> f64 {
    let pairs = place.iter().zip(place.iter().skip(1));
    let sum: f64 =
        pairs.map(|(one, next)| values[usize::from(*one)] * values[usize::from(*next)]).sum();
    sum / place.len() as f64
}

/// Variance of the sums over all blocks of `length` neighbours; the values have mean 0.
///
/// Sums are differences of the running total, of which the two ends of a block are kept.
#[must_use]
pub fn block_sum_variance(values: &[f64], place: &[u16], length: usize) -> f64 {
    let at = |place: &u16| values[usize::from(*place)];
    let mut ahead: f64 = place[..length].iter().map(at).sum();
    let (mut behind, mut sum, mut square) = (0.0, ahead, ahead * ahead);
    for (first, next) in place.iter().zip(&place[length..]) {
        behind += at(first);
        ahead += at(next);
        let block = ahead - behind;
        sum += block;
        square += block * block;
    }
    let count = (place.len() - length + 1) as f64;
    square / count - (sum / count) * (sum / count)
}

#[cfg(test)]
mod tests {
    use super::{block_sum_variance, lag_one_mean};

    const VALUES: [f64; 3] = [-1.0, 0.0, 2.0];
    const PLACE: [u16; 5] = [0, 2, 1, 0, 0];

    #[test]
    fn neighbours_are_multiplied() {
        assert_eq!(lag_one_mean(&VALUES, &PLACE), (-2.0 + 0.0 + 0.0 + 1.0) / 5.0);
    }

    #[test]
    fn sums_of_blocks_vary() {
        // Sums of two neighbours: 1, 2, -1, -2.
        assert_eq!(block_sum_variance(&VALUES, &PLACE, 2), 2.5);
        assert_eq!(block_sum_variance(&VALUES, &PLACE, 5), 0.0);
    }
}
