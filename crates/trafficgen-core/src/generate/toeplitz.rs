//! Systems of linear equations whose matrix is that of an autocorrelation.

/// Solves T x = b for a symmetric Toeplitz matrix with a given first row; None for a singular one.
///
/// The order of operations is fixed, so that results do not depend on the processor.
///
/// Source: Levinson, "The Wiener RMS error criterion in filter design and prediction", Journal of
/// Mathematics and Physics 25, 1946; Golub and Van Loan, "Matrix computations", section 4.7.
///
/// # Panics
///
/// When there are not as many numbers in both.
#[must_use]
pub fn solve_toeplitz(first_row: &[f64], right: &[f64]) -> Option<Vec<f64>> {
    assert_eq!(first_row.len(), right.len(), "as many numbers");
    let scale = *first_row.first()?;
    let row: Vec<f64> = first_row.iter().map(|one| one / scale).collect();
    let crossed = |vector: &[f64]| -> f64 {
        row[1..].iter().zip(vector.iter().rev()).map(|(one, other)| one * other).sum()
    };
    let mut solution = vec![right[0] / scale];
    let (mut predictor, mut rest): (Vec<f64>, f64) = (Vec::new(), 1.0);
    for size in 1..right.len() {
        let reflection = -(row[size] + crossed(&predictor)) / rest;
        let turned = predictor.iter().rev();
        let mut longer: Vec<f64> =
            predictor.iter().zip(turned).map(|(one, other)| one + reflection * other).collect();
        longer.push(reflection);
        predictor = longer;
        rest *= 1.0 - reflection * reflection;
        let last = (right[size] / scale - crossed(&solution)) / rest;
        if !last.is_finite() {
            return None;
        }
        for (one, other) in solution.iter_mut().zip(predictor.iter().rev()) {
            *one += last * other;
        }
        solution.push(last);
    }
    Some(solution)
}

#[cfg(test)]
mod tests {
    use super::solve_toeplitz;

    #[test]
    fn solutions_solve_the_system() {
        let (row, right) = ([2.0, 0.9, -0.3, 0.4], [1.0, -2.0, 0.5, 3.0]);
        let solution = solve_toeplitz(&row, &right).unwrap_or_default();
        for (at, expected) in right.iter().enumerate() {
            let found: f64 =
                solution.iter().enumerate().map(|(other, x)| row[at.abs_diff(other)] * x).sum();
            assert!((found - expected).abs() < 1e-12, "{found} for {expected}");
        }
    }

    #[test]
    fn a_singular_system_has_no_solution() {
        assert_eq!(solve_toeplitz(&[1.0, 1.0], &[1.0, 2.0]), None);
    }
}
