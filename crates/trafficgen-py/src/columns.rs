//! Columns of the packet table and counts of flows as numpy arrays.

use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use trafficgen_core::flow::{Columns, FlowCounts, RtpSummary, CLOCK_CANDIDATES_HZ};

/// A dictionary of arrays, one a column; `*_bits` are packed as Arrow packs booleans and validity.
pub fn columns_to_python<'py>(py: Python<'py>, columns: Columns) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    macro_rules! set {
        ($($key:literal => $field:ident),+ $(,)?) => {
            $(result.set_item($key, columns.$field.into_pyarray(py))?;)+
        };
    }
    set! {
        "time_ns" => time_ns,
        "flow" => flow,
        "to_client_bits" => to_client,
        "frame_bytes" => frame_bytes,
        "ip_bytes" => ip_bytes,
        "payload_bytes" => payload_bytes,
        "rtp_known_bits" => rtp_known,
        "tcp_known_bits" => tcp_known,
        "ssrc_or_sequence" => ssrc_or_sequence,
        "timestamp_or_acknowledgement" => timestamp_or_acknowledgement,
        "rtp_sequence" => rtp_sequence,
        "rtp_marker_bits" => rtp_marker,
        "tcp_flags" => tcp_flags,
        "tcp_window" => tcp_window,
    }
    Ok(result)
}

/// Counts of all flows: a dictionary of lists, one entry a flow; pairs are (from the initiator, to it).
pub fn counts_to_python<'py>(py: Python<'py>, flows: &[FlowCounts]) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    let pairs = |of: fn(&FlowCounts) -> [u64; 2]| PyList::new(py, flows.iter().map(of));
    result.set_item("first_ns", PyList::new(py, flows.iter().map(|flow| flow.first_ns))?)?;
    result.set_item("last_ns", PyList::new(py, flows.iter().map(|flow| flow.last_ns))?)?;
    result.set_item("packets", pairs(|flow| flow.packets)?)?;
    result.set_item("frame_bytes", pairs(|flow| flow.frame_bytes)?)?;
    result.set_item("payload_bytes", pairs(|flow| flow.payload_bytes)?)?;
    result.set_item("is_rtcp", PyList::new(py, flows.iter().map(FlowCounts::is_rtcp))?)?;
    let streams = PyList::empty(py);
    for flow in flows {
        let summaries = flow.rtp_streams().into_iter().map(|stream| summary_to_python(py, &stream.summary()));
        streams.append(PyList::new(py, summaries.collect::<PyResult<Vec<_>>>()?)?)?;
    }
    result.set_item("rtp_streams", streams)?;
    Ok(result)
}

/// One RTP stream as a dictionary.
pub fn summary_to_python<'py>(py: Python<'py>, stream: &RtpSummary) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    result.set_item("ssrc", stream.ssrc)?;
    result.set_item("payload_type", stream.payload_type)?;
    result.set_item("from_initiator", stream.direction == 0)?;
    result.set_item("packets", stream.packets)?;
    result.set_item("expected", stream.expected)?;
    result.set_item("lost", stream.lost)?;
    result.set_item("reordered", stream.reordered)?;
    result.set_item("duplicates", stream.duplicates)?;
    result.set_item("measured_clock_hz", stream.measured_clock_hz)?;
    let jitter = CLOCK_CANDIDATES_HZ.iter().zip(stream.jitter_s).collect::<Vec<_>>();
    let by_clock = PyDict::new(py);
    for (clock_hz, jitter_s) in jitter {
        by_clock.set_item(clock_hz, jitter_s)?;
    }
    result.set_item("jitter_s", by_clock)?;
    Ok(result)
}
