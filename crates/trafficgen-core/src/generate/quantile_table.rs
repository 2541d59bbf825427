//! Quantile functions as polynomials between knots, found in constant time.
//!
//! Source: Hörmann and Leydold, "Continuous random variate generation by fast numerical inversion",
//! ACM Transactions on Modeling and Computer Simulation 13, 2003; cells by the leading bits of the
//! probability, so that both tails are as fine as the middle.

/// Numbers of a piece: where it starts, one over its width, and the coefficients.
pub const PIECE_NUMBERS: usize = 8;
/// Bits of a probability that do not choose its cell: 16 cells for each power of two.
const SHIFT: u32 = 48;

/// The quantile function of probabilities up to one half, counted from one end.
#[derive(Debug, Clone)]
pub struct QuantileTable {
    /// Ends of the pieces, ascending.
    ends: Vec<f64>,
    pieces: Vec<[f64; PIECE_NUMBERS]>,
    /// First piece of each cell, and what follows the last one.
    cells: Vec<u32>,
    first_cell: u64,
}

impl QuantileTable {
    /// Makes a table of `ends` (ascending and positive, one more than pieces) and coefficients of
    /// the share of a piece that lies below a probability, constant first.
    ///
    /// # Panics
    ///
    /// When there is no piece, or not one more end than pieces.
    #[must_use]
    pub fn new(ends: Vec<f64>, coefficients: &[[f64; PIECE_NUMBERS - 2]]) -> Self {
        assert!(!coefficients.is_empty() && ends.len() == coefficients.len() + 1, "ends of pieces");
        let made = |(ends, own): (&[f64], &[f64; PIECE_NUMBERS - 2])| {
            let mut piece = [ends[0], 1.0 / (ends[1] - ends[0]), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
            piece[2..].copy_from_slice(own);
            piece
        };
        let pieces = ends.windows(2).zip(coefficients).map(made).collect();
        let first_cell = ends[0].to_bits() >> SHIFT;
        let last_cell = ends[ends.len() - 1].to_bits() >> SHIFT;
        let start_of = |cell: u64| {
            let start = f64::from_bits(cell << SHIFT);
            ends[1..].partition_point(|end| *end <= start) as u32
        };
        let cells = (first_cell..=last_cell + 1).map(start_of).collect();
        Self { ends, pieces, cells, first_cell }
    }

    /// The quantile of a probability; not a number where the table does not reach or does not hold.
    #[must_use]
    #[inline]
    pub fn value(&self, probability: f64) -> f64 {
        let last = self.pieces.len() - 1;
        if !(probability >= self.ends[0] && probability <= self.ends[last + 1]) {
            return f64::NAN;
        }
        let cell = ((probability.to_bits() >> SHIFT) - self.first_cell) as usize;
        let (first, after) = (self.cells[cell] as usize, self.cells[cell + 1] as usize);
        let within = &self.ends[first + 1..=after];
        let place = first + within.partition_point(|end| *end <= probability);
        let [start, per_width, a, b, c, d, e, f] = self.pieces[place.min(last)];
        let at = (probability - start) * per_width;
        ((((f * at + e) * at + d) * at + c) * at + b) * at + a
    }
}

#[cfg(test)]
mod tests {
    use super::QuantileTable;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pieces_are_found_wherever_they_lie(
            widths in prop::collection::vec(1e-9..1.0_f64, 1..400),
            share in 0.0..1.0_f64,
        ) {
            let total: f64 = widths.iter().sum();
            let mut ends = vec![1e-12];
            for width in &widths {
                let next = ends[ends.len() - 1] + 0.5 * width / total;
                ends.push(next);
            }
            let number = |place: usize| [place as f64, 0.0, 0.0, 0.0, 0.0, 0.0];
            let coefficients: Vec<_> = (0..widths.len()).map(number).collect();
            let table = QuantileTable::new(ends.clone(), &coefficients);
            let probability = ends[0] + share * (ends[ends.len() - 1] - ends[0]);
            let right = ends[1..].partition_point(|end| *end <= probability);
            prop_assert_eq!(table.value(probability), right.min(widths.len() - 1) as f64);
            prop_assert!(table.value(0.9e-12).is_nan());
        }
    }
}
