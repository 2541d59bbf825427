//! Draws from a law with few values, in constant time each.
//!
//! Source: Walker, "An efficient method for generating discrete random variables with general
//! distributions", ACM Transactions on Mathematical Software 3, 1977; filled as by Vose, "A linear
//! algorithm for generating random numbers with a given distribution", IEEE Transactions on
//! Software Engineering 17, 1991.

/// For each of n columns, all equally likely: the share of it that is its own, and the place of who
/// has the rest.
#[derive(Debug, Clone, PartialEq)]
pub struct AliasTable {
    /// Shares, 0 to 1.
    pub own: Vec<f64>,
    /// Places, below n.
    pub other: Vec<usize>,
}

/// The table of probabilities in proportion to `weights`.
///
/// # Panics
///
/// When a weight is negative or no number, or their sum is not positive and finite.
#[must_use]
pub fn alias_table(weights: &[f64]) -> AliasTable {
    let total: f64 = weights.iter().sum();
    assert!(total > 0.0 && total.is_finite(), "weights with a sum that is positive and finite");
    assert!(weights.iter().all(|weight| *weight >= 0.0), "weights of at least 0");
    let mut own: Vec<f64> =
        weights.iter().map(|weight| weight / total * weights.len() as f64).collect();
    let mut other: Vec<usize> = (0..own.len()).collect();
    let (mut poor, mut rich): (Vec<usize>, Vec<usize>) =
        other.iter().partition(|&&place| own[place] < 1.0);
    while let (Some(filled), Some(&giver)) = (poor.pop(), rich.last()) {
        other[filled] = giver;
        own[giver] -= 1.0 - own[filled];
        if own[giver] < 1.0 {
            rich.pop();
            poor.push(giver);
        }
    }
    // What is left over is full but for rounding; a place without weight has been filled before.
    for place in poor.into_iter().chain(rich) {
        own[place] = 1.0;
    }
    AliasTable { own, other }
}

/// The value that each of the numbers in [0, 1) stands for.
///
/// # Panics
///
/// When there are not as many shares, values and others, or none.
#[must_use]
pub fn alias_draws(uniform: &[f64], own: &[f64], values: &[f64], others: &[f64]) -> Vec<f64> {
    let count = own.len();
    assert!(
        count > 0 && values.len() == count && others.len() == count,
        "as many shares as values and others"
    );
    let drawn = |number: &f64| {
        let place = number * count as f64;
        let column = (place as usize).min(count - 1);
        // Both are read, so that no processor has to guess which it will be.
        let (value, other) = (values[column], others[column]);
        if place - (column as f64) < own[column] {
            value
        } else {
            other
        }
    };
    uniform.iter().map(drawn).collect()
}

#[cfg(test)]
mod tests {
    use super::{alias_draws, alias_table};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn columns_add_up_to_the_weights(
            weights in prop::collection::vec(prop_oneof![Just(0.0), 1e-9..1e9_f64], 1..200)
        ) {
            let total: f64 = weights.iter().sum();
            prop_assume!(total > 0.0);
            let table = alias_table(&weights);
            let mut found = vec![0.0; weights.len()];
            for (place, (own, other)) in table.own.iter().zip(&table.other).enumerate() {
                prop_assert!((0.0..=1.0).contains(own));
                found[place] += own;
                found[*other] += 1.0 - own;
            }
            for (found, weight) in found.iter().zip(&weights) {
                prop_assert!((found / weights.len() as f64 - weight / total).abs() < 1e-12);
                prop_assert!(*weight > 0.0 || *found < 1e-9);
            }
        }
    }

    #[test]
    fn numbers_stand_for_values_by_their_column_and_their_place_in_it() {
        let (own, values, others) = ([0.25, 1.0], [10.0, 20.0], [20.0, 20.0]);
        let drawn =
            alias_draws(&[0.0, 0.12, 0.13, 0.49, 0.5, 1.0 - f64::EPSILON], &own, &values, &others);
        assert_eq!(drawn, [10.0, 10.0, 20.0, 20.0, 20.0, 20.0]);
    }
}
