//! One inner loop by itself, so that its instructions can be counted: `hot_loops LOOP PACKETS
//! FILE`.
//!
//! `benchmarks/instructions.py` runs each loop under callgrind with two numbers of packets; what
//! they differ by is the loop's own.
#![allow(clippy::unwrap_used, clippy::panic)] // nobody but the benchmark runs it

use std::fs::File;
use std::path::Path;

use trafficgen_core::capture::MergedReader;
use trafficgen_core::des::{simulate, Scenario};
use trafficgen_core::flow::{Ingest, IngestOptions};
use trafficgen_core::generate::{spectral_ranks, time_order};
use trafficgen_core::write::{
    CaptureWriter, Container, FlowEnds, Nullable, PacketColumns, Protocol, WriteOptions,
};

const FLOWS: usize = 64;
const SPACING_NS: i64 = 2_000;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, name, packets, file] = arguments.as_slice() else {
        panic!("hot_loops LOOP PACKETS FILE")
    };
    let packets: usize = packets.parse().unwrap();
    match name.as_str() {
        "write" => write(packets, Path::new(file)),
        "read" => read(packets, Path::new(file)),
        "order" => order(packets),
        "ranks" => ranks(packets),
        "simulate" => run(packets),
        _ => panic!("there is no loop {name}"),
    }
}

/// Numbers without a pattern that a loop could profit from (Knuth's multiplicative hash).
fn scattered(count: usize, below: u32) -> Vec<u32> {
    (0..count as u32).map(|place| (place.wrapping_mul(2_654_435_761) >> 8) % below).collect()
}

fn flows() -> Vec<FlowEnds> {
    (0..FLOWS)
        .map(|flow| FlowEnds {
            protocol: if flow % 10 < 6 { Protocol::Udp } else { Protocol::Tcp },
            server: [192, 0, 2, flow as u8].into(),
            server_port: 5004,
            client: [198, 51, 100, flow as u8].into(),
            client_port: 40_000,
            payload_type: 96,
            ssrc: flow as u32 + 1,
        })
        .collect()
}

/// RTP and TCP packets of many flows to a capture.
fn write(packets: usize, path: &Path) {
    let options = WriteOptions {
        container: Container::Pcap,
        origin_ns: 1_700_000_000_000_000_000,
        snaplen_bytes: 96,
        raise_small: false,
        macs: None,
    };
    let time_ns: Vec<i64> = (0..packets as i64).map(|place| place * SPACING_NS).collect();
    let flow = scattered(packets, FLOWS as u32);
    let ip_bytes: Vec<u32> =
        scattered(packets, 1300).into_iter().map(|bytes| bytes + 100).collect();
    let payload_bytes: Vec<u32> = ip_bytes.iter().map(|bytes| bytes - 40).collect();
    let is_rtp: Vec<bool> = flow.iter().map(|flow| flow % 10 < 6).collect();
    let is_tcp: Vec<bool> = is_rtp.iter().map(|is_rtp| !is_rtp).collect();
    let number: Vec<u32> = (0..packets as u32).collect();
    let short: Vec<u16> = number.iter().map(|&number| number as u16).collect();
    let rtp = |values| Some(Nullable { values, known: Some(is_rtp.as_slice()) });
    let tcp = |values| Some(Nullable { values, known: Some(is_tcp.as_slice()) });
    let columns = PacketColumns {
        time_ns: &time_ns,
        flow: &flow,
        to_client: &vec![true; packets],
        ip_bytes: &ip_bytes,
        payload_bytes: &payload_bytes,
        rtp_ssrc: None,
        rtp_sequence: Some(Nullable { values: &short, known: Some(&is_rtp) }),
        rtp_timestamp: rtp(number.as_slice()),
        rtp_marker: None,
        tcp_sequence: tcp(number.as_slice()),
        tcp_acknowledgement: tcp(number.as_slice()),
        tcp_flags: None,
        tcp_window: None,
    };
    let mut writer = CaptureWriter::new(File::create(path).unwrap(), &flows(), options).unwrap();
    writer.write(&columns).unwrap();
    assert_eq!(writer.finish().unwrap().1.packets, packets as u64);
}

/// A capture to packet and flow columns.
fn read(packets: usize, path: &Path) {
    let options = IngestOptions { keep_packets: true, ..IngestOptions::default() };
    let mut ingest = Ingest::new(MergedReader::open(&[path.to_path_buf()]).unwrap(), options);
    while ingest.read(packets as u64) {}
    assert_eq!(ingest.counts().packets, packets as u64);
}

/// Packets of many sessions, one session after the other, in order of time.
fn order(packets: usize) {
    let place_in_flow = |place: usize| (place / FLOWS) as i64;
    let flow: Vec<u32> = (0..packets).map(|place| (place * FLOWS / packets) as u32).collect();
    let time_ns: Vec<i64> = scattered(packets, 1_000_000)
        .into_iter()
        .enumerate()
        .map(|(place, late)| place_in_flow(place) * 20_000_000 + i64::from(late))
        .collect();
    assert_eq!(time_order(&time_ns, &flow).unwrap().len(), packets);
}

/// Series of a thousand frames with a spectrum.
fn ranks(packets: usize) {
    const FRAMES: usize = 960;
    let ascending: Vec<f64> =
        (0..FRAMES).map(|place| place as f64 - (FRAMES - 1) as f64 / 2.0).collect();
    let amplitude: Vec<f64> = (0..=FRAMES / 2).map(|place| 1.0 / (1.0 + place as f64)).collect();
    for series in 0..packets / FRAMES {
        let phase: Vec<f64> =
            (0..=FRAMES / 2).map(|place| ((place * (series + 7)) % 63) as f64 / 10.0).collect();
        assert_eq!(spectral_ranks(&ascending, &amplitude, &phase, 4, -1.0).len(), FRAMES);
    }
}

/// Media of one size over a link that one TCP flow fills.
fn run(packets: usize) {
    let rate_bps = 400e3;
    let duration_s = packets as f64 * 8_000.0 / rate_bps;
    let link =
        r#""capacity": {"constant": {"rate_bps": 4e6}}, "delay_s": 0.02, "queue": {"packets": 50}"#;
    let media =
        format!(r#"{{"rate_bps": {rate_bps}, "packet_bytes": 1000, "duration_s": {duration_s}}}"#);
    let text = format!(
        r#"{{"seed": 1, "end_s": 1e6,
            "links": [{{"name": "there", {link}}}, {{"name": "back", {link}}}],
            "agents": [
                {{"name": "media", "kind": "cbr", "parameters": {media}, "awaited": true,
                  "forward": [0], "reverse": [1]}},
                {{"name": "tcp", "kind": "bulk_tcp",
                "parameters": {{"tcp": {{"congestion_control": "cubic"}}}},
                  "forward": [0], "reverse": [1]}}
            ]}}"#
    );
    let scenario = Scenario::from_json(&text).unwrap();
    simulate(&scenario).unwrap();
}
