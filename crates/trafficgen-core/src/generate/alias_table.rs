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

/// A column with the values of both of its owners, side by side in memory.
#[derive(Debug, Clone, Copy)]
struct Column {
    own: f64,
    /// That of who has the rest, and its own.
    values: [f64; 2],
}

/// Values and a table of their probabilities.
#[derive(Debug, Clone)]
pub struct AliasColumns(Vec<Column>);

impl AliasColumns {
    /// Values with weights in proportion to their probabilities.
    ///
    /// # Panics
    ///
    /// When there are not as many values as weights, or the weights are none, see [`alias_table`].
    #[must_use]
    pub fn new(values: &[f64], weights: &[f64]) -> Self {
        assert_eq!(values.len(), weights.len(), "a weight for each value");
        let table = alias_table(weights);
        let columns = values.iter().zip(table.own.iter().zip(&table.other));
        let column = |(value, (own, other)): (&f64, (&f64, &usize))| Column {
            own: *own,
            values: [values[*other], *value],
        };
        Self(columns.map(column).collect())
    }

    /// The value that a number in [0, 1) stands for.
    #[must_use]
    #[inline]
    pub fn draw(&self, number: f64) -> f64 {
        let place = number * self.0.len() as f64;
        let at = (place as usize).min(self.0.len() - 1);
        let column = &self.0[at];
        // An index rather than a branch: no processor can guess which it will be.
        column.values[usize::from(place - (at as f64) < column.own)]
    }
}

#[cfg(test)]
mod tests {
    use super::{alias_table, AliasColumns};
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
        let columns = AliasColumns::new(&[10.0, 20.0], &[0.125, 0.875]);
        let numbers = [0.0, 0.12, 0.13, 0.49, 0.5, 1.0 - f64::EPSILON];
        let drawn = numbers.map(|number| columns.draw(number));
        assert_eq!(drawn, [10.0, 10.0, 20.0, 20.0, 20.0, 20.0]);
    }
}
