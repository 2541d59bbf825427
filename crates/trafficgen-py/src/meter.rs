//! `FlowMeter` and `ExchangeMeter`: measure packet tables as captures are measured.

use numpy::{PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use trafficgen_core::flow::{ExchangeMeter as CoreExchanges, FlowMeter as CoreMeter, PacketRow};

use crate::columns::{check_lengths, counts_to_python};
use crate::exchanges::exchanges_to_python;

#[pyclass(module = "trafficgen._core._rust")]
pub struct FlowMeter {
    meter: CoreMeter,
}

#[pymethods]
impl FlowMeter {
    #[new]
    #[pyo3(signature = (*, idle_timeout_ns = None))]
    fn new(idle_timeout_ns: Option<i64>) -> Self {
        Self { meter: CoreMeter::new(idle_timeout_ns) }
    }

    /// Counts packets in order of time; returns the number of the flow that each belongs to. The
    /// client is the initiator.
    #[allow(clippy::too_many_arguments)]
    fn update(
        &mut self,
        py: Python<'_>,
        time_ns: PyReadonlyArray1<'_, i64>,
        flow: PyReadonlyArray1<'_, u32>,
        to_client: PyReadonlyArray1<'_, bool>,
        frame_bytes: PyReadonlyArray1<'_, i64>,
        payload_bytes: PyReadonlyArray1<'_, i64>,
        rtp_known: PyReadonlyArray1<'_, bool>,
        rtp_ssrc: PyReadonlyArray1<'_, u32>,
        rtp_sequence: PyReadonlyArray1<'_, u16>,
        rtp_timestamp: PyReadonlyArray1<'_, u32>,
    ) -> PyResult<Vec<u32>> {
        let count = time_ns.len();
        let lengths = [
            flow.len(),
            to_client.len(),
            frame_bytes.len(),
            payload_bytes.len(),
            rtp_known.len(),
            rtp_ssrc.len(),
            rtp_sequence.len(),
            rtp_timestamp.len(),
        ];
        check_lengths(count, &lengths)?;
        let (time_ns, flow, to_client) =
            (time_ns.as_slice()?, flow.as_slice()?, to_client.as_slice()?);
        let (frame_bytes, payload_bytes) = (frame_bytes.as_slice()?, payload_bytes.as_slice()?);
        let (rtp_known, rtp_ssrc) = (rtp_known.as_slice()?, rtp_ssrc.as_slice()?);
        let (rtp_sequence, rtp_timestamp) = (rtp_sequence.as_slice()?, rtp_timestamp.as_slice()?);
        let row = |index: usize| PacketRow {
            time_ns: time_ns[index],
            flow: flow[index],
            frame_bytes: frame_bytes[index] as u32,
            payload_bytes: payload_bytes[index] as u32,
            ssrc_or_sequence: rtp_ssrc[index],
            timestamp_or_acknowledgement: rtp_timestamp[index],
            sequence_or_window: u32::from(rtp_sequence[index]),
            marks: if to_client[index] { 0 } else { PacketRow::FORWARD }
                | if rtp_known[index] { PacketRow::RTP } else { 0 },
            ..PacketRow::default()
        };
        py.detach(|| {
            let mut rows: Vec<PacketRow> = (0..count).map(row).collect();
            self.meter.update(&mut rows);
            Ok(rows.iter().map(|row| row.flow).collect())
        })
    }

    /// Counts of all flows: a dictionary of lists, one entry a flow, in the order in which the
    /// flows began.
    fn flows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        counts_to_python(py, self.meter.flows())
    }
}

#[pyclass(module = "trafficgen._core._rust")]
pub struct ExchangeMeter {
    meter: CoreExchanges,
    flows: usize,
}

#[pymethods]
impl ExchangeMeter {
    #[new]
    fn new() -> Self {
        Self { meter: CoreExchanges::default(), flows: 0 }
    }

    /// Takes packets in order of time. `is_udp`: of UDP that is not RTP.
    #[allow(clippy::too_many_arguments)]
    fn update(
        &mut self,
        py: Python<'_>,
        time_ns: PyReadonlyArray1<'_, i64>,
        flow: PyReadonlyArray1<'_, u32>,
        to_client: PyReadonlyArray1<'_, bool>,
        payload_bytes: PyReadonlyArray1<'_, i64>,
        is_udp: PyReadonlyArray1<'_, bool>,
        is_tcp: PyReadonlyArray1<'_, bool>,
        tcp_sequence: PyReadonlyArray1<'_, u32>,
        tcp_acknowledgement: PyReadonlyArray1<'_, u32>,
        tcp_flags: PyReadonlyArray1<'_, u8>,
    ) -> PyResult<()> {
        let count = time_ns.len();
        let lengths = [
            flow.len(),
            to_client.len(),
            payload_bytes.len(),
            is_udp.len(),
            is_tcp.len(),
            tcp_sequence.len(),
            tcp_acknowledgement.len(),
            tcp_flags.len(),
        ];
        check_lengths(count, &lengths)?;
        let (time_ns, flow, to_client) =
            (time_ns.as_slice()?, flow.as_slice()?, to_client.as_slice()?);
        let (payload_bytes, is_udp, is_tcp) =
            (payload_bytes.as_slice()?, is_udp.as_slice()?, is_tcp.as_slice()?);
        let (sequence, acknowledgement) =
            (tcp_sequence.as_slice()?, tcp_acknowledgement.as_slice()?);
        let flags = tcp_flags.as_slice()?;
        let mark = |is: bool, mark: u8| if is { mark } else { 0 };
        let row = |index: usize| PacketRow {
            time_ns: time_ns[index],
            flow: flow[index],
            payload_bytes: payload_bytes[index] as u32,
            ssrc_or_sequence: sequence[index],
            timestamp_or_acknowledgement: acknowledgement[index],
            payload_type_or_flags: flags[index],
            marks: mark(!to_client[index], PacketRow::FORWARD)
                | mark(is_udp[index], PacketRow::DATAGRAM)
                | mark(is_tcp[index], PacketRow::TCP),
            ..PacketRow::default()
        };
        py.detach(|| {
            let rows: Vec<PacketRow> = (0..count).map(row).collect();
            self.meter.update(&rows);
        });
        self.flows = flow.iter().map(|&flow| flow as usize + 1).fold(self.flows, usize::max);
        Ok(())
    }

    /// The exchanges so far, see [`exchanges_to_python`].
    fn exchanges<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        exchanges_to_python(py, &self.meter, &vec![true; self.flows])
    }
}
