//! `CaptureWriter`: packet-table columns as numpy arrays to a capture file.
use std::fs::File;
use std::net::IpAddr;
use std::path::PathBuf;

use numpy::{Element, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use trafficgen_core::write::{
    CaptureWriter, Container, EndMacs, FlowEnds, Nullable, PacketColumns, Protocol, WriteError,
    WriteOptions,
};

mod trafficgen_errors {
    pyo3::import_exception!(trafficgen.errors, ExportError);
}
use trafficgen_errors::ExportError;

/// Values, and where they are known (`None`: everywhere).
type NullableArray<'py, T> = (PyReadonlyArray1<'py, T>, Option<PyReadonlyArray1<'py, bool>>);

fn python_error(error: WriteError) -> PyErr {
    match error {
        WriteError::Io(error) => error.into(),
        WriteError::ColumnLength { .. } | WriteError::Closed => {
            PyValueError::new_err(error.to_string())
        }
        other => ExportError::new_err(other.to_string()),
    }
}

fn nullable<'a, T: Element>(
    array: Option<&'a NullableArray<'_, T>>,
) -> PyResult<Option<Nullable<'a, T>>> {
    let Some((values, known)) = array else {
        return Ok(None);
    };
    let known = known.as_ref().map(|known| known.as_slice()).transpose()?;
    Ok(Some(Nullable { values: values.as_slice()?, known }))
}

/// Row of the flow table: protocol number (`None`: not IP), server, its port, client, its port,
/// payload type, SSRC.
type FlowRow = (Option<u8>, String, u16, String, u16, u8, u32);

fn address(flow: usize, text: &str) -> PyResult<IpAddr> {
    text.parse()
        .map_err(|_| ExportError::new_err(format!("flow {flow}: {text:?} is not an IP address")))
}

fn flow_ends(flow: usize, row: &FlowRow) -> PyResult<FlowEnds> {
    let (number, server, server_port, client, client_port, payload_type, ssrc) = row;
    let unspecified = IpAddr::from([0, 0, 0, 0]);
    let (server, client) = match number {
        Some(_) => (address(flow, server)?, address(flow, client)?),
        None => (unspecified, unspecified),
    };
    Ok(FlowEnds {
        protocol: number.map_or(Protocol::NotIp, Protocol::from_number),
        server,
        server_port: *server_port,
        client,
        client_port: *client_port,
        payload_type: *payload_type,
        ssrc: *ssrc,
    })
}

fn container_of(name: &str) -> PyResult<Container> {
    match name {
        "pcap" => Ok(Container::Pcap),
        "pcap_us" => Ok(Container::PcapMicroseconds),
        "pcapng" => Ok(Container::Pcapng),
        _ => Err(PyValueError::new_err(format!("there is no container {name:?}"))),
    }
}

#[pyclass(name = "CaptureWriter", module = "trafficgen._core._rust")]
pub struct PyCaptureWriter {
    writer: Option<CaptureWriter<File>>,
}

#[pymethods]
impl PyCaptureWriter {
    #[new]
    #[pyo3(signature = (
        path, flows, *, container, origin_ns, snaplen_bytes, raise_small, macs=None
    ))]
    #[allow(clippy::too_many_arguments)] // pyo3 hands them over
    fn new(
        path: PathBuf,
        flows: Vec<FlowRow>,
        container: &str,
        origin_ns: i64,
        snaplen_bytes: u32,
        raise_small: bool,
        macs: Option<([u8; 6], [u8; 6])>,
    ) -> PyResult<Self> {
        let ends = flows
            .iter()
            .enumerate()
            .map(|(flow, row)| flow_ends(flow, row))
            .collect::<PyResult<Vec<_>>>()?;
        let options = WriteOptions {
            container: container_of(container)?,
            origin_ns,
            snaplen_bytes,
            raise_small,
            macs: macs.map(|(server, client)| EndMacs { server, client }),
        };
        let writer =
            CaptureWriter::new(File::create(path)?, &ends, options).map_err(python_error)?;
        Ok(Self { writer: Some(writer) })
    }

    #[pyo3(signature = (
        *, time_ns, flow, to_client, ip_bytes, payload_bytes,
        rtp_ssrc=None, rtp_sequence=None, rtp_timestamp=None, rtp_marker=None,
        tcp_sequence=None, tcp_acknowledgement=None, tcp_flags=None, tcp_window=None
    ))]
    // One argument a column; pyo3 hands them over.
    #[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)]
    fn write(
        &mut self,
        py: Python<'_>,
        time_ns: PyReadonlyArray1<'_, i64>,
        flow: PyReadonlyArray1<'_, u32>,
        to_client: PyReadonlyArray1<'_, bool>,
        ip_bytes: PyReadonlyArray1<'_, u32>,
        payload_bytes: PyReadonlyArray1<'_, u32>,
        rtp_ssrc: Option<NullableArray<'_, u32>>,
        rtp_sequence: Option<NullableArray<'_, u16>>,
        rtp_timestamp: Option<NullableArray<'_, u32>>,
        rtp_marker: Option<NullableArray<'_, bool>>,
        tcp_sequence: Option<NullableArray<'_, u32>>,
        tcp_acknowledgement: Option<NullableArray<'_, u32>>,
        tcp_flags: Option<NullableArray<'_, u8>>,
        tcp_window: Option<NullableArray<'_, u32>>,
    ) -> PyResult<()> {
        let columns = PacketColumns {
            time_ns: time_ns.as_slice()?,
            flow: flow.as_slice()?,
            to_client: to_client.as_slice()?,
            ip_bytes: ip_bytes.as_slice()?,
            payload_bytes: payload_bytes.as_slice()?,
            rtp_ssrc: nullable(rtp_ssrc.as_ref())?,
            rtp_sequence: nullable(rtp_sequence.as_ref())?,
            rtp_timestamp: nullable(rtp_timestamp.as_ref())?,
            rtp_marker: nullable(rtp_marker.as_ref())?,
            tcp_sequence: nullable(tcp_sequence.as_ref())?,
            tcp_acknowledgement: nullable(tcp_acknowledgement.as_ref())?,
            tcp_flags: nullable(tcp_flags.as_ref())?,
            tcp_window: nullable(tcp_window.as_ref())?,
        };
        // A writer that failed half-way is not used again.
        let mut writer = self.writer.take().ok_or_else(|| python_error(WriteError::Closed))?;
        py.detach(|| writer.write(&columns)).map_err(python_error)?;
        self.writer = Some(writer);
        Ok(())
    }

    fn finish(&mut self, py: Python<'_>) -> PyResult<std::collections::HashMap<&'static str, u64>> {
        let writer = self.writer.take().ok_or_else(|| python_error(WriteError::Closed))?;
        let (_, summary) = py.detach(|| writer.finish()).map_err(python_error)?;
        Ok([
            ("packets", summary.packets),
            ("packets_left_out", summary.packets_left_out),
            ("packets_raised", summary.packets_raised),
            ("windows_cut", summary.windows_cut),
            ("ip_bytes", summary.ip_bytes),
            ("frame_bytes", summary.frame_bytes),
            ("file_bytes", summary.file_bytes),
        ]
        .into_iter()
        .collect())
    }
}
