//! Loops of packets that are played, on numpy arrays.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use trafficgen_core::generate::{QuantileTable, PIECE_NUMBERS};

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
