//! Python binding of trafficgen-core: contents page. Each module converts, releases the GIL and maps errors, nothing else.
use pyo3::prelude::*;

mod write;

#[pymodule]
fn _rust(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<write::PyCaptureWriter>()?;
    Ok(())
}
