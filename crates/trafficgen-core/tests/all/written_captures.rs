//! Captures that were written, read back by crates that had no part in writing them.

use std::net::IpAddr;

use etherparse::checksum::Sum16BitWords;
use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use pcap_parser::traits::PcapReaderIterator;
use pcap_parser::{LegacyPcapReader, PcapBlockOwned, PcapNGReader};
use proptest::prelude::*;
use trafficgen_core::write::{
    CaptureWriter, Container, EndMacs, FlowEnds, Nullable, PacketColumns, Protocol, WriteError,
    WriteOptions, WriteSummary,
};

const OPTIONS: WriteOptions = WriteOptions {
    container: Container::Pcap,
    origin_ns: 1_700_000_000_000_000_000,
    snaplen_bytes: 262_144,
    raise_small: false,
    macs: None,
};

fn ends(protocol: Protocol, server: &str, client: &str) -> FlowEnds {
    FlowEnds {
        protocol,
        server: server.parse().unwrap(),
        server_port: 5004,
        client: client.parse().unwrap(),
        client_port: 40_000,
        payload_type: 96,
        ssrc: 7,
    }
}

fn four_flows() -> Vec<FlowEnds> {
    vec![
        ends(Protocol::Udp, "192.0.2.1", "198.51.100.2"),
        ends(Protocol::Tcp, "192.0.2.1", "198.51.100.2"),
        ends(Protocol::Udp, "2001:db8::1", "2001:db8::2"),
        ends(Protocol::Tcp, "2001:db8::1", "2001:db8::2"),
        ends(Protocol::IcmpEcho, "192.0.2.1", "198.51.100.2"),
        ends(Protocol::IcmpEcho, "2001:db8::1", "2001:db8::2"),
    ]
}

#[derive(Clone, Debug, Default)]
struct Columns {
    time_ns: Vec<i64>,
    flow: Vec<u32>,
    to_client: Vec<bool>,
    ip_bytes: Vec<u32>,
    payload_bytes: Vec<u32>,
    sequence: Vec<u32>,
    known: Vec<bool>,
}

impl Columns {
    fn push(&mut self, flow: u32, to_client: bool, ip_bytes: u32) {
        self.time_ns.push(self.time_ns.len() as i64 * 1_000);
        self.flow.push(flow);
        self.to_client.push(to_client);
        self.ip_bytes.push(ip_bytes);
        self.payload_bytes.push(0);
        self.sequence.push(self.sequence.len() as u32);
        self.known.push(false);
    }

    fn plain(&self) -> PacketColumns<'_> {
        PacketColumns {
            time_ns: &self.time_ns,
            flow: &self.flow,
            to_client: &self.to_client,
            ip_bytes: &self.ip_bytes,
            payload_bytes: &self.payload_bytes,
            rtp_ssrc: None,
            rtp_sequence: None,
            rtp_timestamp: None,
            rtp_marker: None,
            tcp_sequence: None,
            tcp_acknowledgement: None,
            tcp_flags: None,
            tcp_window: None,
        }
    }
}

fn written(
    flows: &[FlowEnds],
    columns: &PacketColumns<'_>,
    options: WriteOptions,
) -> Result<(Vec<u8>, WriteSummary), WriteError> {
    let mut writer = CaptureWriter::new(Vec::new(), flows, options)?;
    writer.write(columns)?;
    writer.finish()
}

/// Time since 1970 in ns, original length and captured bytes of every record, read by pcap-parser.
fn records(file: &[u8], container: Container) -> Vec<(u64, u32, Vec<u8>)> {
    let mut reader: Box<dyn PcapReaderIterator> = match container {
        Container::Pcap | Container::PcapMicroseconds => {
            Box::new(LegacyPcapReader::new(1 << 20, file).unwrap())
        }
        Container::Pcapng => Box::new(PcapNGReader::new(1 << 20, file).unwrap()),
    };
    let mut found = Vec::new();
    loop {
        let used = match reader.next() {
            Ok((used, block)) => {
                match block {
                    PcapBlockOwned::Legacy(record) => found.push((
                        u64::from(record.ts_sec) * 1_000_000_000 + u64::from(record.ts_usec),
                        record.origlen,
                        record.data.to_vec(),
                    )),
                    PcapBlockOwned::NG(pcap_parser::Block::EnhancedPacket(packet)) => found.push((
                        u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low),
                        packet.origlen,
                        packet.data[..packet.caplen as usize].to_vec(),
                    )),
                    _ => {}
                }
                used
            }
            Err(pcap_parser::PcapError::Eof) => return found,
            Err(pcap_parser::PcapError::Incomplete(_)) => {
                reader.refill().unwrap();
                continue;
            }
            Err(error) => panic!("{error:?}"),
        };
        reader.consume(used);
    }
}

/// Fails unless every length and checksum of the frame is what etherparse computes.
fn assert_sound(frame: &[u8], ip_bytes: u32) {
    assert_eq!(frame.len(), 14 + ip_bytes as usize);
    let packet = SlicedPacket::from_ethernet(frame).unwrap();
    let net = packet.net.unwrap();
    match (&net, packet.transport.unwrap()) {
        (NetSlice::Ipv4(ip), transport) => {
            let header = ip.header().to_header();
            assert_eq!(header.header_checksum, header.calc_header_checksum());
            assert_eq!(u32::from(header.total_len), ip_bytes);
            match transport {
                TransportSlice::Udp(udp) => {
                    let sum = udp.to_header().calc_checksum_ipv4(&header, udp.payload()).unwrap();
                    assert_eq!(udp.checksum(), sum);
                }
                TransportSlice::Tcp(tcp) => {
                    assert_eq!(
                        tcp.checksum(),
                        tcp.calc_checksum_ipv4(header.source, header.destination).unwrap()
                    )
                }
                TransportSlice::Icmpv4(icmp) => {
                    assert_eq!(Sum16BitWords::new().add_slice(icmp.slice()).ones_complement(), 0)
                }
                other => panic!("{other:?}"),
            }
        }
        (NetSlice::Ipv6(ip), transport) => {
            let header = ip.header().to_header();
            assert_eq!(u32::from(header.payload_length) + 40, ip_bytes);
            match transport {
                TransportSlice::Udp(udp) => {
                    let sum = udp.to_header().calc_checksum_ipv6(&header, udp.payload()).unwrap();
                    assert_eq!(udp.checksum(), sum);
                }
                TransportSlice::Tcp(tcp) => {
                    assert_eq!(
                        tcp.checksum(),
                        tcp.calc_checksum_ipv6(header.source, header.destination).unwrap()
                    )
                }
                TransportSlice::Icmpv6(icmp) => {
                    assert!(icmp.is_checksum_valid(header.source, header.destination))
                }
                other => panic!("{other:?}"),
            }
        }
        other => panic!("{other:?}"),
    }
}

fn tcp_of(frame: &[u8]) -> etherparse::TcpHeader {
    match SlicedPacket::from_ethernet(frame).unwrap().transport.unwrap() {
        TransportSlice::Tcp(tcp) => tcp.to_header(),
        other => panic!("{other:?}"),
    }
}

#[derive(Clone, Debug)]
struct AnyPacket {
    gap_ns: i64,
    flow: u32,
    to_client: bool,
    ip_bytes: u32,
    option_words: u32,
    rtp: Option<(Option<u32>, u16, u32, bool)>,
    tcp: Option<(u32, u32, u8, u32)>,
}

prop_compose! {
    fn any_packet()(
        gap_ns in 0..2_000_000_000_i64,
        flow in 0..6_u32,
        to_client: bool,
        ip_bytes in prop_oneof![100..1501_u32, 1501..65_536_u32],
        option_words in 0..11_u32,
        rtp: Option<(Option<u32>, u16, u32, bool)>,
        tcp: Option<(u32, u32, u8, u32)>,
    ) -> AnyPacket {
        AnyPacket { gap_ns, flow, to_client, ip_bytes, option_words, rtp, tcp }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_written_frame_reads_back_with_its_fields_lengths_and_checksums(
        packets in prop::collection::vec(any_packet(), 0..40),
        is_pcapng: bool,
    ) {
        let flows = four_flows();
        let mut time = 0;
        let time_ns: Vec<i64> = packets.iter().map(|p| { time += p.gap_ns; time }).collect();
        let flow: Vec<u32> = packets.iter().map(|p| p.flow).collect();
        let to_client: Vec<bool> = packets.iter().map(|p| p.to_client).collect();
        let ip_bytes: Vec<u32> = packets.iter().map(|p| p.ip_bytes).collect();
        let ip_header = |flow: u32| if [2, 3, 5].contains(&flow) { 40 } else { 20 };
        let payload_bytes: Vec<u32> = packets
            .iter()
            .map(|p| p.ip_bytes.saturating_sub(ip_header(p.flow) + 20 + 4 * p.option_words))
            .collect();
        let rtp_known: Vec<bool> = packets.iter().map(|p| p.rtp.is_some()).collect();
        let ssrc_known: Vec<bool> =
            packets.iter().map(|p| p.rtp.is_some_and(|r| r.0.is_some())).collect();
        let ssrc: Vec<u32> = packets.iter().map(|p| p.rtp.and_then(|r| r.0).unwrap_or(0)).collect();
        let rtp_sequence: Vec<u16> = packets.iter().map(|p| p.rtp.map_or(0, |r| r.1)).collect();
        let rtp_timestamp: Vec<u32> = packets.iter().map(|p| p.rtp.map_or(0, |r| r.2)).collect();
        let rtp_marker: Vec<bool> = packets.iter().map(|p| p.rtp.is_some_and(|r| r.3)).collect();
        let tcp_known: Vec<bool> = packets.iter().map(|p| p.tcp.is_some()).collect();
        let tcp_sequence: Vec<u32> = packets.iter().map(|p| p.tcp.map_or(0, |t| t.0)).collect();
        let tcp_acknowledgement: Vec<u32> =
            packets.iter().map(|p| p.tcp.map_or(0, |t| t.1)).collect();
        let tcp_flags: Vec<u8> = packets.iter().map(|p| p.tcp.map_or(0, |t| t.2)).collect();
        let tcp_window: Vec<u32> = packets.iter().map(|p| p.tcp.map_or(0, |t| t.3)).collect();
        let rtp = Some(&rtp_known[..]);
        let tcp = Some(&tcp_known[..]);
        let columns = PacketColumns {
            time_ns: &time_ns,
            flow: &flow,
            to_client: &to_client,
            ip_bytes: &ip_bytes,
            payload_bytes: &payload_bytes,
            rtp_ssrc: Some(Nullable { values: &ssrc, known: Some(&ssrc_known) }),
            rtp_sequence: Some(Nullable { values: &rtp_sequence, known: rtp }),
            rtp_timestamp: Some(Nullable { values: &rtp_timestamp, known: rtp }),
            rtp_marker: Some(Nullable { values: &rtp_marker, known: rtp }),
            tcp_sequence: Some(Nullable { values: &tcp_sequence, known: tcp }),
            tcp_acknowledgement: Some(Nullable { values: &tcp_acknowledgement, known: tcp }),
            tcp_flags: Some(Nullable { values: &tcp_flags, known: tcp }),
            tcp_window: Some(Nullable { values: &tcp_window, known: tcp }),
        };
        let container = if is_pcapng { Container::Pcapng } else { Container::Pcap };
        let options = WriteOptions { container, ..OPTIONS };
        let (file, summary) = written(&flows, &columns, options).unwrap();
        prop_assert_eq!(summary.packets, packets.len() as u64);
        prop_assert_eq!(summary.file_bytes, file.len() as u64);
        let found = records(&file, container);
        prop_assert_eq!(found.len(), packets.len());
        for (index, (since_1970_ns, original, frame)) in found.iter().enumerate() {
            let packet = &packets[index];
            prop_assert_eq!(*since_1970_ns as i64, OPTIONS.origin_ns + time_ns[index]);
            prop_assert_eq!(*original, packet.ip_bytes + 14);
            assert_sound(frame, packet.ip_bytes);
            let parsed = SlicedPacket::from_ethernet(frame).unwrap();
            let ends = &flows[packet.flow as usize];
            let source = match parsed.net.as_ref().unwrap() {
                NetSlice::Ipv4(ip) => IpAddr::V4(ip.header().source_addr()),
                NetSlice::Ipv6(ip) => IpAddr::V6(ip.header().source_addr()),
                NetSlice::Arp(_) => panic!("ARP"),
            };
            prop_assert_eq!(source, if packet.to_client { ends.server } else { ends.client });
            match parsed.transport.unwrap() {
                TransportSlice::Udp(udp) => {
                    let port = if packet.to_client { 5004 } else { 40_000 };
                    prop_assert_eq!(udp.source_port(), port);
                    if let Some((ssrc, sequence, timestamp, marker)) = packet.rtp {
                        let mut expected = vec![0x80, 96 | u8::from(marker) << 7];
                        expected.extend(sequence.to_be_bytes());
                        expected.extend(timestamp.to_be_bytes());
                        expected.extend(ssrc.unwrap_or(7).to_be_bytes());
                        prop_assert_eq!(&udp.payload()[..12], &expected[..]);
                    }
                }
                TransportSlice::Tcp(tcp) => {
                    let expected_payload = if payload_bytes[index] > 0 {
                        payload_bytes[index] as usize
                    } else {
                        tcp.payload().len()
                    };
                    prop_assert_eq!(tcp.payload().len(), expected_payload);
                    if let Some((sequence, acknowledgement, flags, window)) = packet.tcp {
                        prop_assert_eq!(tcp.sequence_number(), sequence);
                        prop_assert_eq!(tcp.acknowledgment_number(), acknowledgement);
                        prop_assert_eq!(tcp.slice()[13], flags);
                        prop_assert_eq!(u32::from(tcp.window_size()), window.min(65_535));
                    }
                }
                _ => {}
            }
        }
    }
}

#[test]
fn sequence_numbers_that_the_table_leaves_open_grow_with_payload_and_acknowledge_the_other_side() {
    let mut columns = Columns::default();
    let flags = [0x02, 0x12, 0x10, 0x18, 0x10, 0x11];
    for (to_client, ip_bytes) in
        [(false, 40), (true, 40), (false, 40), (true, 540), (false, 40), (false, 40)]
    {
        columns.push(1, to_client, ip_bytes);
    }
    for (payload, ip_bytes) in columns.payload_bytes.iter_mut().zip(&columns.ip_bytes) {
        *payload = ip_bytes - 40;
    }
    let with_flags = PacketColumns {
        tcp_flags: Some(Nullable { values: &flags, known: None }),
        ..columns.plain()
    };
    let (file, _) = written(&four_flows(), &with_flags, OPTIONS).unwrap();
    let headers: Vec<_> =
        records(&file, Container::Pcap).iter().map(|(_, _, frame)| tcp_of(frame)).collect();
    let numbers: Vec<_> =
        headers.iter().map(|h| (h.sequence_number, h.acknowledgment_number)).collect();
    assert_eq!(numbers, [(1, 0), (1, 2), (2, 2), (2, 2), (2, 502), (2, 502)]);
}

#[test]
fn a_udp_checksum_that_comes_out_as_zero_is_sent_as_all_ones() {
    // Over all RTP sequence numbers the checksum takes every value but one of the two zeros.
    let sequence: Vec<u16> = (0..=u16::MAX).collect();
    let count = sequence.len();
    let mut columns = Columns::default();
    (0..count).for_each(|_| columns.push(0, true, 40));
    let with_rtp = PacketColumns {
        rtp_sequence: Some(Nullable { values: &sequence, known: None }),
        ..columns.plain()
    };
    let (file, _) = written(&four_flows(), &with_rtp, OPTIONS).unwrap();
    let checksums: Vec<u16> = records(&file, Container::Pcap)
        .iter()
        .map(|(_, _, frame)| u16::from_be_bytes([frame[40], frame[41]]))
        .collect();
    assert!(checksums.contains(&0xffff));
    assert!(!checksums.contains(&0));
}

#[test]
fn identifications_of_one_direction_grow_by_one() {
    let mut columns = Columns::default();
    (0..5).for_each(|_| columns.push(0, true, 100));
    let (file, _) = written(&four_flows(), &columns.plain(), OPTIONS).unwrap();
    let found: Vec<u16> = records(&file, Container::Pcap)
        .iter()
        .map(|(_, _, frame)| u16::from_be_bytes([frame[18], frame[19]]))
        .collect();
    assert!(found.windows(2).all(|pair| pair[1] == pair[0].wrapping_add(1)));
}

#[test]
fn only_tcp_forbids_fragmenting_and_every_packet_has_64_hops_left() {
    let mut columns = Columns::default();
    columns.push(0, true, 100);
    columns.push(1, true, 100);
    let (file, _) = written(&four_flows(), &columns.plain(), OPTIONS).unwrap();
    let frames = records(&file, Container::Pcap);
    assert_eq!(frames.iter().map(|(_, _, f)| f[20]).collect::<Vec<_>>(), [0x00, 0x40]);
    assert_eq!(frames.iter().map(|(_, _, f)| f[22]).collect::<Vec<_>>(), [64, 64]);
}

#[test]
fn the_snaplen_cuts_the_bytes_and_keeps_the_original_length() {
    for container in [Container::Pcap, Container::Pcapng] {
        for snaplen_bytes in [20, 54, 61, 200] {
            let mut columns = Columns::default();
            (0..3).for_each(|_| columns.push(0, true, 1000));
            let options = WriteOptions { container, snaplen_bytes, ..OPTIONS };
            let (file, _) = written(&four_flows(), &columns.plain(), options).unwrap();
            let found = records(&file, container);
            assert_eq!(found.len(), 3);
            assert!(found
                .iter()
                .all(|(_, original, bytes)| *original == 1014
                    && bytes.len() == snaplen_bytes as usize));
        }
    }
}

#[test]
fn a_packet_too_small_for_its_headers_is_named_or_raised_as_asked() {
    let mut columns = Columns::default();
    columns.push(0, true, 100);
    columns.push(1, true, 39);
    let refused = written(&four_flows(), &columns.plain(), OPTIONS);
    assert!(matches!(
        refused,
        Err(WriteError::TooSmall { row: 1, flow: 1, ip_bytes: 39, required_bytes: 40 })
    ));
    let options = WriteOptions { raise_small: true, ..OPTIONS };
    let (file, summary) = written(&four_flows(), &columns.plain(), options).unwrap();
    assert_eq!((summary.packets, summary.packets_raised, summary.ip_bytes), (2, 1, 140));
    assert_sound(&records(&file, Container::Pcap)[1].2, 40);
}

#[test]
fn impossible_lengths_flows_and_times_are_refused_with_the_row() {
    let refused = |change: fn(&mut Columns), origin_ns: i64| {
        let mut columns = Columns::default();
        (0..3).for_each(|_| columns.push(0, true, 100));
        change(&mut columns);
        written(&four_flows(), &columns.plain(), WriteOptions { origin_ns, ..OPTIONS })
            .map(|_| ())
            .unwrap_err()
    };
    let error = refused(|c| c.ip_bytes[2] = 65_536, 0);
    assert!(matches!(error, WriteError::TooLarge { row: 2, allowed_bytes: 65_535, .. }));
    assert!(matches!(
        refused(|c| c.flow[1] = 6, 0),
        WriteError::UnknownFlow { row: 1, flow: 6, flows: 6 }
    ));
    assert!(matches!(
        refused(|c| c.time_ns[1] = 5_000, 0),
        WriteError::OutOfOrder { row: 2, back_ns: 3_000 }
    ));
    assert!(matches!(refused(|_| (), -1), WriteError::BeforeEpoch { row: 0 }));
    assert!(matches!(refused(|_| (), i64::MAX), WriteError::TooLate { row: 0 }));
    assert!(matches!(
        refused(|c| c.flow.truncate(1), 0),
        WriteError::ColumnLength { column: "flow", .. }
    ));
}

#[test]
fn frames_without_ip_are_left_out_and_counted() {
    let flows = vec![
        ends(Protocol::NotIp, "0.0.0.0", "0.0.0.0"),
        ends(Protocol::Udp, "192.0.2.1", "198.51.100.2"),
    ];
    let mut columns = Columns::default();
    columns.push(0, true, 0);
    columns.push(1, true, 100);
    let (file, summary) = written(&flows, &columns.plain(), OPTIONS).unwrap();
    assert_eq!((summary.packets, summary.packets_left_out), (1, 1));
    assert_eq!(records(&file, Container::Pcap).len(), 1);
}

#[test]
fn the_reason_of_a_failed_write_comes_back_while_writing_or_at_the_end() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    for packets in [1, 5_000] {
        let mut columns = Columns::default();
        (0..packets).for_each(|_| columns.push(0, true, 1_500));
        let mut writer = CaptureWriter::new(Full, &four_flows(), OPTIONS).unwrap();
        let failed = writer.write(&columns.plain()).and_then(|()| writer.finish().map(|_| ()));
        assert!(matches!(
            failed,
            Err(WriteError::Io(error)) if error.kind() == std::io::ErrorKind::StorageFull
        ));
    }
}

#[test]
fn a_flow_between_ip_versions_is_refused() {
    let flows = [ends(Protocol::Udp, "192.0.2.1", "2001:db8::2")];
    let refused = CaptureWriter::new(Vec::new(), &flows, OPTIONS);
    assert!(matches!(refused.map(|_| ()), Err(WriteError::MixedVersions { flow: 0, .. })));
}

#[test]
fn other_protocols_are_ip_packets_with_their_number() {
    let mut columns = Columns::default();
    columns.push(0, true, 60);
    let flows = [ends(Protocol::from_number(50), "192.0.2.1", "198.51.100.2")];
    let (file, _) = written(&flows, &columns.plain(), OPTIONS).unwrap();
    let frame = &records(&file, Container::Pcap)[0].2;
    assert_eq!((frame.len(), frame[23]), (74, 50));
    assert!(frame[34..].iter().all(|&byte| byte == 0));
}

#[test]
fn network_cards_have_the_addresses_given_and_groups_keep_their_own() {
    let macs = EndMacs { server: [2, 0, 0, 0, 0, 1], client: [2, 0, 0, 0, 0, 2] };
    let flows = [
        ends(Protocol::Udp, "192.0.2.1", "198.51.100.2"),
        ends(Protocol::Udp, "2001:db8::1", "ff02::5:6"),
    ];
    let mut columns = Columns::default();
    for (flow, to_client) in [(0, true), (0, false), (1, true)] {
        columns.push(flow, to_client, 100);
    }
    let options = WriteOptions { macs: Some(macs), ..OPTIONS };
    let (file, _) = written(&flows, &columns.plain(), options).unwrap();
    let found: Vec<_> =
        records(&file, Container::Pcap).iter().map(|(_, _, frame)| frame[..12].to_vec()).collect();
    let group = [0x33, 0x33, 0, 5, 0, 6];
    assert_eq!(
        found,
        [
            [macs.client, macs.server].concat(),
            [macs.server, macs.client].concat(),
            [group, macs.server].concat()
        ]
    );
}

#[test]
fn a_pcap_with_microseconds_has_times_rounded_to_the_nearest() {
    let mut columns = Columns::default();
    (0..4).for_each(|_| columns.push(0, true, 100));
    columns.time_ns = vec![0, 1_499, 1_500, 999_999_501];
    let options = WriteOptions { container: Container::PcapMicroseconds, ..OPTIONS };
    let (file, _) = written(&four_flows(), &columns.plain(), options).unwrap();
    assert_eq!(file[..4], [0xd4, 0xc3, 0xb2, 0xa1]);
    let mut reader = LegacyPcapReader::new(1 << 16, &file[..]).unwrap();
    let mut times = Vec::new();
    while let Ok((used, block)) = reader.next() {
        if let PcapBlockOwned::Legacy(record) = block {
            times.push((record.ts_sec, record.ts_usec));
        }
        reader.consume(used);
    }
    assert_eq!(
        times,
        [(1_700_000_000, 0), (1_700_000_000, 1), (1_700_000_000, 2), (1_700_000_001, 0)]
    );
}
