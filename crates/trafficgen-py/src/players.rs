//! Choices of adaptive players, replayed.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use trafficgen_core::source::{replay_player, RecordedSegment};

type Floats<'py> = PyReadonlyArray1<'py, f64>;
type Places<'py> = PyReadonlyArray1<'py, i64>;

/// Rungs that chunked players would have chosen in the place of a recorded one, a list an entry of
/// `parameters` (JSON). Times in s: of requests, of downloads, in the buffer before the request and
/// after the response, and of waits with a full buffer.
#[pyfunction]
pub fn replay_players<'py>(
    py: Python<'py>,
    parameters: Vec<String>,
    times_s: [Floats<'py>; 5],
    sizes: Places<'py>,
    levels: Places<'py>,
) -> PyResult<Vec<Bound<'py, PyArray1<i64>>>> {
    let (sizes, levels) = (sizes.as_slice()?, levels.as_slice()?);
    let mut times = Vec::new();
    for one in &times_s {
        times.push(one.as_slice()?);
    }
    if times.iter().any(|one| one.len() != sizes.len()) || levels.len() != sizes.len() {
        return Err(PyValueError::new_err("arrays of segments differ in length"));
    }
    let segment = |at: usize| RecordedSegment {
        asked_at_s: times[0][at],
        elapsed_s: times[1][at],
        buffer_before_s: times[2][at],
        buffer_after_s: times[3][at],
        waited_s: times[4][at],
        bytes: sizes[at].max(0) as u64,
        level: usize::try_from(levels[at]).unwrap_or(usize::MAX),
    };
    let segments: Vec<_> = (0..sizes.len()).map(segment).collect();
    let choices = py.detach(|| {
        let replay = |one: &String| replay_player(one, &segments);
        parameters.iter().map(replay).collect::<Result<Vec<_>, String>>()
    });
    let choices = choices.map_err(PyValueError::new_err)?;
    let array = |found: Vec<usize>| {
        found.into_iter().map(|level| level as i64).collect::<Vec<_>>().into_pyarray(py)
    };
    Ok(choices.into_iter().map(array).collect())
}
