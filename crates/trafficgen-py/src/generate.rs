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

#[pyfunction]
#[allow(clippy::type_complexity)] // two arrays
pub fn alias_table<'py>(
    py: Python<'py>,
    weights: PyReadonlyArray1<'py, f64>,
) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<i64>>)> {
    let weights = weights.as_slice()?;
    let total: f64 = weights.iter().sum();
    if !(total > 0.0 && total.is_finite()) || weights.iter().any(|weight| *weight < 0.0) {
        return Err(PyValueError::new_err(format!(
            "weights must not be negative, and their sum positive, not {total}"
        )));
    }
    let table = generate::alias_table(weights);
    let other: Vec<i64> = table.other.into_iter().map(|place| place as i64).collect();
    Ok((table.own.into_pyarray(py), other.into_pyarray(py)))
}

#[pyfunction]
pub fn alias_draws<'py>(
    py: Python<'py>,
    uniform: PyReadonlyArray1<'py, f64>,
    own: PyReadonlyArray1<'py, f64>,
    values: PyReadonlyArray1<'py, f64>,
    others: PyReadonlyArray1<'py, f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (own, values, others) = (own.as_slice()?, values.as_slice()?, others.as_slice()?);
    if own.is_empty() || values.len() != own.len() || others.len() != own.len() {
        let problem =
            format!("{} shares, {} values and {} others", own.len(), values.len(), others.len());
        return Err(PyValueError::new_err(problem));
    }
    let uniform = uniform.as_slice()?;
    Ok(py.detach(|| generate::alias_draws(uniform, own, values, others)).into_pyarray(py))
}
