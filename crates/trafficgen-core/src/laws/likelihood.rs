//! The likelihood of a sample that is grouped into cells, and its maximum.

use super::law::{Law, LawError};

const TINY: f64 = 1e-300;
const DAMPING: f64 = 1e-3;
const LARGEST_DAMPING: f64 = 1e9;
/// Iteration stops where less is to be gained: the estimate is then within 0.5% of a standard
/// error.
const SMALLEST_GAIN: f64 = 1e-5;
const RIDGE: f64 = 1e-9;

/// Edges of cells. What is seen of a law at an edge is the weighted sum over the edge's points: one
/// point, or several within a tick of the clock.
pub struct Edges {
    pub points: Vec<f64>,
    pub weights: Vec<f64>,
    /// First point of each edge, ascending from 0.
    pub starts: Vec<usize>,
}

impl Edges {
    fn len(&self) -> usize {
        self.starts.len()
    }

    /// Sums rows of numbers of the points over each edge.
    fn sum(&self, rows: &[f64], width: usize, sign: f64) -> Vec<f64> {
        let mut sums = vec![0.0; self.len() * width];
        for (edge, sum) in sums.chunks_exact_mut(width).enumerate() {
            let end = self.starts.get(edge + 1).copied().unwrap_or(self.points.len());
            for point in self.starts[edge]..end {
                let row = &rows[point * width..(point + 1) * width];
                let factor = sign * self.weights[point];
                sum.iter_mut().zip(row).for_each(|(sum, number)| *sum += factor * number);
            }
        }
        sums
    }
}

/// Counts of values in cells between edges.
pub struct GroupedSample {
    /// Edges where probabilities are counted from below, and, beyond them, from above.
    pub below: Edges,
    pub above: Edges,
    /// Edges of each cell, counted through `below` and `above`.
    pub lower: Vec<usize>,
    pub upper: Vec<usize>,
    pub counts: Vec<f64>,
}

/// Where the likelihood of a family is largest.
pub struct Maximum {
    pub law: Law,
    /// Of the cells.
    pub log_probabilities: Vec<f64>,
    /// Their derivatives by the free numbers, row by row.
    pub scores: Vec<f64>,
}

impl GroupedSample {
    /// Logarithms of the probabilities of the cells.
    pub fn log_probabilities(&self, law: &Law) -> Vec<f64> {
        let mut signed = self.below.sum(&law.tails(&self.below.points, false), 1, 1.0);
        signed.extend(self.above.sum(&law.tails(&self.above.points, true), 1, -1.0));
        let cells = self.lower.iter().zip(&self.upper);
        cells.map(|(low, high)| floored(self.probability(&signed, *low, *high)).ln()).collect()
    }

    /// One side counts from below, the other from above; no digits are lost at either end.
    fn probability(&self, signed: &[f64], low: usize, high: usize) -> f64 {
        let split = self.below.len();
        let crossing = low < split && high >= split;
        signed[high] - signed[low] + f64::from(u8::from(crossing))
    }

    /// Derivatives of [`GroupedSample::log_probabilities`] by the free numbers, row by row.
    pub fn scores(&self, law: &Law, unit: f64) -> Option<Vec<f64>> {
        let free = law.free();
        let (mut signed, mut slopes) = (Vec::new(), Vec::new());
        for (side, upper, sign) in [(&self.below, false, 1.0), (&self.above, true, -1.0)] {
            let (tails, of_points) = law.tails_with_slopes(&side.points, upper, unit);
            signed.extend(side.sum(&tails, 1, sign));
            slopes.extend(side.sum(&of_points, free, sign));
        }
        let mut scores = Vec::with_capacity(self.counts.len() * free);
        for (low, high) in self.lower.iter().zip(&self.upper) {
            let probability = self.probability(&signed, *low, *high);
            for at in 0..free {
                let slope = slopes[high * free + at] - slopes[low * free + at];
                scores.push(if probability > TINY { slope / probability } else { 0.0 });
            }
        }
        scores.iter().all(|score| score.is_finite()).then_some(scores)
    }

    /// Finds the maximum of a family's likelihood near a start; None where none is found.
    ///
    /// Steps are those of scoring with the information estimated from the products of the scores
    /// (Berndt, Hall, Hall and Hausman 1974), damped until the likelihood grows (Levenberg 1944,
    /// Marquardt 1963), at most as many as `rounds`.
    pub fn maximise(&self, start: Law, rounds: usize) -> Option<Maximum> {
        let (unit, free) = (start.unit(), start.free());
        let mut law = start;
        let mut here = self.log_probabilities(&law);
        let mut value = self.dot(&here);
        let mut scores = self.scores(&law, unit)?;
        let mut damping = DAMPING;
        for _ in 0..rounds {
            let (gradient, information) = self.gradient(&scores, free);
            let step = damped_step(&information, &gradient, damping)?;
            let moved: Result<Law, LawError> = law.move_by(&step, unit);
            let there = moved.ok().map(|law| (self.log_probabilities(&law), law));
            let grown = there.as_ref().map_or(f64::NEG_INFINITY, |(there, _)| self.dot(there));
            let ascent: f64 = gradient.iter().zip(&step).map(|(slope, step)| slope * step).sum();
            match there {
                Some((there, moved)) if grown >= value => {
                    let gain = grown - value;
                    (law, here, value) = (moved, there, grown);
                    damping /= 10.0;
                    scores = self.scores(&law, unit)?;
                    if gain < SMALLEST_GAIN {
                        break;
                    }
                }
                _ if 0.5 * ascent < 0.1 * SMALLEST_GAIN || damping > LARGEST_DAMPING => break,
                _ => damping = damping.max(DAMPING) * 10.0,
            }
        }
        Some(Maximum { law, log_probabilities: here, scores })
    }

    fn dot(&self, of_cells: &[f64]) -> f64 {
        self.counts.iter().zip(of_cells).map(|(count, of)| count * of).sum()
    }

    /// Gradient of the log-likelihood, and the sum of the products of the scores.
    fn gradient(&self, scores: &[f64], free: usize) -> (Vec<f64>, Vec<f64>) {
        let (mut gradient, mut information) = (vec![0.0; free], vec![0.0; free * free]);
        for (count, row) in self.counts.iter().zip(scores.chunks_exact(free)) {
            for (at, score) in row.iter().enumerate() {
                gradient[at] += count * score;
                for (other, product) in row.iter().enumerate() {
                    information[at * free + other] += count * score * product;
                }
            }
        }
        (gradient, information)
    }
}

fn floored(probability: f64) -> f64 {
    // Not f64::max, which would hide what is not a number.
    if probability < TINY {
        TINY
    } else {
        probability
    }
}

/// Returns a damped step, no longer than a factor of e in any parameter.
fn damped_step(information: &[f64], gradient: &[f64], damping: f64) -> Option<Vec<f64>> {
    let size = gradient.len();
    let mut matrix = information.to_vec();
    let largest = (0..size).map(|at| information[at * size + at]).fold(0.0, f64::max);
    for at in 0..size {
        let own = information[at * size + at];
        matrix[at * size + at] += damping * own + RIDGE * largest + 1e-30;
    }
    let mut step = solve(&mut matrix, gradient)?;
    let longest = step.iter().fold(1.0, |most: f64, one| most.max(one.abs()));
    step.iter_mut().for_each(|one| *one /= longest);
    step.iter().all(|one| one.is_finite()).then_some(step)
}

/// Solves a small symmetric system by elimination with pivots; None where it is singular.
fn solve(matrix: &mut [f64], right: &[f64]) -> Option<Vec<f64>> {
    let size = right.len();
    let mut solution = right.to_vec();
    for column in 0..size {
        let pivot = (column..size).max_by(|one, other| {
            matrix[one * size + column].abs().total_cmp(&matrix[other * size + column].abs())
        })?;
        if matrix[pivot * size + column] == 0.0 {
            return None;
        }
        if pivot != column {
            (0..size).for_each(|at| matrix.swap(pivot * size + at, column * size + at));
            solution.swap(pivot, column);
        }
        for row in column + 1..size {
            let factor = matrix[row * size + column] / matrix[column * size + column];
            for at in column..size {
                matrix[row * size + at] -= factor * matrix[column * size + at];
            }
            solution[row] -= factor * solution[column];
        }
    }
    for row in (0..size).rev() {
        let known: f64 = (row + 1..size).map(|at| matrix[row * size + at] * solution[at]).sum();
        solution[row] = (solution[row] - known) / matrix[row * size + row];
    }
    Some(solution)
}
