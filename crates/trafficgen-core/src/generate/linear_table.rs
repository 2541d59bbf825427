//! Quantile functions that are linear between points, found in constant time.
//!
//! Source: Chen and Asau, "On generating random variates from an empirical distribution", AIIE
//! Transactions 6, 1974 (guide tables).

/// Cells for each point.
const FINENESS: usize = 4;

/// A function through points whose places ascend from 0 to 1.
#[derive(Debug, Clone)]
pub struct LinearTable {
    places: Vec<f64>,
    values: Vec<f64>,
    /// Change of the value over change of the place, up to the next point.
    slopes: Vec<f64>,
    /// Last point at or before the beginning of each cell.
    cells: Vec<u32>,
}

impl LinearTable {
    /// Makes the function through points, at least two.
    ///
    /// # Panics
    ///
    /// When there are not as many places as values, or fewer than two.
    #[must_use]
    pub fn new(places: Vec<f64>, values: Vec<f64>) -> Self {
        assert!(places.len() == values.len() && places.len() > 1, "two points");
        let count = FINENESS * places.len();
        let point_at = |cell: usize| {
            let start = cell as f64 / count as f64;
            places.partition_point(|place| *place <= start).max(1) as u32 - 1
        };
        let cells = (0..=count).map(point_at).collect();
        let pairs = places.windows(2).zip(values.windows(2));
        let slopes = pairs.map(|(at, value)| (value[1] - value[0]) / (at[1] - at[0])).collect();
        Self { places, values, slopes, cells }
    }

    /// The value at a place in [0, 1].
    #[must_use]
    #[inline]
    pub fn value(&self, place: f64) -> f64 {
        let last = self.slopes.len();
        if place >= self.places[last] {
            return self.values[last];
        }
        let cell = (place * (self.cells.len() - 1) as f64) as usize;
        let mut point = (self.cells[cell] as usize).min(last - 1);
        while place < self.places[point] && point > 0 {
            point -= 1; // the cell's beginning is rounded
        }
        while place >= self.places[point + 1] {
            point += 1;
        }
        // As numpy's interp computes it, to the last digit.
        self.slopes[point] * (place - self.places[point]) + self.values[point]
    }
}

#[cfg(test)]
mod tests {
    use super::LinearTable;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn values_lie_between_those_of_the_points_around(
            widths in prop::collection::vec(1e-9..1.0_f64, 1..100),
            share in 0.0..1.0_f64,
        ) {
            let total: f64 = widths.iter().sum();
            let mut places = vec![0.0];
            for width in &widths {
                let next = places[places.len() - 1] + width / total;
                places.push(next);
            }
            let last = places.len() - 1;
            places[last] = 1.0;
            let values: Vec<f64> = places.iter().map(|place| 3.0 * place - 1.0).collect();
            let table = LinearTable::new(places.clone(), values);
            for place in [share, 0.0, 1.0, places[last / 2]] {
                prop_assert!((table.value(place) - (3.0 * place - 1.0)).abs() < 1e-6);
            }
        }
    }
}
