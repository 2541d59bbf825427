//! `CaptureReader`: capture files into flows and, where wanted, packets.

use std::path::PathBuf;

use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use trafficgen_core::capture::{CaptureError, ExpandedFile, MergedReader};
use trafficgen_core::flow::{
    initiators_are_clients, Application, FlowCounts, FlowPlan, Ingest, IngestOptions,
};

use crate::columns::{
    columns_to_python, counts_to_python, reports_to_python, summary_to_python, texts_to_python,
};
use crate::exchanges::exchanges_to_python;

/// What was decided about the flows of a capture: their numbers, who is the client, what is RTP.
#[pyclass(module = "trafficgen._core._rust", name = "FlowPlan", frozen)]
pub struct PyFlowPlan {
    plan: FlowPlan,
}

#[pyclass(module = "trafficgen._core._rust")]
pub struct CaptureReader {
    ingest: Ingest,
}

fn capture_error(py: Python<'_>, file: &str, error: &CaptureError) -> PyErr {
    let remedy = match error {
        CaptureError::Open(_) | CaptureError::Read(_) => "check the name and the permissions",
        CaptureError::Expands(_) => {
            "if you trust it, unpack it and give the unpacked file, or pipe that into `-`"
        }
        CaptureError::Empty | CaptureError::CutInHeader { .. } | CaptureError::CutInText { .. } => {
            "record or copy it again"
        }
        CaptureError::UnknownFormat(_) | CaptureError::BadHeader(_) => {
            "give a pcap or pcapng file, plain or compressed (gz, zst, xz), \
             or a packet table (.parquet)"
        }
    };
    let build = || -> PyResult<Bound<'_, PyAny>> {
        let arguments = PyDict::new(py);
        arguments.set_item("file", file)?;
        arguments.set_item("problem", error.to_string())?;
        arguments.set_item("remedy", remedy)?;
        py.import("trafficgen.errors")?.getattr("CaptureError")?.call((), Some(&arguments))
    };
    match build() {
        Ok(value) => PyErr::from_value(value),
        Err(failure) => failure,
    }
}

/// What a file expands to, in pieces, with the errors of captures.
#[pyclass(module = "trafficgen._core._rust", name = "ExpandedFile")]
pub struct PyExpandedFile {
    file: ExpandedFile,
    name: String,
}

#[pymethods]
impl PyExpandedFile {
    #[new]
    #[pyo3(signature = (path, *, beginning = None))]
    fn new(py: Python<'_>, path: PathBuf, beginning: Option<Vec<u8>>) -> PyResult<Self> {
        let name = path.display().to_string();
        match ExpandedFile::open(&path, beginning) {
            Ok(file) => Ok(Self { file, name }),
            Err(error) => Err(capture_error(py, &name, &error)),
        }
    }

    /// The next bytes, `most` of them except at the end.
    fn read<'py>(&mut self, py: Python<'py>, most: usize) -> PyResult<Bound<'py, PyBytes>> {
        match py.detach(|| self.file.read(most)) {
            Ok(bytes) => Ok(PyBytes::new(py, &bytes)),
            Err(error) => Err(capture_error(py, &self.name, &error)),
        }
    }
}

#[pymethods]
impl CaptureReader {
    #[new]
    #[pyo3(signature = (
        paths, *, decapsulate = false, idle_timeout_ns = None, keep_packets = true,
        keep_flows = None, most_flows = None, exchanges = false
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        paths: Vec<PathBuf>,
        decapsulate: bool,
        idle_timeout_ns: Option<i64>,
        keep_packets: bool,
        keep_flows: Option<Vec<bool>>,
        most_flows: Option<u32>,
        exchanges: bool,
    ) -> PyResult<Self> {
        if paths.is_empty() {
            return Err(PyValueError::new_err("at least one capture file is needed"));
        }
        let opened = py.detach(|| MergedReader::open(&paths));
        let reader = opened.map_err(|(index, error)| {
            capture_error(py, &paths[index].display().to_string(), &error)
        })?;
        let most_flows = most_flows.unwrap_or(u32::MAX);
        let options = IngestOptions {
            decapsulate,
            idle_timeout_ns,
            keep_packets,
            keep_flows,
            most_flows,
            exchanges,
        };
        Ok(Self { ingest: Ingest::new(reader, options) })
    }

    /// Reads up to `packets` packets; false when all is read.
    fn read(&mut self, py: Python<'_>, packets: u64) -> PyResult<bool> {
        let goes_on = py.detach(|| self.ingest.read(packets));
        match self.ingest.refusal() {
            Some((name, error)) => Err(capture_error(py, name, &error)),
            None => Ok(goes_on),
        }
    }

    /// Bytes on disk read so far, and in all.
    fn progress(&self) -> (u64, Option<u64>) {
        self.ingest.progress()
    }

    /// Counts over all files.
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = self.ingest.counts();
        let result = PyDict::new(py);
        macro_rules! set {
            ($($field:ident),+ $(,)?) => {
                $(result.set_item(stringify!($field), counts.$field)?;)+
            };
        }
        set!(
            packets,
            ip_packets,
            frame_bytes,
            first_ns,
            last_ns,
            cut_by_snaplen,
            longest_captured_bytes,
            undecodable,
            unknown_link_type,
            example_link_type,
            above_mtu,
            longest_ip_bytes,
            steps_back,
            largest_step_back_ns,
            jumps,
            largest_jump_ns,
            largest_jump_packet,
            timeless,
            beyond_most_flows,
        );
        Ok(result)
    }

    /// One line a damaged file.
    fn damages(&self) -> Vec<String> {
        self.ingest.damages()
    }

    /// Counts of the flows with their ends: a dictionary of arrays, one entry a flow; addresses as
    /// Arrow has texts.
    fn flows<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (all_keys, meter) = self.ingest.flows();
        let flows = meter.flows();
        let result = counts_to_python(py, flows)?;
        let keys = || flows.iter().map(|flow| &all_keys[flow.key as usize]);
        result.set_item(
            "initiator",
            texts_to_python(py, keys().map(|key| key.initiator.address.to_string()))?,
        )?;
        result.set_item(
            "responder",
            texts_to_python(py, keys().map(|key| key.responder.address.to_string()))?,
        )?;
        result.set_item(
            "initiator_port",
            keys().map(|key| key.initiator.port).collect::<Vec<u16>>().into_pyarray(py),
        )?;
        result.set_item(
            "responder_port",
            keys().map(|key| key.responder.port).collect::<Vec<u16>>().into_pyarray(py),
        )?;
        result.set_item(
            "protocol",
            keys().map(|key| key.protocol).collect::<Vec<u8>>().into_pyarray(py),
        )?;
        result.set_item(
            "initiator_is_client",
            initiators_are_clients(all_keys, flows).into_pyarray(py),
        )?;
        let flow_keys: Vec<u32> = flows.iter().map(|flow| flow.key).collect();
        let labels = || flow_keys.iter().map(|&key| self.ingest.label(key));
        let applications = labels().map(|(known, _)| known.map_or("", Application::name).into());
        result.set_item("application", texts_to_python(py, applications)?)?;
        result.set_item("name", texts_to_python(py, labels().map(|(_, name)| name.into()))?)?;
        Ok(result)
    }

    /// RTSP messages as (time_ns, flow, from_initiator, text), and interleaved RTP as (flow,
    /// channel, stream).
    fn signalling<'py>(
        &mut self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyList>, Bound<'py, PyList>)> {
        let (messages, channels) = self.ingest.signalling();
        let starts = self.ingest.flows().1.starts();
        let texts = PyList::empty(py);
        for message in messages {
            if let Some(flow) = starts.flow_at(message.key, message.time_ns) {
                texts.append((
                    message.time_ns,
                    flow,
                    message.forward,
                    PyBytes::new(py, &message.text),
                ))?;
            }
        }
        let streams = PyList::empty(py);
        for channel in channels {
            if let Some(flow) = starts.flow_at(channel.key, i64::MAX) {
                let summary = summary_to_python(py, &channel.rtp)?;
                summary.set_item("from_initiator", channel.forward)?;
                streams.append((flow, channel.channel, summary))?;
            }
        }
        Ok((texts, streams))
    }

    /// RTCP reports: a dictionary of arrays, one entry a report; call once, at the end.
    fn rtcp_reports<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let reports = self.ingest.rtcp_reports();
        let starts = self.ingest.flows().1.starts();
        let of_flows = reports
            .into_iter()
            .filter_map(|report| Some((starts.flow_at(report.key, report.time_ns)?, report)));
        reports_to_python(py, &of_flows.collect::<Vec<_>>())
    }

    /// The exchanges of the flows, see [`exchanges_to_python`]; None where they are not measured.
    fn exchanges<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let (keys, meter) = self.ingest.flows();
        let clients = initiators_are_clients(keys, meter.flows());
        let measured = self.ingest.exchanges();
        measured.map(|exchanges| exchanges_to_python(py, exchanges, &clients)).transpose()
    }

    /// What the packets of the flows are to be called, once all are read. `numbers`: each flow's
    /// number in the flow table.
    fn plan(&mut self, numbers: PyReadonlyArray1<'_, u32>) -> PyResult<PyFlowPlan> {
        let (keys, meter) = self.ingest.flows();
        let (count, number) = (meter.flows().len(), numbers.as_slice()?.to_vec());
        if number.len() != count {
            return Err(PyValueError::new_err(format!(
                "{} numbers for {count} flows",
                number.len()
            )));
        }
        let sources =
            |flow: &FlowCounts| flow.rtp_streams().into_iter().map(|stream| stream.ssrc).collect();
        let rtp_sources = meter.flows().iter().map(sources).collect();
        let initiator_is_client = initiators_are_clients(keys, meter.flows());
        Ok(PyFlowPlan { plan: FlowPlan { number, initiator_is_client, rtp_sources } })
    }

    /// The next chunk of kept packets, or None where none is there; an earlier reading's plan
    /// serves while this one goes on.
    fn take_columns<'py>(
        &mut self,
        py: Python<'py>,
        plan: &PyFlowPlan,
        origin_ns: i64,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let (count, planned) = (self.ingest.flows().1.flows().len(), plan.plan.number.len());
        if count > planned {
            return Err(PyValueError::new_err(format!("{count} flows, and a plan of {planned}")));
        }
        let columns = py.detach(|| self.ingest.take_columns(&plan.plan, origin_ns));
        columns.map(|columns| columns_to_python(py, columns)).transpose()
    }
}
