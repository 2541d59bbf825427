//! The likelihood of a sample that is grouped into cells, and its maximum.

use super::law::{Law, LawError};

const TINY: f64 = 1e-300;
const DAMPING: f64 = 1e-3;
const LARGEST_DAMPING: f64 = 1e9;
/// Iteration stops where less is to be gained: the estimate is then within 0.5% of a standard
/// error.
const SMALLEST_GAIN: f64 = 1e-5;
const RIDGE: f64 = 1e-9;
/// A step of an estimate without a fold is halved up to this often.
const HALVINGS: usize = 8;

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
        self.log_probabilities_with_scores(law, unit).1
    }

    /// Both, at less than the cost of each alone; scores only where they are finite.
    fn log_probabilities_with_scores(&self, law: &Law, unit: f64) -> (Vec<f64>, Option<Vec<f64>>) {
        let free = law.free();
        let (mut signed, mut slopes) = (Vec::new(), Vec::new());
        for (side, upper, sign) in [(&self.below, false, 1.0), (&self.above, true, -1.0)] {
            let (tails, of_points) = law.tails_with_slopes(&side.points, upper, unit);
            signed.extend(side.sum(&tails, 1, sign));
            slopes.extend(side.sum(&of_points, free, sign));
        }
        let mut scores = Vec::with_capacity(self.counts.len() * free);
        let mut log_probabilities = Vec::with_capacity(self.counts.len());
        for (low, high) in self.lower.iter().zip(&self.upper) {
            let probability = self.probability(&signed, *low, *high);
            log_probabilities.push(floored(probability).ln());
            for at in 0..free {
                let slope = slopes[high * free + at] - slopes[low * free + at];
                scores.push(if probability > TINY { slope / probability } else { 0.0 });
            }
        }
        let are_finite = scores.iter().all(|score| score.is_finite());
        (log_probabilities, are_finite.then_some(scores))
    }

    /// Finds the maximum of a family's likelihood near a start; None where none is found.
    ///
    /// Steps are those of scoring with the information estimated from the products of the scores
    /// (Berndt, Hall, Hall and Hausman 1974), damped until the likelihood grows (Levenberg 1944,
    /// Marquardt 1963), at most as many as `rounds`.
    pub fn maximise(&self, start: Law, rounds: usize) -> Option<Maximum> {
        let (unit, free) = (start.unit(), start.free());
        let mut law = start;
        let (mut here, scores) = self.log_probabilities_with_scores(&law, unit);
        let (mut value, mut scores) = (self.dot(&here), scores?);
        let mut damping = DAMPING;
        for _ in 0..rounds {
            let (gradient, information) = gradient(&self.counts, &scores, free);
            let step = damped_step(&information, &gradient, damping)?;
            let moved: Result<Law, LawError> = law.move_by(&step, unit);
            let there = moved.ok().map(|law| (self.log_probabilities_with_scores(&law, unit), law));
            let grown = there.as_ref().map_or(f64::NEG_INFINITY, |((there, _), _)| self.dot(there));
            let ascent: f64 = gradient.iter().zip(&step).map(|(slope, step)| slope * step).sum();
            match there {
                Some(((there, slopes), moved)) if grown >= value => {
                    let gain = grown - value;
                    (law, here, value, scores) = (moved, there, grown, slopes?);
                    damping /= 10.0;
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

    /// Log-probabilities of the cells by the law fitted to all values but those of a fold.
    ///
    /// The estimate without a fold is one step of scoring from the whole estimate (the
    /// infinitesimal jackknife: Giordano et al., AISTATS 2019), which costs one evaluation instead
    /// of a fit. A step that goes past the largest likelihood of the kept values, as those of
    /// mixtures do where a component hardly lives on what is kept, is halved until it leads
    /// upwards; if none does, the law stays where it is.
    pub fn hold_out(&self, whole: &Maximum, fold: &[f64]) -> Vec<f64> {
        let free = whole.law.free();
        let here = whole.log_probabilities.clone();
        let kept: Vec<f64> = self.counts.iter().zip(fold).map(|(all, out)| all - out).collect();
        let share = kept.iter().sum::<f64>() / self.counts.iter().sum::<f64>();
        let (_, mut information) = gradient(&self.counts, &whole.scores, free);
        information.iter_mut().for_each(|one| *one *= share);
        let (towards, _) = gradient(fold, &whole.scores, free);
        let Some(mut step) = ridge_step(&information, &towards) else { return here };
        step.iter_mut().for_each(|one| *one = -one.clamp(-1.0, 1.0));
        let (unit, reached) = (whole.law.unit(), dot(&kept, &here));
        for _ in 0..HALVINGS {
            let moved = whole.law.move_by(&step, unit).ok();
            if let Some(there) = moved.map(|law| self.log_probabilities(&law)) {
                if dot(&kept, &there) >= reached {
                    return there;
                }
            }
            step.iter_mut().for_each(|one| *one /= 2.0);
        }
        here
    }

    fn dot(&self, of_cells: &[f64]) -> f64 {
        dot(&self.counts, of_cells)
    }
}

fn dot(counts: &[f64], of_cells: &[f64]) -> f64 {
    counts.iter().zip(of_cells).map(|(count, of)| count * of).sum()
}

/// Gradient of the log-likelihood of counts, and the sum of the products of the scores.
fn gradient(counts: &[f64], scores: &[f64], free: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut gradient, mut information) = (vec![0.0; free], vec![0.0; free * free]);
    for (count, row) in counts.iter().zip(scores.chunks_exact(free)) {
        for (at, score) in row.iter().enumerate() {
            gradient[at] += count * score;
            for (other, product) in row.iter().enumerate() {
                information[at * free + other] += count * score * product;
            }
        }
    }
    (gradient, information)
}

/// Improves a mixture of normal laws of values with counts by expectation and maximisation
/// (Dempster, Laird and Rubin 1977), from the component of each value; returns weights, means and
/// standard deviations, which stay above `smallest`.
pub fn mix_normals(
    values: &[f64],
    counts: &[f64],
    component: &[usize],
    smallest: f64,
    rounds: usize,
    tolerance: f64,
) -> Vec<(f64, f64, f64)> {
    let size = component.iter().max().map_or(0, |most| most + 1);
    let n: f64 = counts.iter().sum();
    let mut member: Vec<f64> = vec![0.0; values.len() * size];
    for ((row, at), count) in member.chunks_exact_mut(size.max(1)).zip(component).zip(counts) {
        row[*at] = *count;
    }
    let mut before = f64::NEG_INFINITY;
    let mut parts = moments(values, &member, size, n, smallest);
    for _ in 0..rounds {
        let mut value = 0.0;
        for ((row, x), count) in member.chunks_exact_mut(size.max(1)).zip(values).zip(counts) {
            for (density, (weight, mean, sd)) in row.iter_mut().zip(&parts) {
                *density = weight / sd * (-0.5 * ((x - mean) / sd).powi(2)).exp();
            }
            let whole = floored(row.iter().sum());
            row.iter_mut().for_each(|density| *density *= count / whole);
            value += count * whole.ln() / n;
        }
        parts = moments(values, &member, size, n, smallest);
        if value - before < tolerance {
            break;
        }
        before = value;
    }
    parts
}

/// Weight, mean and standard deviation of each component from its share of each value.
fn moments(
    values: &[f64],
    member: &[f64],
    size: usize,
    n: f64,
    smallest: f64,
) -> Vec<(f64, f64, f64)> {
    let share = |part: usize| member.iter().skip(part).step_by(size).zip(values);
    let each = (0..size).map(|part| {
        let total = share(part).map(|(own, _)| own).sum::<f64>().max(1e-9 * n);
        let mean = share(part).map(|(own, x)| own * x).sum::<f64>() / total;
        let square = share(part).map(|(own, x)| own * (x - mean).powi(2)).sum::<f64>() / total;
        (total, mean, square.sqrt().max(smallest))
    });
    let found: Vec<_> = each.collect();
    let whole: f64 = found.iter().map(|(total, ..)| total).sum();
    found.into_iter().map(|(total, mean, sd)| (total / whole, mean, sd)).collect()
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
    for at in 0..size {
        matrix[at * size + at] += damping * information[at * size + at];
    }
    let mut step = ridge_step(&matrix, gradient)?;
    let longest = step.iter().fold(1.0, |most: f64, one| most.max(one.abs()));
    step.iter_mut().for_each(|one| *one /= longest);
    Some(step)
}

/// Solves for a step, of which what the information does not determine is nothing.
fn ridge_step(information: &[f64], gradient: &[f64]) -> Option<Vec<f64>> {
    let size = gradient.len();
    let mut matrix = information.to_vec();
    let largest = (0..size).map(|at| information[at * size + at]).fold(0.0, f64::max);
    (0..size).for_each(|at| matrix[at * size + at] += RIDGE * largest + 1e-30);
    let step = solve(&mut matrix, gradient)?;
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
