//! Loops of packets that are played, on numpy arrays.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use trafficgen_core::generate::{
    self, Filling, FrameCutter, Gaps, LinearTable, Pace, QuantileTable, Start, StoredBursts,
    PIECE_NUMBERS,
};

type Floats<'py> = PyReadonlyArray1<'py, f64>;
type Places<'py> = PyReadonlyArray1<'py, i64>;
type Rows<'py> = PyReadonlyArray1<'py, u32>;
type Half<'py> = (PyReadonlyArray1<'py, f64>, PyReadonlyArray2<'py, f64>);

/// The quantile function of a law: a table from each end.
#[pyclass(frozen)]
pub struct QuantileTables {
    lower: QuantileTable,
    upper: QuantileTable,
}

#[pymethods]
impl QuantileTables {
    #[new]
    fn new(lower: Half<'_>, upper: Half<'_>) -> PyResult<Self> {
        Ok(Self { lower: read_half(&lower)?, upper: read_half(&upper)? })
    }

    /// Quantiles of probabilities, counted from above if `upper`; not a number where the tables
    /// have none.
    fn quantiles<'py>(
        &self,
        py: Python<'py>,
        probability: PyReadonlyArray1<'py, f64>,
        upper: bool,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let probability = probability.as_slice()?;
        let (near, far) =
            if upper { (&self.upper, &self.lower) } else { (&self.lower, &self.upper) };
        let value = |probability: &f64| {
            if *probability <= 0.5 {
                near.value(*probability)
            } else {
                far.value(1.0 - probability)
            }
        };
        let values: Vec<f64> = py.detach(|| probability.iter().map(value).collect());
        Ok(values.into_pyarray(py))
    }
}

fn read_half((ends, coefficients): &Half<'_>) -> PyResult<QuantileTable> {
    let ends = ends.as_slice()?.to_vec();
    let rows = coefficients.as_slice()?.chunks_exact(PIECE_NUMBERS - 2);
    let pieces: Vec<[f64; PIECE_NUMBERS - 2]> =
        rows.map(|row| row.try_into().unwrap_or([f64::NAN; PIECE_NUMBERS - 2])).collect();
    let ascend = ends.windows(2).all(|pair| 0.0 < pair[0] && pair[0] < pair[1] && pair[1] <= 1.0);
    if pieces.is_empty() || ends.len() != pieces.len() + 1 || !ascend {
        let problem = format!("{} ends of {} pieces, or not ascending", ends.len(), pieces.len());
        return Err(PyValueError::new_err(problem));
    }
    Ok(QuantileTable::new(ends, &pieces))
}

/// A law of atoms and quantiles between which it is linear, as values of probabilities.
#[pyclass(frozen)]
pub struct SteppedLaw {
    /// Probabilities up to each atom, which come first, and their values.
    reached: Vec<f64>,
    atoms: Vec<f64>,
    body: LinearTable,
    /// Probabilities of the atoms and of the rest.
    weight: f64,
    rest: f64,
    /// Bounds within which values are rounded to whole numbers.
    whole: Option<(f64, f64)>,
}

#[pymethods]
impl SteppedLaw {
    #[new]
    fn new(
        atoms: (Floats<'_>, Floats<'_>, f64),
        points: (Floats<'_>, Floats<'_>),
        whole: Option<(f64, f64)>,
    ) -> PyResult<Self> {
        let (reached, values) = (atoms.0.as_slice()?.to_vec(), atoms.1.as_slice()?.to_vec());
        let (places, quantiles) = (points.0.as_slice()?.to_vec(), points.1.as_slice()?.to_vec());
        if reached.len() != values.len() || places.len() != quantiles.len() || places.len() < 2 {
            return Err(refuse("atoms or points of different numbers"));
        }
        let body = LinearTable::new(places, quantiles);
        Ok(Self { reached, atoms: values, body, weight: atoms.2, rest: 1.0 - atoms.2, whole })
    }

    /// Value of each probability: the lowest are those of the atoms.
    fn values<'py>(
        &self,
        py: Python<'py>,
        probability: Floats<'py>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let probability = probability.as_slice()?;
        let values: Vec<f64> = py.detach(|| probability.iter().map(|p| self.value(*p)).collect());
        Ok(values.into_pyarray(py))
    }

    /// Value of each share of what is no atom.
    fn inside<'py>(
        &self,
        py: Python<'py>,
        share: Floats<'py>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let share = share.as_slice()?;
        let values: Vec<f64> = py.detach(|| share.iter().map(|p| self.value_inside(*p)).collect());
        Ok(values.into_pyarray(py))
    }
}

impl SteppedLaw {
    fn value(&self, probability: f64) -> f64 {
        let mut share = probability;
        if let Some(last) = self.reached.last() {
            if probability < *last {
                return self.atoms[self.reached.partition_point(|end| *end <= probability)];
            }
            share = ((probability - self.weight) / self.rest).clamp(0.0, 1.0);
        }
        self.value_inside(share)
    }

    fn value_inside(&self, share: f64) -> f64 {
        let value = self.body.value(share);
        self.whole.map_or(value, |(low, high)| value.round_ties_even().max(low).min(high))
    }
}

/// Orders the values of a series so that its amplitudes are about those given.
#[pyfunction]
pub fn correlated_order<'py>(
    py: Python<'py>,
    series: Floats<'py>,
    ascending: Floats<'py>,
    mean: f64,
    amplitude: Floats<'py>,
    most_turns: usize,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (series, ascending) = (series.as_slice()?.to_vec(), ascending.as_slice()?);
    let amplitude = amplitude.as_slice()?;
    if ascending.len() != series.len() || amplitude.len() != series.len() / 2 + 1 {
        return Err(refuse("values and amplitudes of different numbers"));
    }
    let order = || generate::correlated_order(series, ascending, mean, amplitude, most_turns);
    Ok(py.detach(order).into_pyarray(py))
}

/// The solution of linear equations with a symmetric Toeplitz matrix.
#[pyfunction]
pub fn solve_toeplitz<'py>(
    py: Python<'py>,
    first_row: Floats<'py>,
    right: Floats<'py>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (first_row, right) = (first_row.as_slice()?, right.as_slice()?);
    if first_row.len() != right.len() {
        return Err(refuse("a matrix of another size than the right side"));
    }
    let solution = generate::solve_toeplitz(first_row, right);
    Ok(solution.ok_or_else(|| refuse("the matrix is singular"))?.into_pyarray(py))
}

/// Values in ascending order.
#[pyfunction]
pub fn sort_values<'py>(
    py: Python<'py>,
    values: Floats<'py>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let values = values.as_slice()?;
    Ok(py.detach(|| generate::sort_values(values)).into_pyarray(py))
}

/// The places of values in ascending order; equal ones keep their order.
#[pyfunction]
pub fn stable_order<'py>(
    py: Python<'py>,
    values: Floats<'py>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let values = values.as_slice()?;
    Ok(py.detach(|| generate::stable_order(values)).into_pyarray(py))
}

/// Ranks of values from 1 on; equal ones share the mean of theirs, and NaN has none.
#[pyfunction]
pub fn mean_ranks<'py>(
    py: Python<'py>,
    values: Floats<'py>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let values = values.as_slice()?;
    Ok(py.detach(|| generate::mean_ranks(values)).into_pyarray(py))
}

/// Values in the order of scores; equal ones keep theirs.
#[pyfunction]
pub fn order_by_scores<'py>(
    py: Python<'py>,
    scores: Floats<'py>,
    values: Floats<'py>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (scores, values) = (scores.as_slice()?, values.as_slice()?);
    if scores.len() != values.len() {
        return Err(refuse("scores and values of different numbers"));
    }
    Ok(py.detach(|| generate::order_by_scores(scores, values)).into_pyarray(py))
}

/// The same for sizes of packets.
#[pyfunction]
pub fn order_sizes_by_scores<'py>(
    py: Python<'py>,
    scores: Floats<'py>,
    sizes: Rows<'py>,
) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let (scores, sizes) = (scores.as_slice()?, sizes.as_slice()?);
    if scores.len() != sizes.len() {
        return Err(refuse("scores and sizes of different numbers"));
    }
    Ok(py.detach(|| generate::order_sizes_by_scores(scores, sizes)).into_pyarray(py))
}

/// Spacings dealt so that each is longer than its burst needs, as far as there are such.
#[pyfunction]
pub fn deal_spacings<'py>(
    py: Python<'py>,
    spacings: Floats<'py>,
    needs: Floats<'py>,
    numbers: Floats<'py>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (spacings, needs) = (spacings.as_slice()?, needs.as_slice()?);
    let numbers = numbers.as_slice()?;
    if spacings.len() != needs.len() || needs.len() != numbers.len() {
        return Err(refuse("spacings, needs and numbers of different numbers"));
    }
    Ok(py.detach(|| generate::deal_spacings(spacings, needs, numbers)).into_pyarray(py))
}

/// The stored packet that each of `count` packets follows, in stretches one after the other.
#[pyfunction]
pub fn join_stretches<'py>(
    py: Python<'py>,
    first: Places<'py>,
    lengths: Places<'py>,
    count: usize,
    stored: usize,
) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let (first, lengths) = (first.as_slice()?, lengths.as_slice()?);
    if u32::try_from(stored).is_err() || stored == 0 || first.len() != lengths.len() {
        return Err(refuse("stretches of different numbers, or too many stored packets, or none"));
    }
    Ok(py.detach(|| generate::join_stretches(first, lengths, count, stored)).into_pyarray(py))
}

/// The stored packet that each packet of bursts follows.
#[pyfunction]
pub fn follow_bursts<'py>(
    py: Python<'py>,
    stored: (Places<'py>, Places<'py>),
    counts: Places<'py>,
    numbers: Floats<'py>,
    near: i64,
) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let stored = StoredBursts { packets: stored.0.as_slice()?, first: stored.1.as_slice()? };
    let (counts, numbers) = (counts.as_slice()?, numbers.as_slice()?);
    let known = !stored.packets.is_empty() && stored.packets.len() == stored.first.len();
    if !known || numbers.len() != counts.len() || counts.iter().any(|count| *count < 0) {
        return Err(refuse("bursts, their rows and numbers of different numbers"));
    }
    Ok(py.detach(|| stored.follow(counts, numbers, near)).into_pyarray(py))
}

/// Scores of packets by the ranks of what they follow and a number each, times `spread`.
#[pyfunction]
pub fn rank_scores<'py>(
    py: Python<'py>,
    ranks: Floats<'py>,
    rows: Rows<'py>,
    numbers: Floats<'py>,
    spread: f64,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (ranks, rows, numbers) = (ranks.as_slice()?, rows.as_slice()?, numbers.as_slice()?);
    if rows.len() != numbers.len() || rows.iter().any(|row| *row as usize >= ranks.len()) {
        return Err(refuse("rows and numbers of different numbers, or without a rank"));
    }
    Ok(py.detach(|| generate::rank_scores(ranks, rows, numbers, spread)).into_pyarray(py))
}

/// How many of the packets, one after the other, each bin takes by its bytes.
#[pyfunction]
pub fn share_packets<'py>(
    py: Python<'py>,
    sizes: Rows<'py>,
    bins: Floats<'py>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let (sizes, bins) = (sizes.as_slice()?, bins.as_slice()?);
    Ok(py.detach(|| generate::share_packets(sizes, bins)).into_pyarray(py))
}

/// A series of few values may have none of some types.
const MOST_TYPES: i64 = 1 << 8;

/// Values in the order of ranks, for each type its own.
#[pyfunction]
pub fn values_by_rank<'py>(
    py: Python<'py>,
    ranks: Places<'py>,
    types: Places<'py>,
    values: Floats<'py>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (ranks, types, values) = (ranks.as_slice()?, types.as_slice()?, values.as_slice()?);
    let count = ranks.len();
    let within = |all: &[i64], end: i64| all.iter().all(|one| (0..end).contains(one));
    let known = within(ranks, count as i64) && within(types, MOST_TYPES);
    if types.len() != count || values.len() != count || !known {
        return Err(refuse("ranks, types and values of different numbers"));
    }
    Ok(py.detach(|| generate::values_by_rank(ranks, types, values)).into_pyarray(py))
}

/// Frames on their way to be packets.
#[pyclass(name = "FrameCutter")]
pub struct PyFrameCutter(FrameCutter, usize);

#[pymethods]
impl PyFrameCutter {
    #[new]
    fn new(left: Places<'_>) -> PyResult<Self> {
        let left = left.as_slice()?.to_vec();
        if left.iter().any(|bytes| *bytes < 1) {
            return Err(refuse("a frame of no bytes"));
        }
        let count = left.len();
        Ok(Self(FrameCutter::new(left), count))
    }

    /// Takes a packet of so many bytes from each of some frames, which are larger.
    fn take(&mut self, py: Python<'_>, frames: Places<'_>, size_bytes: i64) -> PyResult<()> {
        let frames = frames.as_slice()?;
        if !frames.iter().all(|frame| (0..self.1 as i64).contains(frame)) {
            return Err(refuse("there is no such frame"));
        }
        py.detach(|| self.0.take(frames, size_bytes));
        Ok(())
    }

    /// Takes a packet from each frame that is open, and returns how many are open still.
    fn fill(&mut self, py: Python<'_>, sizes: Floats<'_>) -> PyResult<usize> {
        let sizes = sizes.as_slice()?;
        Ok(py.detach(|| self.0.fill(sizes)))
    }

    /// Cuts what is left into packets of equal size.
    fn cut_equally(&mut self, py: Python<'_>, largest: i64) {
        py.detach(|| self.0.cut_equally(largest.max(1)));
    }

    /// Returns the packets of each frame, and the bytes of each packet, and begins anew.
    #[allow(clippy::type_complexity)] // two arrays
    fn end<'py>(
        &mut self,
        py: Python<'py>,
    ) -> (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<u32>>) {
        let cutter = std::mem::take(&mut self.0);
        let (counts, sizes) = py.detach(|| cutter.end());
        (counts.into_pyarray(py), sizes.into_pyarray(py))
    }
}

/// When the packets of frames are sent.
#[pyfunction]
#[pyo3(signature = (ready_s, counts, gaps_s, *, of_frames, start_s, first_at_start))]
pub fn frame_times<'py>(
    py: Python<'py>,
    ready_s: Floats<'py>,
    counts: Places<'py>,
    gaps_s: Option<Floats<'py>>,
    of_frames: bool,
    start_s: f64,
    first_at_start: bool,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (ready_s, counts) = (ready_s.as_slice()?, counts.as_slice()?);
    let packets = counts.iter().sum::<i64>() as usize;
    let gaps_s = gaps_s.as_ref().map(|gaps| gaps.as_slice()).transpose()?;
    let needed = if of_frames { counts.len() } else { packets };
    let fits = gaps_s.is_none_or(|gaps| gaps.len() == needed);
    if ready_s.len() != counts.len() || counts.iter().any(|count| *count < 1) || !fits {
        return Err(refuse("frames, packets and gaps of different numbers"));
    }
    let gaps = match gaps_s {
        None => Gaps::None,
        Some(gaps) if of_frames => Gaps::OfFrames(gaps),
        Some(gaps) => Gaps::OfPackets(gaps),
    };
    let start = Start { time_s: start_s, first_at_start };
    Ok(py.detach(|| generate::frame_times(ready_s, counts, gaps, start)).into_pyarray(py))
}

type ClassArrays<'py> =
    (Floats<'py>, PyReadonlyArray1<'py, u32>, Option<PyReadonlyArray1<'py, bool>>, f64);

/// Times and bytes of packets that fill bins, from those that were drawn for each class.
#[pyfunction]
#[pyo3(signature = (fillings, class_of, counts, before, *, width_s, tolerated_s))]
#[allow(clippy::type_complexity)] // two arrays
#[allow(clippy::needless_pass_by_value)] // pyo3 hands them over
pub fn place_in_bins<'py>(
    py: Python<'py>,
    fillings: Vec<ClassArrays<'py>>,
    class_of: Places<'py>,
    counts: Places<'py>,
    before: Floats<'py>,
    width_s: f64,
    tolerated_s: f64,
) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<u32>>)> {
    let (class_of, counts, before) = (class_of.as_slice()?, counts.as_slice()?, before.as_slice()?);
    let mut left = Vec::with_capacity(fillings.len());
    let mut parts = Vec::with_capacity(fillings.len());
    for (gaps, bytes, long, mean_gap_s) in &fillings {
        let (gaps_s, bytes) = (gaps.as_slice()?, bytes.as_slice()?);
        let long = long.as_ref().map_or(Ok(&[][..]), |long| long.as_slice())?;
        if bytes.len() != gaps_s.len() || ![0, gaps_s.len()].contains(&long.len()) {
            return Err(refuse("gaps and bytes of different numbers"));
        }
        left.push(gaps_s.len());
        parts.push(Filling { gaps_s, bytes, long, mean_gap_s: *mean_gap_s });
    }
    for (class, count) in class_of.iter().zip(counts).filter(|(_, count)| **count != 0) {
        let class = usize::try_from(*class).ok().and_then(|class| left.get_mut(class));
        let rest = class.and_then(|left| {
            let rest = left.checked_sub(usize::try_from(*count).ok()?)?;
            *left = rest;
            Some(rest)
        });
        rest.ok_or_else(|| refuse("a bin has more packets than its class"))?;
    }
    if counts.len() != class_of.len() || before.len() != class_of.len() {
        return Err(refuse("classes, counts and shares of different numbers of bins"));
    }
    let pace = Pace { class_of, counts, before, width_s, tolerated_s };
    let (times, bytes) = py.detach(|| generate::place_in_bins(&parts, &pace));
    Ok((times.into_pyarray(py), bytes.into_pyarray(py)))
}

fn refuse(problem: &'static str) -> PyErr {
    PyValueError::new_err(problem)
}
