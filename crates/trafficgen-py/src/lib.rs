//! Python binding of trafficgen-core: contents page. Each module converts, releases the GIL and
//! maps errors, nothing else.
use numpy::PyArrayMethods;
use pyo3::prelude::*;

mod columns;
mod exchanges;
mod generate;
mod laws;
mod meter;
mod play;
mod players;
mod reader;
mod simulate;
mod write;

#[pymodule]
fn _rust(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // What numpy's crate looks up when it is first used is looked up here, where Python holds
    // signals back: an interrupt in the middle of it would be a panic.
    let nothing = numpy::PyArray1::<u8>::zeros(module.py(), 0, false);
    drop(nothing.readonly());
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("CLOCK_CANDIDATES_HZ", trafficgen_core::flow::CLOCK_CANDIDATES_HZ.to_vec())?;
    module.add("LAW_FAMILIES", laws::law_families(module.py())?)?;
    module.add("LAW_MIXTURES", laws::law_mixtures(module.py())?)?;
    module.add_class::<reader::CaptureReader>()?;
    module.add_class::<reader::PyFlowPlan>()?;
    module.add_class::<reader::PyExpandedFile>()?;
    module.add_class::<meter::FlowMeter>()?;
    module.add_class::<meter::ExchangeMeter>()?;
    module.add_class::<write::PyCaptureWriter>()?;
    module.add_class::<generate::PyAliasTable>()?;
    module.add_function(wrap_pyfunction!(generate::clock_ticks, module)?)?;
    module.add_function(wrap_pyfunction!(generate::time_order, module)?)?;
    module.add_function(wrap_pyfunction!(generate::stream_key, module)?)?;
    module.add_function(wrap_pyfunction!(generate::spectral_ranks, module)?)?;
    module.add_function(wrap_pyfunction!(laws::add_family, module)?)?;
    module.add_function(wrap_pyfunction!(laws::chain_vectors, module)?)?;
    module.add_function(wrap_pyfunction!(laws::matrix_exponentials, module)?)?;
    module.add_function(wrap_pyfunction!(laws::sum_gaps, module)?)?;
    module.add_function(wrap_pyfunction!(laws::sample_distance, module)?)?;
    module.add_function(wrap_pyfunction!(laws::lag_one_mean, module)?)?;
    module.add_function(wrap_pyfunction!(laws::block_sum_variance, module)?)?;
    module.add_function(wrap_pyfunction!(laws::change_points, module)?)?;
    module.add_function(wrap_pyfunction!(laws::window_modes, module)?)?;
    module.add_function(wrap_pyfunction!(laws::mix_normals, module)?)?;
    module.add_function(wrap_pyfunction!(laws::move_law, module)?)?;
    module.add_class::<laws::PyGroupedSample>()?;
    module.add_class::<laws::PyMaximum>()?;
    module.add_class::<laws::PyLaw>()?;
    module.add_class::<play::QuantileTables>()?;
    module.add_class::<play::PyFrameCutter>()?;
    module.add_class::<play::SteppedLaw>()?;
    module.add_function(wrap_pyfunction!(play::correlated_order, module)?)?;
    module.add_function(wrap_pyfunction!(play::solve_toeplitz, module)?)?;
    module.add_function(wrap_pyfunction!(play::sort_values, module)?)?;
    module.add_function(wrap_pyfunction!(play::stable_order, module)?)?;
    module.add_function(wrap_pyfunction!(play::mean_ranks, module)?)?;
    module.add_function(wrap_pyfunction!(play::order_by_scores, module)?)?;
    module.add_function(wrap_pyfunction!(play::order_sizes_by_scores, module)?)?;
    module.add_function(wrap_pyfunction!(play::deal_spacings, module)?)?;
    module.add_function(wrap_pyfunction!(play::join_stretches, module)?)?;
    module.add_function(wrap_pyfunction!(play::follow_bursts, module)?)?;
    module.add_function(wrap_pyfunction!(play::rank_scores, module)?)?;
    module.add_function(wrap_pyfunction!(play::share_packets, module)?)?;
    module.add_function(wrap_pyfunction!(play::values_by_rank, module)?)?;
    module.add_function(wrap_pyfunction!(play::frame_times, module)?)?;
    module.add_function(wrap_pyfunction!(play::place_in_bins, module)?)?;
    module.add_function(wrap_pyfunction!(players::replay_players, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::simulate, module)?)?;
    module.add_class::<simulate::SimulationOutcome>()?;
    Ok(())
}
