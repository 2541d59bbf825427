//! Scaled forward and backward vectors of a chain of matrices (Baum and others 1970), and the sums
//! over gaps that fitting a Markov-modulated Poisson process takes.

use rustfft::num_complex::Complex64;

/// Densities are no smaller: after a gap that no state explains, the recursions go on.
const SMALLEST_DENSITY: f64 = 1e-200;
/// Eigenvalues nearer than this share are taken for equal.
const SAME: f64 = 1e-9;

/// What is known of the states at the steps of a chain.
pub struct ChainVectors {
    /// Distribution of the state at each step given those before it, row by row, one more than
    /// steps.
    pub forward: Vec<f64>,
    /// What comes after each step given its state, up to a factor, row by row, as many.
    pub backward: Vec<f64>,
    /// Weight of each step given those before it.
    pub scale: Vec<f64>,
}

/// Follows matrices of size `first.len()`, row by row and one after the other, forwards from a
/// distribution of states, and backwards from ones; both are scaled so that nothing underflows
/// (Rabiner, "A tutorial on hidden Markov models", 1989).
pub fn chain_vectors(matrices: &[f64], first: &[f64]) -> ChainVectors {
    let size = first.len();
    let steps = matrices.chunks_exact(size * size);
    let count = steps.len();
    let mut forward = vec![0.0; (count + 1) * size];
    let mut scale = Vec::with_capacity(count);
    forward[..size].copy_from_slice(first);
    for (step, matrix) in steps.clone().enumerate() {
        let (before, after) = forward.split_at_mut((step + 1) * size);
        let (before, after) = (&before[step * size..], &mut after[..size]);
        for (state, row) in before.iter().zip(matrix.chunks_exact(size)) {
            after.iter_mut().zip(row).for_each(|(sum, one)| *sum += state * one);
        }
        scale.push(normalise(after));
    }
    let mut backward = vec![1.0; (count + 1) * size];
    for (step, matrix) in steps.enumerate().rev() {
        let (before, after) = backward.split_at_mut((step + 1) * size);
        let before = &mut before[step * size..];
        for (state, row) in before.iter_mut().zip(matrix.chunks_exact(size)) {
            *state = row.iter().zip(&after[..size]).map(|(one, next)| one * next).sum();
        }
        normalise(before);
    }
    ChainVectors { forward, backward, scale }
}

/// A matrix D of rates of change by its eigenvalues and eigenvectors: D = left diag(values) right.
pub struct Spectrum<'a> {
    pub values: &'a [Complex64],
    /// Row by row, as are those of the inverse.
    pub left: &'a [Complex64],
    pub right: &'a [Complex64],
}

impl Spectrum<'_> {
    /// Writes exp(D x) to a matrix, row by row, and exponentials of the eigenvalues to `powers`.
    fn exponential(&self, x: f64, powers: &mut [Complex64], matrix: &mut [f64]) {
        let size = self.values.len();
        for (power, value) in powers.iter_mut().zip(self.values) {
            let grown = (value.re * x).exp();
            *power = match value.im {
                0.0 => Complex64::new(grown, 0.0),
                turn => Complex64::from_polar(grown, turn * x),
            };
        }
        for (row, left) in matrix.chunks_exact_mut(size).zip(self.left.chunks_exact(size)) {
            row.fill(0.0);
            for ((factor, power), right) in left.iter().zip(&*powers).zip(self.right.chunks(size)) {
                let factor = factor * power;
                row.iter_mut().zip(right).for_each(|(to, one)| *to += (factor * one).re);
            }
        }
    }

    /// exp(D x) of each x, matrix after matrix.
    pub fn exponentials(&self, x: &[f64]) -> Vec<f64> {
        let size = self.values.len();
        let mut powers = vec![Complex64::default(); size];
        let mut matrices = vec![0.0; x.len() * size * size];
        for (x, matrix) in x.iter().zip(matrices.chunks_exact_mut(size * size)) {
            self.exponential(*x, &mut powers, matrix);
        }
        matrices
    }
}

/// What is expected of a Markov-modulated Poisson process given its gaps.
pub struct GapSums {
    /// Packets in each state.
    pub packets: Vec<f64>,
    /// The sum over gaps of the integrals between the eigenvectors, row by row.
    pub between: Vec<Complex64>,
    pub log_likelihood: f64,
}

/// Densities of gaps by the states at both packets, where no packet came at rates of states.
fn gap_densities(spectrum: &Spectrum, gap_s: &[f64], rate_per_s: &[f64]) -> Vec<f64> {
    let mut densities = spectrum.exponentials(gap_s);
    for row in densities.chunks_exact_mut(rate_per_s.len()) {
        for (density, rate) in row.iter_mut().zip(rate_per_s) {
            *density = (*density * rate).max(SMALLEST_DENSITY);
        }
    }
    densities
}

/// Sums over gaps for one step of the EM algorithm, from the states at the first packet.
///
/// Source: Roberts, Ephraim and Dieguez, "On Ryden's EM algorithm for estimating MMPPs" (2006).
pub fn sum_gaps(spectrum: &Spectrum, gap_s: &[f64], rate_per_s: &[f64], first: &[f64]) -> GapSums {
    let size = first.len();
    let densities = gap_densities(spectrum, gap_s, rate_per_s);
    let ChainVectors { forward, backward, scale } = chain_vectors(&densities, first);
    let (mut packets, mut together) = (vec![0.0; size], vec![0.0; size]);
    let mut between = vec![Complex64::default(); size * size];
    let mut powers = vec![Complex64::default(); size];
    let mut longer = vec![0.0; size * size];
    let mut log_likelihood = 0.0;
    for (at, (gap, scale)) in gap_s.iter().zip(&scale).enumerate() {
        let (before, after) = (&forward[at * size..][..size], &forward[(at + 1) * size..][..size]);
        let ahead = &backward[(at + 1) * size..][..size];
        let scale = scale.max(SMALLEST_DENSITY);
        log_likelihood += scale.ln();
        together.iter_mut().zip(after).zip(ahead).for_each(|((to, one), other)| *to = one * other);
        // The backward vectors carry a factor of their own: each gap's share is normalised by
        // itself.
        let whole: f64 = together.iter().sum();
        packets.iter_mut().zip(&together).for_each(|(to, one)| *to += one / whole);
        spectrum.exponential(*gap, &mut powers, &mut longer);
        for (i, right) in spectrum.right.chunks_exact(size).enumerate() {
            let pairs = right.iter().zip(rate_per_s).zip(ahead);
            let u: Complex64 = pairs.map(|((one, rate), ahead)| one * (rate * ahead)).sum();
            let u = u / (whole * scale);
            for j in 0..size {
                let v: Complex64 =
                    before.iter().zip(spectrum.left.chunks(size)).map(|(b, row)| row[j] * b).sum();
                let difference = spectrum.values[i] - spectrum.values[j];
                let near = difference.norm() < SAME * spectrum.values[i].norm();
                let integral =
                    if near { powers[i] * gap } else { (powers[i] - powers[j]) / difference };
                between[i * size + j] += u * v * integral;
            }
        }
    }
    GapSums { packets, between, log_likelihood }
}

/// Divides by the sum, and returns it.
fn normalise(vector: &mut [f64]) -> f64 {
    let sum: f64 = vector.iter().sum();
    vector.iter_mut().for_each(|one| *one /= sum);
    sum
}
