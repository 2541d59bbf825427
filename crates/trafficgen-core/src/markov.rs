//! Scaled forward and backward vectors of a chain of matrices (Baum and others 1970).

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

/// Divides by the sum, and returns it.
fn normalise(vector: &mut [f64]) -> f64 {
    let sum: f64 = vector.iter().sum();
    vector.iter_mut().for_each(|one| *one /= sum);
    sum
}
