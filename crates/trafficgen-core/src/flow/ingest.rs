//! Capture files read into rows, flows and signalling, with what was odd about them counted on the
//! way.

use crate::capture::{CaptureError, LinkType, MergedReader, Record};
use crate::packet::{classify_udp_payload, decode, Decoded, UdpPayload, Undecoded, UDP};

use super::assembly::{FlowAssembly, FlowKey, Place};
use super::columns::{Columns, FlowPlan};
use super::exchange::ExchangeMeter;
use super::label::{Application, Labels};
use super::measurement::{Measurement, Measuring, BATCH_ROWS};
use super::meter::FlowMeter;
use super::row::PacketRow;
use super::rtcp::{RtcpReport, RtcpReports};
use super::rtsp::{InterleavedChannel, RtspFollower, RtspMessage};

/// IP packets longer than this were not on an Ethernet as they are: offload, or a larger MTU.
const USUAL_MTU_BYTES: u32 = 1500;
/// A step in time beyond this is a broken clock, not a pause.
const TIME_JUMP_NS: i64 = 180 * 24 * 3600 * 1_000_000_000;

/// How captures are read.
#[derive(Clone, Debug)]
pub struct IngestOptions {
    pub decapsulate: bool,
    /// Silence after which a 5-tuple's packets are a new flow.
    pub idle_timeout_ns: Option<i64>,
    /// Whether packets are kept, or only flows measured.
    pub keep_packets: bool,
    /// Which flows' packets are kept (by the meter's number, as an earlier reading found them);
    /// `None` keeps all.
    pub keep_flows: Option<Vec<bool>>,
    /// Flows that are told apart; packets of later ones are only counted.
    pub most_flows: u32,
    /// Whether exchanges are measured.
    pub exchanges: bool,
}

impl Default for IngestOptions {
    fn default() -> Self {
        Self {
            decapsulate: false,
            idle_timeout_ns: None,
            keep_packets: false,
            keep_flows: None,
            most_flows: u32::MAX,
            exchanges: false,
        }
    }
}

/// Counts over all files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub packets: u64,
    pub ip_packets: u64,
    pub frame_bytes: u64,
    /// Of all packets with a time, IP or not.
    pub first_ns: Option<i64>,
    pub last_ns: Option<i64>,
    /// Packets that the capture kept only the beginning of.
    pub cut_by_snaplen: u64,
    /// Most bytes kept of one of those.
    pub longest_captured_bytes: u32,
    /// IP packets whose headers are cut or wrong.
    pub undecodable: u64,
    pub unknown_link_type: u64,
    pub example_link_type: Option<u16>,
    pub above_mtu: u64,
    pub longest_ip_bytes: u32,
    /// Packets whose time lies before that of an earlier one, and the largest such step.
    pub steps_back: u64,
    pub largest_step_back_ns: i64,
    /// Packets (from 1) after which time jumps by months or more, and the largest jump.
    pub jumps: u64,
    pub largest_jump_ns: i64,
    pub largest_jump_packet: u64,
    /// Packets without a time of their own.
    pub timeless: u64,
    /// IP packets of flows for which there was no room.
    pub beyond_most_flows: u64,
}

/// Reads captures piece by piece.
pub struct Ingest {
    reader: MergedReader,
    decapsulate: bool,
    assembly: FlowAssembly,
    measuring: Measuring,
    rtsp: RtspFollower,
    labels: Labels,
    rtcp: RtcpReports,
    counts: Counts,
    batch: Vec<PacketRow>,
    window_rows: usize,
    previous_ns: Option<i64>,
    latest_ns: i64,
    finished: bool,
}

impl Ingest {
    pub fn new(reader: MergedReader, options: IngestOptions) -> Self {
        let meter = FlowMeter::new(options.idle_timeout_ns).with_most(options.most_flows);
        let mut measurement = Measurement::new(meter, options.keep_packets, options.keep_flows);
        measurement.exchanges = options.exchanges.then(ExchangeMeter::default);
        Self {
            reader,
            decapsulate: options.decapsulate,
            assembly: FlowAssembly::new(options.most_flows),
            measuring: Measuring::new(measurement),
            rtsp: RtspFollower::default(),
            labels: Labels::default(),
            rtcp: RtcpReports::default(),
            counts: Counts::default(),
            batch: Vec::with_capacity(BATCH_ROWS),
            window_rows: BATCH_ROWS,
            previous_ns: None,
            latest_ns: i64::MIN,
            finished: false,
        }
    }

    /// Reads up to `packets` packets; false when all files are read.
    pub fn read(&mut self, packets: u64) -> bool {
        for _ in 0..packets {
            if !self.reader.advance() {
                self.finished = true;
                break;
            }
            let record = self.reader.record();
            let time_ns =
                time_of(&record, &mut self.previous_ns, &mut self.latest_ns, &mut self.counts);
            self.counts.packets += 1;
            self.counts.frame_bytes += u64::from(record.original_bytes);
            note_length(&record, &mut self.counts);
            let mut packet = Decoded::empty();
            match decode(&record, self.decapsulate, &mut packet) {
                Ok(()) => {
                    let Some(place) = self.assembly.place(&packet) else {
                        self.counts.beyond_most_flows += 1;
                        continue;
                    };
                    let row = row_of(
                        &record,
                        &packet,
                        time_ns,
                        place,
                        &mut self.assembly,
                        &mut self.rtsp,
                    );
                    if packet.source_port != 0 {
                        self.labels.look(place, &packet);
                    }
                    if row.is(PacketRow::RTCP) {
                        self.rtcp.packet(&row, packet.payload);
                    }
                    self.counts.ip_packets += 1;
                    if row.ip_bytes > USUAL_MTU_BYTES {
                        self.counts.above_mtu += 1;
                        self.counts.longest_ip_bytes =
                            self.counts.longest_ip_bytes.max(row.ip_bytes);
                    }
                    self.batch.push(row);
                    if self.batch.len() >= self.window_rows {
                        self.measure_batch();
                    }
                }
                Err(reason) => note_undecoded(reason, record.link_type, &mut self.counts),
            }
        }
        if self.finished {
            self.sort_if_needed();
            self.measuring.finish(&mut self.batch);
            self.batch.clear();
        }
        !self.finished
    }

    /// Measures a full batch. Once time was seen to step back, rows are put in order within a
    /// window of two batches.
    fn measure_batch(&mut self) {
        if self.counts.steps_back > 0 {
            self.window_rows = 2 * BATCH_ROWS;
        }
        self.sort_if_needed();
        let rest = self.batch.split_off(self.batch.len().min(BATCH_ROWS));
        let full = std::mem::take(&mut self.batch);
        self.batch = self.measuring.hand_over(full);
        self.batch.extend_from_slice(&rest);
    }

    fn sort_if_needed(&mut self) {
        if self.counts.steps_back > 0 {
            self.batch.sort_by_key(|row| row.time_ns);
        }
    }

    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The 5-tuples and the counts of the flows, as far as was read.
    pub fn flows(&mut self) -> (&[FlowKey], &FlowMeter) {
        (self.assembly.keys(), &self.measuring.settled().meter)
    }

    /// The exchanges of the flows as far as was read, where they are measured.
    pub fn exchanges(&mut self) -> Option<&ExchangeMeter> {
        self.measuring.settled().exchanges.as_ref()
    }

    /// What the first packets of a 5-tuple say it is, and the server's name (empty where none was
    /// seen).
    pub fn label(&self, key: u32) -> (Option<Application>, &str) {
        (self.labels.application(key), self.labels.name(key))
    }

    /// What was damaged, one line a file.
    pub fn damages(&self) -> Vec<String> {
        self.reader.damages()
    }

    /// The first file that is not to be read although it goes on, and why.
    pub fn refusal(&self) -> Option<(&str, CaptureError)> {
        self.reader.refusal()
    }

    /// Bytes taken from the files so far and in all, as they lie on disk.
    pub fn progress(&self) -> (u64, Option<u64>) {
        (self.reader.consumed_bytes(), self.reader.total_bytes())
    }

    /// RTSP messages and interleaved channels; call once, at the end.
    pub fn signalling(&mut self) -> (Vec<RtspMessage>, Vec<InterleavedChannel>) {
        self.rtsp.finish()
    }

    /// RTCP reports in order of time; call once, at the end.
    pub fn rtcp_reports(&mut self) -> Vec<RtcpReport> {
        self.rtcp.finish()
    }

    /// The next chunk of the kept table, in the order of the files; `None` when all are taken.
    pub fn take_columns(&mut self, plan: &FlowPlan, origin_ns: i64) -> Option<Columns> {
        let mut columns = self.measuring.settled().chunks.pop_front()?;
        columns.decide(plan, origin_ns);
        Some(columns)
    }
}

/// The record's time; one without a time has that of the record before.
#[inline]
fn time_of(
    record: &Record<'_>,
    previous_ns: &mut Option<i64>,
    latest_ns: &mut i64,
    counts: &mut Counts,
) -> i64 {
    let Some(time_ns) = record.time_ns else {
        counts.timeless += 1;
        return previous_ns.unwrap_or(0);
    };
    if time_ns < *latest_ns {
        counts.steps_back += 1;
        counts.largest_step_back_ns =
            counts.largest_step_back_ns.max(latest_ns.saturating_sub(time_ns));
    }
    if let Some(previous) = *previous_ns {
        let step_ns = time_ns.saturating_sub(previous);
        if step_ns.saturating_abs() > TIME_JUMP_NS {
            note_jump(step_ns, counts);
        }
    }
    counts.first_ns = Some(counts.first_ns.map_or(time_ns, |first| first.min(time_ns)));
    *previous_ns = Some(time_ns);
    *latest_ns = (*latest_ns).max(time_ns);
    counts.last_ns = Some(*latest_ns);
    time_ns
}

#[cold]
fn note_jump(step_ns: i64, counts: &mut Counts) {
    counts.jumps += 1;
    if step_ns.saturating_abs() > counts.largest_jump_ns.saturating_abs() {
        counts.largest_jump_ns = step_ns;
        counts.largest_jump_packet = counts.packets;
    }
}

#[inline]
fn note_length(record: &Record<'_>, counts: &mut Counts) {
    let captured = record.data.len() as u32;
    if captured < record.original_bytes {
        counts.cut_by_snaplen += 1;
        counts.longest_captured_bytes = counts.longest_captured_bytes.max(captured);
    }
}

#[cold]
fn note_undecoded(reason: Undecoded, link_type: LinkType, counts: &mut Counts) {
    match reason {
        Undecoded::NotIp => {}
        Undecoded::Header => counts.undecodable += 1,
        Undecoded::LinkType => {
            counts.unknown_link_type += 1;
            counts.example_link_type.get_or_insert(link_type.0);
        }
    }
}

#[inline(always)]
fn row_of(
    record: &Record<'_>,
    packet: &Decoded<'_>,
    time_ns: i64,
    place: Place,
    assembly: &mut FlowAssembly,
    rtsp: &mut RtspFollower,
) -> PacketRow {
    let mut row = PacketRow {
        time_ns,
        flow: place.flow,
        frame_bytes: record.original_bytes,
        ip_bytes: packet.ip_bytes,
        payload_bytes: packet.payload_bytes,
        marks: if place.forward { PacketRow::FORWARD } else { 0 },
        ..PacketRow::default()
    };
    if packet.has_tcp {
        let tcp = &packet.tcp;
        row.ssrc_or_sequence = tcp.sequence;
        row.timestamp_or_acknowledgement = tcp.acknowledgement;
        row.sequence_or_window = assembly.window_bytes(place, tcp);
        row.payload_type_or_flags = tcp.flags;
        row.marks |= PacketRow::TCP;
        if packet.payload_bytes > 0 {
            row.marks |= mark_of_tcp(packet.payload);
            if RtspFollower::begins_message(packet.payload) {
                rtsp.follow(place.flow);
            }
            if rtsp.follows(place.flow) {
                rtsp.segment(&row, tcp, packet.payload);
            }
        }
    } else if packet.protocol == UDP && packet.source_port != 0 {
        mark_udp(&mut row, packet);
    }
    row
}

#[inline(always)]
fn mark_udp(row: &mut PacketRow, packet: &Decoded<'_>) {
    match classify_udp_payload(packet.payload, packet.payload_bytes) {
        UdpPayload::Rtp(header) => {
            row.ssrc_or_sequence = header.ssrc;
            row.timestamp_or_acknowledgement = header.timestamp;
            row.sequence_or_window = u32::from(header.sequence);
            row.payload_type_or_flags = header.payload_type;
            row.marks |= PacketRow::RTP | if header.marker { PacketRow::RTP_MARKER } else { 0 };
        }
        UdpPayload::Rtcp => row.marks |= PacketRow::RTCP,
        UdpPayload::Other => {
            // Long headers have the two highest bits (RFC 9000, 17.2).
            let is_long = packet.payload.first().is_some_and(|first| first & 0xc0 == 0xc0);
            row.marks |= PacketRow::DATAGRAM | if is_long { PacketRow::HANDSHAKE } else { 0 };
        }
    }
}

/// What the beginning of a segment says: a TLS record (RFC 8446, 5.1) or the request line of HTTP.
#[inline(always)]
fn mark_of_tcp(payload: &[u8]) -> u8 {
    match payload {
        [20..=22, 3, 0..=4, ..] => PacketRow::HANDSHAKE,
        [23, 3, 0..=4, ..] => PacketRow::MESSAGE,
        [b'G', b'E', b'T', b' ', ..]
        | [b'P', b'O', b'S', b'T', ..]
        | [b'P', b'U', b'T', b' ', ..]
        | [b'H', b'E', b'A', b'D', ..]
        | [b'O', b'P', b'T', b'I', ..] => PacketRow::MESSAGE,
        _ => 0,
    }
}
