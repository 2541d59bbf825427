//! Laws and likelihoods of grouped samples on numpy arrays.

use numpy::ndarray::{Array2, Array3, ArrayD};
use numpy::{
    Complex64, IntoPyArray, PyArray1, PyArray2, PyArray3, PyArrayDyn, PyReadonlyArray1,
    PyReadonlyArray2, PyReadonlyArray3, PyReadonlyArrayDyn, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ops::Range;
use trafficgen_core::laws::{
    self, AnyFamily, Bounds, Edges, Fault, GroupedSample, Kind, Law, Maximum, Range as Ends, Scale,
};
use trafficgen_core::markov::{self, ChainVectors, GapSums, Spectrum};

type Array<'py> = PyReadonlyArray1<'py, f64>;
type AnyArray<'py> = PyReadonlyArrayDyn<'py, f64>;
type NewArray<'py> = PyResult<Bound<'py, PyArrayDyn<f64>>>;
type Places<'py> = PyReadonlyArray1<'py, i64>;
type EdgeArrays<'py> = (Array<'py>, Array<'py>, Places<'py>);
/// Values, and how often each one was found.
type Counted<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<i64>>);
type OptionalBounds = (Option<f64>, Option<f64>);

/// Families with their parameters and, of those that are estimated, the scales.
pub fn law_families(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let table = PyDict::new(py);
    for family in laws::families() {
        let free = PyDict::new(py);
        for (name, scale) in family.free() {
            free.set_item(name, scale.name())?;
        }
        table.set_item(family.name(), (family.parameters(), free))?;
    }
    Ok(table)
}

/// Mixtures by name, and the family of their components.
pub fn law_mixtures(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let table = PyDict::new(py);
    for (name, component) in laws::mixtures() {
        table.set_item(*name, *component)?;
    }
    Ok(table)
}

/// Step of the differences that stand for the slopes of a family from Python.
const STEP: f64 = 1e-5;

/// A family whose distribution function is a Python function of parameters, values and side.
struct PythonFamily {
    name: &'static str,
    shapes: &'static [(&'static str, Ends)],
    free: &'static [(&'static str, Scale)],
    kind: Kind,
    tails: Py<PyAny>,
}

impl AnyFamily for PythonFamily {
    fn name(&self) -> &'static str {
        self.name
    }
    fn shapes(&self) -> &'static [(&'static str, Ends)] {
        self.shapes
    }
    fn free(&self) -> &'static [(&'static str, Scale)] {
        self.free
    }
    fn kind(&self) -> Kind {
        self.kind
    }
    fn find_fault(&self, params: &[f64]) -> Option<Fault> {
        let value = self.tail(params, 1.0, false);
        let fault = Fault { name: "a parameter", needs: "one that its functions take", value };
        value.is_nan().then_some(fault)
    }
    fn tail(&self, params: &[f64], x: f64, upper: bool) -> f64 {
        self.tails(params, &[x], upper)[0]
    }
    fn tails(&self, params: &[f64], points: &[f64], upper: bool) -> Vec<f64> {
        Python::attach(|py| {
            let arguments = (params.to_vec(), points.to_vec().into_pyarray(py), upper);
            let tails = self.tails.call1(py, arguments);
            let tails = tails.and_then(|tails| tails.extract::<Array<'_>>(py));
            let tails = tails.and_then(|tails| Ok(tails.as_slice()?.to_vec()));
            // What Python refuses is no law.
            tails.ok().filter(|tails| tails.len() == points.len())
        })
        .unwrap_or_else(|| vec![f64::NAN; points.len()])
    }
    fn tails_with_slopes(
        &self,
        params: &[f64],
        unit: f64,
        points: &[f64],
        upper: bool,
    ) -> (Vec<f64>, Vec<f64>) {
        let moved = |at: usize, step: f64| -> Vec<f64> {
            let mut params = params.to_vec();
            params[at] += step;
            self.tails(&params, points, upper)
        };
        let mut slopes = vec![0.0; points.len() * self.free.len()];
        for (number, (at, slope)) in self.directions(params, unit).into_iter().enumerate() {
            let sides = moved(at, STEP * slope).into_iter().zip(moved(at, -STEP * slope));
            for (row, (above, below)) in slopes.chunks_exact_mut(self.free.len()).zip(sides) {
                row[number] = (above - below) / (2.0 * STEP);
            }
        }
        (self.tails(params, points, upper), slopes)
    }
    // Quantiles and moments come from Python, which does not ask for them here.
    fn high(&self, _: &[f64]) -> f64 {
        f64::INFINITY
    }
    fn has_quantile(&self, _: &[f64]) -> bool {
        false
    }
    fn quantiles(&self, _: &[f64], probabilities: &[f64], _: bool) -> Vec<f64> {
        vec![f64::NAN; probabilities.len()]
    }
    fn partial_moment(&self, _: &[f64], _: i32, _: f64, _: f64) -> f64 {
        f64::NAN
    }
}

/// Adds a family by its distribution function, with one free parameter or more.
#[pyfunction]
pub fn add_family(
    name: String,
    shapes: Vec<String>,
    free: Vec<(String, String)>,
    is_whole: bool,
    tails: Py<PyAny>,
) -> PyResult<()> {
    let scale_of = |(name, scale): (String, String)| {
        let scale = Scale::from_name(&scale).ok_or_else(|| refuse(format!("no scale {scale}")))?;
        Ok((&*name.leak(), scale))
    };
    let free: Vec<(&'static str, Scale)> =
        free.into_iter().map(scale_of).collect::<PyResult<_>>()?;
    if free.is_empty() {
        return Err(refuse(format!("{name} has no free parameter")));
    }
    let shapes: Vec<(&'static str, Ends)> =
        shapes.into_iter().map(|shape| (&*shape.leak(), Ends::Real)).collect();
    let low = f64::NEG_INFINITY; // the function knows where the law starts
    laws::add_family(Box::new(PythonFamily {
        name: name.leak(),
        shapes: shapes.leak(),
        free: free.leak(),
        kind: if is_whole { Kind::Whole { first: low } } else { Kind::Continuous { low } },
        tails,
    }));
    Ok(())
}

/// A family or a mixture with its parameters.
#[pyclass(frozen, name = "Law")]
pub struct PyLaw(Law);

#[pymethods]
impl PyLaw {
    #[new]
    fn new(family: &str, params: &Bound<'_, PyDict>) -> PyResult<Self> {
        Ok(PyLaw(read_law(family, params, (None, None))?))
    }

    /// P(X > x) if `upper`, else P(X <= x).
    fn tail<'py>(&self, py: Python<'py>, x: AnyArray<'py>, upper: bool) -> NewArray<'py> {
        map_values(py, &x, |x| self.0.tails(x, upper))
    }

    /// Quantiles, or the values that are exceeded with probabilities.
    fn quantiles<'py>(&self, py: Python<'py>, p: AnyArray<'py>, upper: bool) -> NewArray<'py> {
        map_values(py, &p, |p| self.0.quantiles(p, upper))
    }

    /// E[X^order; low < X <= high] for an order from 0 to 2.
    fn partial_moment(&self, order: i32, low: f64, high: f64) -> f64 {
        self.0.partial_moment(order, low, high)
    }

    /// Smallest and largest value.
    #[getter]
    fn support(&self) -> (f64, f64) {
        self.0.support()
    }

    /// Whether quantiles have a closed form.
    #[getter]
    fn has_quantile(&self) -> bool {
        self.0.has_quantile()
    }
}

/// Computes a function of the values of an array, without the interpreter's lock.
fn map_values<'py>(
    py: Python<'py>,
    values: &AnyArray<'py>,
    compute: impl Fn(&[f64]) -> Vec<f64> + Send + Sync,
) -> NewArray<'py> {
    let shape = values.shape().to_vec();
    let flat = values.as_array();
    let flat = flat.as_standard_layout();
    let computed = py.detach(|| flat.as_slice().map(&compute)).unwrap_or_default();
    Ok(ArrayD::from_shape_vec(shape, computed).map_err(refuse)?.into_pyarray(py))
}

/// Weights, means and standard deviations of a mixture of normal laws, improved by EM.
#[pyfunction]
pub fn mix_normals(
    values: Array<'_>,
    counts: Array<'_>,
    component: Places<'_>,
    smallest: f64,
    rounds: usize,
    tolerance: f64,
) -> PyResult<Vec<(f64, f64, f64)>> {
    let component = read_places(&component)?;
    let (values, counts) = (values.as_slice()?, counts.as_slice()?);
    Ok(laws::mix_normals(values, counts, &component, smallest, rounds, tolerance))
}

type ChainArrays<'py> =
    (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>);

/// Forward vectors, backward vectors and weights of a chain of matrices.
#[pyfunction]
pub fn chain_vectors<'py>(
    py: Python<'py>,
    matrices: PyReadonlyArray3<'py, f64>,
    first: Array<'py>,
) -> PyResult<ChainArrays<'py>> {
    let (matrices, shape) = (matrices.as_slice()?, matrices.shape().to_vec());
    let first = first.as_slice()?;
    if shape[1..] != [first.len(), first.len()] || first.is_empty() {
        return Err(refuse("matrices have another size than the first state"));
    }
    let ChainVectors { forward, backward, scale } =
        py.detach(|| markov::chain_vectors(matrices, first));
    Ok((rows(py, forward, first.len())?, rows(py, backward, first.len())?, scale.into_pyarray(py)))
}

type ComplexArray<'py> = PyReadonlyArray1<'py, Complex64>;
type ComplexMatrix<'py> = PyReadonlyArray2<'py, Complex64>;
type SpectrumArrays<'py> = (ComplexArray<'py>, ComplexMatrix<'py>, ComplexMatrix<'py>);
type GapSumsArrays<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<Complex64>>, f64);

fn read_spectrum<'a>((values, left, right): &'a SpectrumArrays<'_>) -> PyResult<Spectrum<'a>> {
    let size = values.len();
    if left.shape() != [size, size] || right.shape() != [size, size] {
        return Err(refuse("eigenvectors have another size than the eigenvalues"));
    }
    let (values, left, right) = (values.as_slice()?, left.as_slice()?, right.as_slice()?);
    Ok(Spectrum { values, left, right })
}

/// exp(D x) of each x.
#[pyfunction]
pub fn matrix_exponentials<'py>(
    py: Python<'py>,
    spectrum: SpectrumArrays<'py>,
    x: Array<'py>,
) -> PyResult<Bound<'py, PyArray3<f64>>> {
    let (spectrum, x) = (read_spectrum(&spectrum)?, x.as_slice()?);
    let (size, matrices) = (spectrum.values.len(), py.detach(|| spectrum.exponentials(x)));
    let shape = (x.len(), size, size);
    Ok(Array3::from_shape_vec(shape, matrices).map_err(refuse)?.into_pyarray(py))
}

/// Expected packets in each state, sums of integrals between eigenvectors, and the log-likelihood.
#[pyfunction]
pub fn sum_gaps<'py>(
    py: Python<'py>,
    spectrum: SpectrumArrays<'py>,
    gap_s: Array<'py>,
    rate_per_s: Array<'py>,
    first: Array<'py>,
) -> PyResult<GapSumsArrays<'py>> {
    let (spectrum, gap_s) = (read_spectrum(&spectrum)?, gap_s.as_slice()?);
    let (rate_per_s, first) = (rate_per_s.as_slice()?, first.as_slice()?);
    let size = spectrum.values.len();
    if rate_per_s.len() != size || first.len() != size || size == 0 {
        return Err(refuse("rates and states have another size than the eigenvalues"));
    }
    let GapSums { packets, between, log_likelihood } =
        py.detach(|| markov::sum_gaps(&spectrum, gap_s, rate_per_s, first));
    let between = Array2::from_shape_vec((size, size), between).map_err(refuse)?;
    Ok((packets.into_pyarray(py), between.into_pyarray(py), log_likelihood))
}

/// Largest difference of the distribution functions of two samples.
#[pyfunction]
pub fn sample_distance(py: Python<'_>, one: Array<'_>, other: Array<'_>) -> PyResult<f64> {
    let (one, other) = (one.as_slice()?, other.as_slice()?);
    Ok(py.detach(|| laws::sample_distance(one, other)))
}

/// Values of a series, and which of them comes at each time; refuses places of no value.
fn series<'a>(
    values: &'a Array<'_>,
    place: &'a PyReadonlyArray1<'_, u16>,
) -> PyResult<(&'a [f64], &'a [u16])> {
    let (values, place) = (values.as_slice()?, place.as_slice()?);
    if place.iter().max().is_some_and(|most| usize::from(*most) >= values.len()) {
        return Err(refuse("a place beyond the values"));
    }
    Ok((values, place))
}

/// Mean product of neighbours in a series.
#[pyfunction]
pub fn lag_one_mean(
    py: Python<'_>,
    values: Array<'_>,
    place: PyReadonlyArray1<'_, u16>,
) -> PyResult<f64> {
    let (values, place) = series(&values, &place)?;
    Ok(py.detach(|| laws::lag_one_mean(values, place)))
}

/// Variance of the sums over all blocks of neighbours; refuses blocks longer than the series.
#[pyfunction]
pub fn block_sum_variance(
    py: Python<'_>,
    values: Array<'_>,
    place: PyReadonlyArray1<'_, u16>,
    length: usize,
) -> PyResult<f64> {
    let (values, place) = series(&values, &place)?;
    if length > place.len() {
        return Err(refuse("a block longer than the series"));
    }
    Ok(py.detach(|| laws::block_sum_variance(values, place, length)))
}

/// First unit of each stretch of one rate, and the number of units; refuses unlike lengths.
#[pyfunction]
pub fn change_points<'py>(
    py: Python<'py>,
    total: Array<'py>,
    time_s: Array<'py>,
    shortest: usize,
    penalty: f64,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let (total, time_s) = (total.as_slice()?, time_s.as_slice()?);
    if total.len() != time_s.len() || shortest == 0 {
        return Err(refuse("not as many amounts as times, or stretches of nothing"));
    }
    let found = py
        .detach(|| trafficgen_core::change_points::change_points(total, time_s, shortest, penalty));
    Ok(found.into_pyarray(py))
}

/// Median of the values that are densest in each window of a series, and how many they are.
#[pyfunction]
pub fn window_modes<'py>(
    py: Python<'py>,
    values: Array<'py>,
    firsts: Vec<usize>,
    stops: Vec<usize>,
    width: f64,
) -> PyResult<Counted<'py>> {
    let values = values.as_slice()?;
    let windows: Vec<Range<usize>> = firsts.into_iter().zip(stops).map(|(a, b)| a..b).collect();
    if windows.iter().any(|window| window.start > window.end || window.end > values.len()) {
        return Err(refuse("a window beyond the series"));
    }
    let (modes, held): (Vec<f64>, Vec<i64>) = py
        .detach(|| trafficgen_core::modes::window_modes(values, &windows, width))
        .into_iter()
        .unzip();
    Ok((modes.into_pyarray(py), held.into_pyarray(py)))
}

/// Parameters of a law after a step of its free numbers.
#[pyfunction]
pub fn move_law<'py>(
    py: Python<'py>,
    family: &str,
    params: &Bound<'py, PyDict>,
    step: Array<'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let law = read_law(family, params, (None, None))?;
    let moved = law.move_by(step.as_slice()?, law.unit()).map_err(refuse)?;
    name_params(py, &moved, &params.keys().extract::<Vec<String>>()?)
}

/// A sample as counts of cells.
#[pyclass(frozen, name = "GroupedSample")]
pub struct PyGroupedSample(GroupedSample);

#[pymethods]
impl PyGroupedSample {
    #[new]
    fn new(
        below: EdgeArrays<'_>,
        above: EdgeArrays<'_>,
        lower: Places<'_>,
        upper: Places<'_>,
        counts: Array<'_>,
    ) -> PyResult<Self> {
        let sample = GroupedSample {
            below: read_edges(&below)?,
            above: read_edges(&above)?,
            lower: read_places(&lower)?,
            upper: read_places(&upper)?,
            counts: counts.as_slice()?.to_vec(),
        };
        let (edges, cells) =
            (sample.below.starts.len() + sample.above.starts.len(), sample.counts.len());
        let within =
            |places: &[usize]| places.len() == cells && places.iter().all(|place| *place < edges);
        if !within(&sample.lower) || !within(&sample.upper) {
            return Err(PyValueError::new_err("cells lie beyond the edges"));
        }
        Ok(PyGroupedSample(sample))
    }

    /// Logarithms of the probabilities of the cells.
    fn log_probabilities<'py>(
        &self,
        py: Python<'py>,
        family: &str,
        params: &Bound<'py, PyDict>,
        bounds: OptionalBounds,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let law = read_law(family, params, bounds)?;
        Ok(py.detach(|| self.0.log_probabilities(&law)).into_pyarray(py))
    }

    fn scores<'py>(
        &self,
        py: Python<'py>,
        family: &str,
        params: &Bound<'py, PyDict>,
        bounds: OptionalBounds,
    ) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let law = read_law(family, params, bounds)?;
        let scores = py.detach(|| self.0.scores(&law, law.unit()));
        scores.map(|scores| rows(py, scores, law.free())).transpose()
    }

    /// The maximum of a family's likelihood near a start; None where none is found.
    fn maximise(
        &self,
        py: Python<'_>,
        family: &str,
        params: &Bound<'_, PyDict>,
        bounds: OptionalBounds,
        rounds: usize,
    ) -> PyResult<Option<PyMaximum>> {
        let start = read_law(family, params, bounds)?;
        let names = params.keys().extract()?;
        let found = py.detach(|| self.0.maximise(start, rounds));
        Ok(found.map(|maximum| PyMaximum { maximum, names }))
    }

    /// Log-probabilities of the cells by the law fitted without each fold, a row for each.
    fn hold_out<'py>(
        &self,
        py: Python<'py>,
        maximum: &PyMaximum,
        folds: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (counts, cells) = (folds.as_slice()?, self.0.counts.len());
        if folds.shape()[1] != cells || maximum.maximum.log_probabilities.len() != cells {
            return Err(refuse("folds have other cells than the sample"));
        }
        let rows_of = |fold| self.0.hold_out(&maximum.maximum, fold);
        let held = py.detach(|| counts.chunks_exact(cells).flat_map(rows_of).collect());
        rows(py, held, cells)
    }
}

/// Where the likelihood of a family is largest.
#[pyclass(frozen, name = "Maximum")]
pub struct PyMaximum {
    maximum: Maximum,
    names: Vec<String>,
}

#[pymethods]
impl PyMaximum {
    /// Its parameters, under the names of the start.
    fn params<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        name_params(py, &self.maximum.law, &self.names)
    }

    /// Logarithms of the probabilities of the cells.
    fn log_probabilities<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.maximum.log_probabilities)
    }
}

fn read_law(family: &str, params: &Bound<'_, PyDict>, bounds: OptionalBounds) -> PyResult<Law> {
    let bounds: Bounds = (bounds.0.unwrap_or(f64::NEG_INFINITY), bounds.1.unwrap_or(f64::INFINITY));
    let mut pairs = Vec::with_capacity(params.len());
    for (name, value) in params {
        pairs.push((name.extract()?, value.extract()?));
    }
    Law::new(family, &pairs, bounds).map_err(refuse)
}

fn name_params<'py>(py: Python<'py>, law: &Law, names: &[String]) -> PyResult<Bound<'py, PyDict>> {
    let params = PyDict::new(py);
    for name in names {
        params.set_item(name, law.param(name))?;
    }
    Ok(params)
}

fn read_edges((points, weights, starts): &EdgeArrays<'_>) -> PyResult<Edges> {
    let edges = Edges {
        points: points.as_slice()?.to_vec(),
        weights: weights.as_slice()?.to_vec(),
        starts: read_places(starts)?,
    };
    let ascend = edges.starts.windows(2).all(|pair| pair[0] < pair[1]);
    let inside = edges.starts.last().is_none_or(|last| *last < edges.points.len());
    if !ascend || !inside || edges.points.len() != edges.weights.len() {
        return Err(PyValueError::new_err("edges need ascending starts, points and weights"));
    }
    Ok(edges)
}

fn read_places(places: &Places<'_>) -> PyResult<Vec<usize>> {
    let convert = |place: &i64| usize::try_from(*place).map_err(refuse);
    places.as_slice()?.iter().map(convert).collect()
}

fn rows(py: Python<'_>, numbers: Vec<f64>, width: usize) -> PyResult<Bound<'_, PyArray2<f64>>> {
    let shape = (numbers.len() / width, width);
    Ok(Array2::from_shape_vec(shape, numbers).map_err(refuse)?.into_pyarray(py))
}

fn refuse(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}
