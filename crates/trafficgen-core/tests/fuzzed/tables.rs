//! The target that writes: any columns become a capture that reads back, or an error.

use std::io::Cursor;
use std::net::IpAddr;

use trafficgen_core::capture::CaptureFile;
use trafficgen_core::write::{
    CaptureWriter, Container, EndMacs, FlowEnds, Nullable, PacketColumns, Protocol, WriteOptions,
};

use super::bytes::Bytes;

const MOST_ROWS: usize = 64;

fn flow(bytes: &mut Bytes) -> FlowEnds {
    let choice = bytes.byte();
    let mut address = |is_v6: bool| -> IpAddr {
        if is_v6 {
            IpAddr::from(bytes.array::<16>())
        } else {
            IpAddr::from(bytes.array::<4>())
        }
    };
    let (server, client) = (address(choice & 1 != 0), address(choice & 2 != 0));
    let protocol =
        if choice & 4 != 0 { Protocol::NotIp } else { Protocol::from_number(bytes.byte()) };
    let [server_port, client_port] = [bytes.u16(), bytes.u16()];
    FlowEnds {
        protocol,
        server,
        server_port,
        client,
        client_port,
        payload_type: bytes.byte(),
        ssrc: bytes.u32(),
    }
}

/// Any columns, written; where that goes well, read back.
pub fn writer(data: &[u8]) {
    let mut bytes = Bytes(data);
    let choice = bytes.byte();
    let flows: Vec<FlowEnds> = (0..choice % 4).map(|_| flow(&mut bytes)).collect();
    let options = WriteOptions {
        container: [Container::Pcap, Container::PcapMicroseconds, Container::Pcapng]
            [usize::from(choice >> 2) % 3],
        origin_ns: bytes.i64(),
        snaplen_bytes: bytes.u32(),
        raise_small: choice & 64 != 0,
        macs: (choice & 128 != 0).then(|| EndMacs { server: bytes.array(), client: bytes.array() }),
    };
    let rows = usize::from(bytes.byte()) % MOST_ROWS;
    let odd_length = bytes.byte();
    let short = |column: u8| rows - usize::from(odd_length == column && rows > 0);
    let step_ns = i64::from(bytes.u32());
    let times: Vec<i64> = (0..short(1) as i64).map(|row| row.wrapping_mul(step_ns)).collect();
    let flow_ids: Vec<u32> = (0..short(2)).map(|_| u32::from(bytes.byte() % 5)).collect();
    let to_client: Vec<bool> = (0..short(3)).map(|_| bytes.byte() & 1 != 0).collect();
    let mut lengths = |count: usize| -> Vec<u32> {
        (0..count)
            .map(|_| u32::from(bytes.u16()) + if rows == 7 { u32::from(bytes.byte()) } else { 0 })
            .collect()
    };
    let (ip_bytes, payload_bytes, numbers) =
        (lengths(short(4)), lengths(short(5)), lengths(short(6)));
    let known: Vec<bool> = numbers.iter().map(|number| number % 3 != 0).collect();
    let sequences: Vec<u16> = numbers.iter().map(|&number| number as u16).collect();
    let flags: Vec<u8> = sequences.iter().map(|&number| number as u8).collect();
    let columns = PacketColumns {
        time_ns: &times,
        flow: &flow_ids,
        to_client: &to_client,
        ip_bytes: &ip_bytes,
        payload_bytes: &payload_bytes,
        rtp_ssrc: Some(Nullable { values: &numbers, known: Some(&known) }),
        rtp_sequence: (choice & 32 != 0).then_some(Nullable { values: &sequences, known: None }),
        rtp_timestamp: None,
        rtp_marker: Some(Nullable { values: &known, known: None }),
        tcp_sequence: Some(Nullable { values: &numbers, known: Some(&known) }),
        tcp_acknowledgement: None,
        tcp_flags: Some(Nullable { values: &flags, known: Some(&known) }),
        tcp_window: Some(Nullable { values: &numbers, known: None }),
    };
    let Ok(mut writer) = CaptureWriter::new(Vec::new(), &flows, options) else { return };
    if writer.write(&columns).is_err() || writer.write(&columns).is_err() {
        return;
    }
    let Ok((file, summary)) = writer.finish() else { return };
    assert_eq!(file.len() as u64, summary.file_bytes);
    let Ok(mut file) = CaptureFile::from_reader(Cursor::new(file), None) else { unreachable!() };
    let (mut packets, mut original_bytes) = (0, 0);
    while file.advance() {
        let record = file.record();
        assert!(record.data.len() <= record.original_bytes as usize);
        packets += 1;
        original_bytes += u64::from(record.original_bytes);
    }
    assert_eq!((packets, original_bytes), (summary.packets, summary.frame_bytes));
    assert_eq!(file.damage(), None);
}
