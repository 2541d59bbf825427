//! Inner loops of open-loop generation on numpy arrays.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use trafficgen_core::generate;

#[pyfunction]
pub fn time_order<'py>(
    py: Python<'py>,
    time_ns: PyReadonlyArray1<'py, i64>,
    flow: PyReadonlyArray1<'py, u32>,
) -> PyResult<Option<Bound<'py, PyArray1<i64>>>> {
    let (time_ns, flow) = (time_ns.as_slice()?, flow.as_slice()?);
    if time_ns.len() != flow.len() {
        return Err(PyValueError::new_err(format!(
            "{} flows for {} times",
            flow.len(),
            time_ns.len()
        )));
    }
    Ok(py.detach(|| generate::time_order(time_ns, flow)).map(|order| order.into_pyarray(py)))
}

#[pyfunction]
#[pyo3(signature = (ascending, amplitude, phase, *, most_turns, near))]
pub fn spectral_ranks<'py>(
    py: Python<'py>,
    ascending: PyReadonlyArray1<'py, f64>,
    amplitude: PyReadonlyArray1<'py, f64>,
    phase: PyReadonlyArray1<'py, f64>,
    most_turns: usize,
    near: f64,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let (ascending, amplitude, phase) =
        (ascending.as_slice()?, amplitude.as_slice()?, phase.as_slice()?);
    if ascending.is_empty() || ascending.len() % 2 == 1 {
        return Err(PyValueError::new_err(format!(
            "{} values, an even number is needed",
            ascending.len()
        )));
    }
    let needed = ascending.len() / 2 + 1;
    if amplitude.len() != needed || phase.len() != needed {
        let problem = format!(
            "{} amplitudes and {} phases, {needed} are needed",
            amplitude.len(),
            phase.len()
        );
        return Err(PyValueError::new_err(problem));
    }
    let ranks =
        py.detach(|| generate::spectral_ranks(ascending, amplitude, phase, most_turns, near));
    Ok(ranks.into_pyarray(py))
}

#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // pyo3 hands them over
pub fn stream_key(py: Python<'_>, seed: Vec<u32>, spawn_key: Vec<u32>) -> Bound<'_, PyArray1<u64>> {
    generate::stream_key(&seed, &spawn_key).to_vec().into_pyarray(py)
}

/// A law of few values, drawn in constant time each.
#[pyclass(name = "AliasTable", frozen)]
pub struct PyAliasTable(generate::AliasColumns);

#[pymethods]
impl PyAliasTable {
    #[new]
    fn new(
        values: PyReadonlyArray1<'_, f64>,
        weights: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<Self> {
        let (values, weights) = (values.as_slice()?, weights.as_slice()?);
        let total: f64 = weights.iter().sum();
        if !(total > 0.0 && total.is_finite()) || weights.iter().any(|weight| *weight < 0.0) {
            return Err(PyValueError::new_err(format!(
                "weights must not be negative, and their sum positive, not {total}"
            )));
        }
        if values.len() != weights.len() {
            let problem = format!("{} values for {} weights", values.len(), weights.len());
            return Err(PyValueError::new_err(problem));
        }
        Ok(Self(generate::AliasColumns::new(values, weights)))
    }

    /// The value that each number in [0, 1) stands for.
    fn values<'py>(
        &self,
        py: Python<'py>,
        numbers: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let numbers = numbers.as_slice()?;
        let draws = || numbers.iter().map(|number| self.0.draw(*number)).collect::<Vec<_>>();
        Ok(py.detach(draws).into_pyarray(py))
    }

    /// The same, rounded to whole numbers from 0 to the largest.
    fn whole_values<'py>(
        &self,
        py: Python<'py>,
        numbers: PyReadonlyArray1<'py, f64>,
        largest: u32,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let numbers = numbers.as_slice()?;
        let whole = |number: &f64| generate::rounded(self.0.draw(*number)).clamp(0, largest.into());
        let draws = || numbers.iter().map(|number| whole(number) as u32).collect::<Vec<_>>();
        Ok(py.detach(draws).into_pyarray(py))
    }
}

/// Ticks of a clock that moves by whole steps, at the times of packets, and the last instant.
#[pyfunction]
#[pyo3(signature = (time_ns, *, zero_ns, steps_per_s, step, apart, before))]
pub fn clock_ticks<'py>(
    py: Python<'py>,
    time_ns: PyReadonlyArray1<'py, i64>,
    zero_ns: i64,
    steps_per_s: f64,
    step: i64,
    apart: bool,
    before: i64,
) -> PyResult<(Bound<'py, PyArray1<u32>>, i64)> {
    let time_ns = time_ns.as_slice()?;
    let clock = generate::Clock { steps_per_s, step, apart, before };
    let (ticks, last) = py.detach(|| generate::clock_ticks(time_ns, zero_ns, clock));
    Ok((ticks.into_pyarray(py), last))
}
