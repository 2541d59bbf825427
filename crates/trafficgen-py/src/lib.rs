//! Python binding of trafficgen-core: contents page. Each module converts, releases the GIL and maps errors, nothing else.
use pyo3::prelude::*;

#[pymodule]
fn _rust(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    Ok(())
}
