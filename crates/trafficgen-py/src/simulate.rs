//! `simulate`: a scenario as JSON to what happened.

use std::sync::Arc;

use numpy::{Element, IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use trafficgen_core::des::record::{Row, LOST};
use trafficgen_core::des::sums::{FlowSums, Sums};
use trafficgen_core::des::{
    seconds, simulate_while as run, Outcome, Phase, Protocol, Scenario, SessionEvent, Time,
};
use trafficgen_core::source::{Schedule, ScheduledPacket};

use crate::columns::check_lengths;

mod trafficgen_errors {
    pyo3::import_exception!(trafficgen.errors, SimulationError);
}
use trafficgen_errors::SimulationError;

/// Rows that the processor's cache holds while their columns are filled.
const ROWS_AT_ONCE: usize = 512;
/// Rows whose memory is given back at once, when their columns are filled.
const ROWS_GIVEN_BACK: usize = 1 << 16;

/// A schedule as Python has it: times in ns, payload in bytes, phases, RTP timestamps, ends of
/// frames; equal shapes (n,).
type ScheduleArrays<'py> = (
    PyReadonlyArray1<'py, i64>,
    PyReadonlyArray1<'py, u32>,
    PyReadonlyArray1<'py, u8>,
    PyReadonlyArray1<'py, u32>,
    PyReadonlyArray1<'py, bool>,
);

fn schedule_of(arrays: &ScheduleArrays<'_>) -> PyResult<Arc<Schedule>> {
    let (times, payload) = (arrays.0.as_slice()?, arrays.1.as_slice()?);
    let (phases, timestamps, ends) =
        (arrays.2.as_slice()?, arrays.3.as_slice()?, arrays.4.as_slice()?);
    check_lengths(times.len(), &[payload.len(), phases.len(), timestamps.len(), ends.len()])?;
    let packets = times.iter().enumerate().map(|(place, time)| {
        let phase = Phase::ALL.get(usize::from(phases[place])).copied();
        Ok(ScheduledPacket {
            time: *time,
            payload_bytes: payload[place],
            phase: phase.ok_or_else(|| {
                PyValueError::new_err(format!("there is no phase {}", phases[place]))
            })?,
            rtp_timestamp: timestamps[place],
            ends_frame: ends[place],
        })
    });
    Ok(Arc::new(Schedule { packets: packets.collect::<PyResult<_>>()? }))
}

/// Run a scenario, with what streams of fitted models want to send; errors name the link or agent.
/// `progress` is called now and then with the simulated time, s.
#[pyfunction]
#[pyo3(signature = (scenario, schedules=Vec::new(), progress=None))]
pub fn simulate(
    py: Python<'_>,
    scenario: &str,
    schedules: Vec<ScheduleArrays<'_>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<SimulationOutcome> {
    let schedules = schedules.iter().map(schedule_of).collect::<PyResult<Vec<_>>>()?;
    let mut signal = None;
    let outcome = py
        .detach(|| {
            let scenario = Scenario::from_json(scenario)?;
            run(&Scenario { schedules, ..scenario }, &mut |at| {
                goes_on(at, progress.as_ref(), &mut signal)
            })
        })
        .map_err(|error| SimulationError::new_err(error.to_string()))?;
    signal.map_or(Ok(SimulationOutcome { outcome }), Err)
}

/// Tells how far it is, and whether no signal has come that ends the program, such as an interrupt;
/// keeps the exception of one that has.
fn goes_on(at: Time, progress: Option<&Py<PyAny>>, signal: &mut Option<PyErr>) -> bool {
    let told = Python::attach(|py| {
        py.check_signals()?;
        progress.map_or(Ok(()), |progress| progress.call1(py, (seconds(at),)).map(|_| ()))
    });
    *signal = told.err();
    signal.is_none()
}

/// What a simulation brought; times in ns from the scenario's zero.
#[pyclass(module = "trafficgen._core._rust")]
pub struct SimulationOutcome {
    outcome: Outcome,
}

fn event_to_python<'py>(py: Python<'py>, event: &SessionEvent) -> PyResult<Bound<'py, PyAny>> {
    let plain =
        |kind: &str| (kind, None::<f64>, None::<i16>).into_pyobject(py).map(Bound::into_any);
    match event {
        SessionEvent::Request => plain("request"),
        SessionEvent::Play => plain("play"),
        SessionEvent::PlaybackStart => plain("playback_start"),
        SessionEvent::BufferFull => plain("buffer_full"),
        SessionEvent::StallStart => plain("stall_start"),
        SessionEvent::StallEnd => plain("stall_end"),
        SessionEvent::Thinned => plain("thinned"),
        SessionEvent::AudioOnly => plain("audio_only"),
        SessionEvent::End => plain("end"),
        SessionEvent::Phase(phase) => {
            Ok(("phase", None::<f64>, *phase as i16).into_pyobject(py)?.into_any())
        }
        SessionEvent::Encoding { bps, level } => {
            Ok(("encoding", *bps, *level).into_pyobject(py)?.into_any())
        }
        SessionEvent::Fact { name, value } => {
            Ok((*name, *value, None::<i16>).into_pyobject(py)?.into_any())
        }
    }
}

#[pymethods]
impl SimulationOutcome {
    /// When the first media packet was sent.
    #[getter]
    fn first_media_ns(&self) -> Option<i64> {
        self.outcome.first_media
    }

    #[getter]
    fn end_ns(&self) -> i64 {
        self.outcome.end
    }

    /// Arrivals at and departures from sources, queues and endpoints.
    #[getter]
    fn packet_events(&self) -> u64 {
        self.outcome.packet_events
    }

    /// Packets whose fate is not known.
    #[getter]
    fn under_way(&self) -> usize {
        self.outcome.under_way
    }

    /// Flows: a dictionary each.
    fn flows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for (flow, tcp) in self.outcome.flows.iter().zip(&self.outcome.tcp) {
            let entry = PyDict::new(py);
            entry.set_item("agent", flow.agent)?;
            entry.set_item("name", &flow.spec.name)?;
            entry.set_item("media", flow.spec.media as u8)?;
            entry.set_item("tcp", flow.protocol == Protocol::Tcp)?;
            entry.set_item("quic", flow.protocol == Protocol::Quic)?;
            entry.set_item("server_port", flow.spec.server_port)?;
            entry.set_item("client_port", flow.spec.client_port)?;
            entry.set_item("ssrc", flow.spec.rtp.map(|rtp| rtp.ssrc))?;
            entry.set_item("payload_type", flow.spec.rtp.map(|rtp| rtp.payload_type))?;
            entry.set_item("clock_hz", flow.spec.rtp.map(|rtp| rtp.clock_hz))?;
            entry.set_item("retransmissions", tcp.as_ref().map(|tcp| tcp.retransmissions))?;
            entry.set_item("timeouts", tcp.as_ref().map(|tcp| tcp.timeouts))?;
            list.append(entry)?;
        }
        Ok(list)
    }

    /// Agents: name, whether it finished, log as (time_ns, kind, value, level), samples of shape
    /// (n, 3), frames.
    fn agents<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for agent in &self.outcome.agents {
            let entry = PyDict::new(py);
            entry.set_item("name", &agent.name)?;
            entry.set_item("finished", agent.finished)?;
            let events = PyList::empty(py);
            for (time, event) in &agent.log.events {
                events.append((*time, event_to_python(py, event)?))?;
            }
            entry.set_item("events", events)?;
            entry.set_item("samples", samples(py, agent)?)?;
            entry.set_item("frames_sent", agent.log.frames_sent)?;
            entry.set_item("frames_dropped_at_sender", agent.log.frames_dropped_at_sender)?;
            list.append(entry)?;
        }
        Ok(list)
    }

    /// Counters of the links, in the scenario's order.
    fn links<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for link in &self.outcome.links {
            let entry = PyDict::new(py);
            entry.set_item("packets_in", link.packets_in)?;
            entry.set_item("bytes_in", link.bytes_in)?;
            entry.set_item("packets_out", link.packets_out)?;
            entry.set_item("bytes_out", link.bytes_out)?;
            entry.set_item("dropped_random", link.dropped_random)?;
            entry.set_item("dropped_queue", link.dropped_queue)?;
            entry.set_item("largest_queue_packets", link.largest_queue_packets)?;
            entry.set_item("largest_queue_bytes", link.largest_queue_bytes)?;
            entry.set_item("queueing_s", link.queueing_s)?;
            let passed = (link.packets_out > 0).then_some(link.packets_out as f64);
            entry.set_item("mean_queueing_ms", passed.map(|n| link.queueing_s * 1e3 / n))?;
            let p95_s = link.waits.quantile_s(0.95);
            entry.set_item("p95_queueing_ms", p95_s.map(|wait_s| wait_s * 1e3))?;
            entry.set_item("marked", link.marked)?;
            list.append(entry)?;
        }
        Ok(list)
    }

    /// Sums over the packets of each flow: a dictionary of arrays, each of shape (flows, 2), to the
    /// client and to the server.
    fn sums<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let sums = match &self.outcome.sums {
            Some(kept) => kept.clone(),
            None => FlowSums::from_rows(&self.outcome.rows),
        };
        let of_flows: Vec<Sums> =
            (0..self.outcome.flows.len()).flat_map(|flow| sums.get(flow as u32)).collect();
        let result = PyDict::new(py);
        macro_rules! set {
            ($($key:literal => $of:expr),+ $(,)?) => {
                $(result.set_item($key, pairs(py, &of_flows, $of)?)?;)+
            };
        }
        set! {
            "sent_packets" => |one: &Sums| one.sent_packets,
            "sent_bytes" => |one: &Sums| one.sent_bytes,
            "arrived_packets" => |one: &Sums| one.arrived_packets,
            "arrived_bytes" => |one: &Sums| one.arrived_bytes,
            "dropped_packets" => |one: &Sums| one.dropped_packets,
            "retransmissions" => |one: &Sums| one.retransmissions,
            "delay_s" => |one: &Sums| one.delay_s,
            "last_arrival_ns" => |one: &Sums| one.last_arrival_ns,
        }
        Ok(result)
    }

    /// IP bytes that arrived in each interval, an array a series.
    fn series<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyArray1<u64>>> {
        self.outcome.series.bytes.iter().map(|one| one.clone().into_pyarray(py)).collect()
    }

    /// All packets in the order of their sending: a dictionary of arrays, each of shape (packets,).
    /// They are handed over: rows give their memory to the columns, and there are none afterwards.
    fn take_columns<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut rows = std::mem::take(&mut self.outcome.rows);
        let (packets, result) = (rows.len(), PyDict::new(py));
        macro_rules! set {
            ($($key:ident => $of:expr),+ $(,)?) => {
                // Memory of zeros is taken as it is filled.
                $(let mut $key = vec![Default::default(); packets];)+
                while !rows.is_empty() {
                    let first = (rows.len() - 1) / ROWS_AT_ONCE * ROWS_AT_ONCE;
                    let block = &rows[first..];
                    $(for (cell, value) in $key[first..].iter_mut().zip(block.iter().map($of)) {
                        *cell = value;
                    })+
                    rows.truncate(first);
                    if first % ROWS_GIVEN_BACK == 0 {
                        rows.shrink_to_fit();
                    }
                }
                $(result.set_item(stringify!($key), $key.into_pyarray(py))?;)+
            };
        }
        set! {
            time_ns => |row: &Row| row.time_ns,
            arrival_ns => |row: &Row| row.arrival_ns,
            arrived => |row: &Row| row.arrival_ns != LOST,
            queueing_ns => |row: &Row| row.queueing_ns,
            flow => |row: &Row| row.flow,
            to_client => |row: &Row| row.to_client,
            ip_bytes => |row: &Row| row.ip_bytes,
            payload_bytes => |row: &Row| row.payload_bytes,
            phase => |row: &Row| row.phase as u8,
            scale_level => |row: &Row| row.level,
            retransmission => |row: &Row| row.retransmission,
            rtp_known => |row: &Row| row.rtp.is_some(),
            rtp_sequence => |row: &Row| row.rtp.map_or(0, |rtp| rtp.sequence),
            rtp_timestamp => |row: &Row| row.rtp.map_or(0, |rtp| rtp.timestamp),
            rtp_marker => |row: &Row| row.rtp.is_some_and(|rtp| rtp.marker),
            tcp_known => |row: &Row| row.tcp.is_some(),
            tcp_sequence => |row: &Row| row.tcp.map_or(0, |tcp| tcp.sequence),
            tcp_acknowledgement => |row: &Row| row.tcp.map_or(0, |tcp| tcp.acknowledgement),
            tcp_flags => |row: &Row| row.tcp.map_or(0, |tcp| tcp.flags),
            tcp_window => |row: &Row| row.tcp.map_or(0, |tcp| tcp.window_bytes),
            drop => |row: &Row| row.drop.map_or(0, |reason| reason as u8),
            drop_link => |row: &Row| row.link,
        }
        Ok(result)
    }
}

/// A quantity of sums that come in pairs, shape (n / 2, 2).
fn pairs<'py, V: Element>(
    py: Python<'py>,
    sums: &[Sums],
    of: impl Fn(&Sums) -> V,
) -> PyResult<Bound<'py, PyArray2<V>>> {
    let values = sums.iter().map(of).collect::<Vec<V>>();
    values.into_pyarray(py).reshape([sums.len() / 2, 2])
}

fn samples<'py>(
    py: Python<'py>,
    agent: &trafficgen_core::des::simulation::AgentOutcome,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let values =
        agent.samples.iter().flat_map(|one| [one.encoding_bps, one.frames_per_s, one.buffer_s]);
    values.collect::<Vec<f64>>().into_pyarray(py).reshape([agent.samples.len(), 3])
}
