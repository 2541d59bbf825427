//! Targets that read: whole files, single frames, payloads of connections.

use std::io::Cursor;

use trafficgen_core::capture::{CaptureFile, LinkType, MergedReader, Record};
use trafficgen_core::flow::{initiators_are_clients, FlowPlan, Ingest, IngestOptions};
use trafficgen_core::packet::{classify_udp_payload, decode, Decoded};

use super::bytes::Bytes;

/// What the link-type registry has and is decoded here, and one that is not.
const LINK_TYPES: [u16; 16] =
    [0, 1, 9, 12, 14, 50, 51, 101, 104, 108, 113, 204, 228, 229, 276, 147];
const RAW_IP: u32 = 101;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// A capture file, packed or not: its records, flows, signalling and columns. The first byte
/// chooses the options.
pub fn ingest(data: &[u8]) {
    let Some((&choice, data)) = data.split_first() else { return };
    let open = |bytes: &[u8]| {
        let length = bytes.len() as u64;
        CaptureFile::from_reader(Cursor::new(bytes.to_vec()), (choice & 1 != 0).then_some(length))
    };
    let Ok(file) = open(data) else { return };
    let mut files = vec![("first".to_owned(), file)];
    if choice & 2 != 0 {
        files.extend(open(data).ok().map(|file| ("second".to_owned(), file)));
    }
    let idle_timeout_ns = match choice >> 5 {
        0..=3 => None,
        exponent => Some(10_i64.pow(2 * u32::from(exponent))),
    };
    let options = IngestOptions {
        decapsulate: choice & 4 != 0,
        idle_timeout_ns,
        keep_packets: choice & 8 != 0,
        keep_flows: (choice & 16 != 0).then(|| vec![true, false, true]),
        most_flows: if choice >> 5 == 7 { 2 } else { u32::MAX },
        exchanges: choice & 8 == 0,
    };
    read_out(Ingest::new(MergedReader::new(files), options));
}

fn read_out(mut ingest: Ingest) {
    while ingest.read(1000) {}
    for damage in ingest.damages() {
        assert!(!damage.is_empty());
    }
    let (messages, channels) = ingest.signalling();
    let reports = ingest.rtcp_reports();
    let counts = ingest.counts().clone();
    let (keys, meter) = ingest.flows();
    let starts = meter.starts();
    assert!(messages.iter().all(|message| starts.flow_at(message.key, message.time_ns).is_some()));
    assert!(reports.iter().all(|report| starts.flow_at(report.key, report.time_ns).is_some()));
    assert!(channels.iter().all(|channel| channel.rtp.lost <= channel.rtp.expected));
    let flows = meter.flows();
    let initiator_is_client = initiators_are_clients(keys, flows);
    let packets: u64 = flows.iter().map(|flow| flow.packets[0] + flow.packets[1]).sum();
    assert_eq!((initiator_is_client.len(), packets), (flows.len(), counts.ip_packets));
    for flow in flows {
        assert!(flow.first_ns <= flow.last_ns);
        for stream in flow.rtp_streams() {
            let summary = stream.summary();
            assert!(
                summary.lost <= summary.expected
                    && summary.jitter_s.iter().all(|jitter| jitter.is_finite())
            );
        }
        if let Some(rates) = &flow.rates {
            let bytes: u64 = rates.up_to(flow.last_ns).iter().flat_map(|bins| bins.iter()).sum();
            assert_eq!(bytes, flow.frame_bytes[0] + flow.frame_bytes[1]);
        }
    }
    let plan = FlowPlan {
        number: (0..flows.len() as u32).rev().collect(),
        rtp_sources: flows
            .iter()
            .map(|flow| flow.rtp_streams().iter().map(|stream| stream.ssrc).collect())
            .collect(),
        initiator_is_client,
    };
    let mut rows = 0;
    while let Some(columns) = ingest.take_columns(&plan, counts.first_ns.unwrap_or(0)) {
        rows += columns.len() as u64;
    }
    assert!(rows <= packets);
    for key in 0..plan.number.len() as u32 {
        let (_, name) = ingest.label(key);
        assert!(name.len() <= 253 && name.bytes().all(|byte| byte.is_ascii_graphic()));
    }
}

/// One frame of any link type: all header decoders, with and without a look into tunnels.
pub fn frames(data: &[u8]) {
    let mut bytes = Bytes(data);
    let choice = bytes.byte();
    let longer = u32::from(bytes.byte());
    let data = bytes.0;
    let record = Record {
        time_ns: None,
        // As long as what is there, or (a cut frame) longer by something, or (a damaged length)
        // shorter.
        original_bytes: if longer < 240 {
            data.len() as u32 + 7 * longer
        } else {
            u32::MAX >> (longer - 240)
        },
        link_type: LinkType(LINK_TYPES[usize::from(choice % 16)]),
        data,
    };
    for decapsulate in [false, true] {
        let mut packet = Decoded::empty();
        if decode(&record, decapsulate, &mut packet).is_ok() {
            assert!(packet.payload.len() <= data.len() && packet.payload_bytes <= packet.ip_bytes);
            assert!(packet.ip_bytes <= record.original_bytes);
            let _ = classify_udp_payload(packet.payload, packet.payload_bytes);
            let _ = packet.addresses.to_ip();
        }
    }
}

/// Payloads of one connection: RTSP with interleaved RTP over TCP, RTP and RTCP over UDP, in
/// pieces, with gaps, repeats and steps in time.
pub fn signalling(data: &[u8]) {
    let mut bytes = Bytes(data);
    let mut file = [0xa1b2_3c4d, 0x0004_0002, 0, 0, 262_144, RAW_IP].map(u32::to_le_bytes).concat();
    let (mut time_ns, mut next) = (0_u32, [1_u32; 2]);
    while !bytes.is_empty() {
        let [choice, length] = bytes.array();
        let from_client = usize::from(choice & 1);
        let protocol = if choice & 2 == 0 { TCP } else { UDP };
        match choice >> 5 {
            5 => next[from_client] = next[from_client].wrapping_sub(u32::from(length)),
            6 => next[from_client] = next[from_client].wrapping_add(u32::from(length)),
            7 => time_ns = u32::from(length) << 24,
            _ => {}
        }
        let payload = bytes.piece(usize::from(length) << (choice >> 2 & 3));
        // Now and then more was sent than was captured.
        let cut = if choice & 16 != 0 { usize::from(length) } else { 0 };
        file.extend(segment(protocol, from_client, next[from_client], payload, cut, time_ns));
        next[from_client] = next[from_client].wrapping_add((payload.len() + cut) as u32);
        time_ns = time_ns.wrapping_add(1000);
    }
    let Ok(file) = CaptureFile::from_reader(Cursor::new(file), None) else { unreachable!() };
    let reader = MergedReader::new(vec![("made".to_owned(), file)]);
    let idle_timeout_ns = (data.len() % 2 == 0).then_some(1_000_000);
    read_out(Ingest::new(reader, IngestOptions { idle_timeout_ns, ..IngestOptions::default() }));
}

/// A record of classic pcap with a packet between two hosts.
fn segment(
    protocol: u8,
    from_client: usize,
    sequence: u32,
    payload: &[u8],
    cut: usize,
    time_ns: u32,
) -> Vec<u8> {
    let ports = [554_u16, 40_000];
    let hosts = [[192, 0, 2, 1], [198, 51, 100, 2]];
    let (source, destination) = (from_client, 1 - from_client);
    let transport = if protocol == TCP { 20 } else { 8 };
    let total = 20 + transport + payload.len() + cut;
    let mut packet = vec![0x45, 0];
    packet.extend((total.min(65_535) as u16).to_be_bytes());
    packet.extend([0, 0, 0, 0, 64, protocol, 0, 0]);
    packet.extend(hosts[source]);
    packet.extend(hosts[destination]);
    packet.extend(ports[source].to_be_bytes());
    packet.extend(ports[destination].to_be_bytes());
    if protocol == TCP {
        packet.extend(sequence.to_be_bytes());
        packet.extend([0, 0, 0, 0, 0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0]);
    } else {
        packet.extend([0; 4]);
    }
    packet.extend_from_slice(payload);
    let (captured, original) = (packet.len() as u32, (packet.len() + cut) as u32);
    let mut record = [time_ns / 1_000_000, time_ns % 1_000_000, captured, original]
        .map(u32::to_le_bytes)
        .concat();
    record.extend(packet);
    record
}
