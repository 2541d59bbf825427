//! Columns of the packet table and counts of flows as numpy arrays.

use numpy::{IntoPyArray, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use trafficgen_core::flow::{Columns, FlowCounts, RtcpReport, RtpSummary, CLOCK_CANDIDATES_HZ};

/// Refuse columns that are longer or shorter than the first.
pub fn check_lengths(first: usize, others: &[usize]) -> PyResult<()> {
    if others.iter().any(|&length| length != first) {
        return Err(PyValueError::new_err("all columns must be of the same length"));
    }
    Ok(())
}

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

/// Counts of all flows: a dictionary of arrays, one entry a flow; pairs (n, 2) are (from the
/// initiator, to it). RTP streams stand by themselves with the index of their flow: most flows have
/// none.
pub fn counts_to_python<'py>(
    py: Python<'py>,
    flows: &[FlowCounts],
) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    let times =
        |of: fn(&FlowCounts) -> i64| flows.iter().map(of).collect::<Vec<i64>>().into_pyarray(py);
    result.set_item("first_ns", times(|flow| flow.first_ns))?;
    result.set_item("last_ns", times(|flow| flow.last_ns))?;
    result.set_item("packets", pairs(py, flows, |flow| flow.packets)?)?;
    result.set_item("frame_bytes", pairs(py, flows, |flow| flow.frame_bytes)?)?;
    result.set_item("payload_bytes", pairs(py, flows, |flow| flow.payload_bytes)?)?;
    result.set_item(
        "is_rtcp",
        flows.iter().map(FlowCounts::is_rtcp).collect::<Vec<bool>>().into_pyarray(py),
    )?;
    result.set_item("rtp_streams", streams_to_python(py, flows)?)?;
    result.set_item("rates", rates_to_python(py, flows)?)?;
    Ok(result)
}

/// RTP streams of flows: a dictionary of arrays, one entry a stream; an unknown clock is 0, jitter
/// has shape (n, clocks).
fn streams_to_python<'py>(py: Python<'py>, flows: &[FlowCounts]) -> PyResult<Bound<'py, PyDict>> {
    let of_flow = |(index, flow): (usize, &FlowCounts)| {
        flow.rtp_streams().into_iter().map(|stream| (index, stream.summary())).collect::<Vec<_>>()
    };
    let streams: Vec<(usize, RtpSummary)> = flows.iter().enumerate().flat_map(of_flow).collect();
    let result = PyDict::new(py);
    macro_rules! set {
        ($($key:literal => $of:expr),+ $(,)?) => {
            $(
                let values = streams.iter().map($of).collect::<Vec<_>>();
                result.set_item($key, values.into_pyarray(py))?;
            )+
        };
    }
    set! {
        "flow" => |(index, _)| *index as u32,
        "ssrc" => |(_, stream)| stream.ssrc,
        "payload_type" => |(_, stream)| stream.payload_type,
        "from_initiator" => |(_, stream)| stream.direction == 0,
        "packets" => |(_, stream)| stream.packets,
        "payload_bytes" => |(_, stream)| stream.payload_bytes,
        "same_timestamp" => |(_, stream)| stream.same_timestamp,
        "span_ns" => |(_, stream)| stream.span_ns,
        "expected" => |(_, stream)| stream.expected,
        "lost" => |(_, stream)| stream.lost,
        "reordered" => |(_, stream)| stream.reordered,
        "duplicates" => |(_, stream)| stream.duplicates,
        "measured_clock_hz" => |(_, stream)| stream.measured_clock_hz.unwrap_or(0),
    }
    let jitter: Vec<f64> = streams.iter().flat_map(|(_, stream)| stream.jitter_s).collect();
    result.set_item(
        "jitter_s",
        jitter.into_pyarray(py).reshape([streams.len(), CLOCK_CANDIDATES_HZ.len()])?,
    )?;
    Ok(result)
}

/// Frame bytes over time of the flows that have them: (index of the flow, start in ns, bin in ns,
/// bytes of shape (2, n)).
fn rates_to_python<'py>(py: Python<'py>, flows: &[FlowCounts]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for (index, flow) in flows.iter().enumerate() {
        if let Some(rates) = &flow.rates {
            let [forward, backward] = rates.up_to(flow.last_ns);
            let bytes =
                [forward, backward].concat().into_pyarray(py).reshape([2, forward.len()])?;
            list.append((index, rates.start_ns, rates.bin_ns(), bytes))?;
        }
    }
    Ok(list)
}

fn pairs<'py>(
    py: Python<'py>,
    flows: &[FlowCounts],
    of: fn(&FlowCounts) -> [u64; 2],
) -> PyResult<Bound<'py, PyArray2<u64>>> {
    let numbers: Vec<u64> = flows.iter().flat_map(of).collect();
    numbers.into_pyarray(py).reshape([flows.len(), 2])
}

/// Texts as Arrow has them: the bytes of all, and where each begins (and the last one ends).
pub fn texts_to_python<'py>(
    py: Python<'py>,
    texts: impl Iterator<Item = String>,
) -> PyResult<Bound<'py, PyTuple>> {
    let (mut offsets, mut bytes) = (vec![0_i64], Vec::new());
    for text in texts {
        bytes.extend_from_slice(text.as_bytes());
        offsets.push(bytes.len() as i64);
    }
    (offsets.into_pyarray(py), bytes.into_pyarray(py)).into_pyobject(py)
}

/// One RTP stream as a dictionary.
pub fn summary_to_python<'py>(
    py: Python<'py>,
    stream: &RtpSummary,
) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    result.set_item("ssrc", stream.ssrc)?;
    result.set_item("payload_type", stream.payload_type)?;
    result.set_item("from_initiator", stream.direction == 0)?;
    result.set_item("packets", stream.packets)?;
    result.set_item("payload_bytes", stream.payload_bytes)?;
    result.set_item("same_timestamp", stream.same_timestamp)?;
    result.set_item("span_ns", stream.span_ns)?;
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

/// RTCP reports with the numbers of their flows: a dictionary of arrays, one entry a report; what a
/// report does not hold is 0.
pub fn reports_to_python<'py>(
    py: Python<'py>,
    reports: &[(u32, RtcpReport)],
) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    macro_rules! set {
        ($($key:literal => $of:expr),+ $(,)?) => {
            $(
                let values = reports.iter().map($of).collect::<Vec<_>>();
                result.set_item($key, values.into_pyarray(py))?;
            )+
        };
    }
    set! {
        "time_ns" => |(_, report)| report.time_ns,
        "flow" => |(flow, _)| *flow,
        "from_initiator" => |(_, report)| report.forward,
        "reporter_ssrc" => |(_, report)| report.reporter,
        "has_sender_info" => |(_, report)| report.sender.is_some(),
        "ntp" => |(_, report)| report.sender.map_or(0, |sender| sender.ntp),
        "rtp_timestamp" => |(_, report)| report.sender.map_or(0, |sender| sender.rtp_timestamp),
        "sender_packets" => |(_, report)| report.sender.map_or(0, |sender| sender.packets),
        "sender_bytes" => |(_, report)| report.sender.map_or(0, |sender| sender.payload_bytes),
        "has_block" => |(_, report)| report.block.is_some(),
        "ssrc" => |(_, report)| report.block.map_or(0, |block| block.ssrc),
        "fraction_lost" => |(_, report)| report.block.map_or(0, |block| block.fraction_lost),
        "cumulative_lost" => |(_, report)| report.block.map_or(0, |block| block.cumulative_lost),
        "highest_sequence" => |(_, report)| report.block.map_or(0, |block| block.highest_sequence),
        "jitter" => |(_, report)| report.block.map_or(0, |block| block.jitter),
        "last_sender_report" =>
            |(_, report)| report.block.map_or(0, |block| block.last_sender_report),
        "delay_since_last" => |(_, report)| report.block.map_or(0, |block| block.delay_since_last),
    }
    Ok(result)
}
