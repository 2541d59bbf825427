//! Exchanges of connections that were written down by hand.

use super::*;

fn packet(from_client: bool, time_ns: i64, at: u32, bytes: u32, heard: u32) -> PacketRow {
    PacketRow {
        time_ns,
        payload_bytes: bytes,
        ssrc_or_sequence: at,
        timestamp_or_acknowledgement: heard,
        payload_type_or_flags: ACK,
        marks: PacketRow::TCP | if from_client { PacketRow::FORWARD } else { 0 },
        ..Default::default()
    }
}

fn measure(rows: &[PacketRow]) -> Vec<Exchange> {
    let mut side = TcpSide::default();
    for row in rows {
        match row.is(PacketRow::FORWARD) {
            true => side.take_from_client(row),
            false => side.take_from_server(row),
        }
    }
    let heard_ns = None;
    side.exchanges().into_iter().map(|found| Exchange { heard_ns, ..found }).collect()
}

#[test]
fn the_client_hears_of_a_response_when_it_acknowledges_all_of_it() {
    let mut side = TcpSide::default();
    side.take_from_client(&packet(true, 0, 10, 20, 1));
    side.take_from_server(&packet(false, 3, 1, 100, 30));
    side.take_from_server(&packet(false, 4, 101, 100, 30));
    side.take_from_client(&packet(true, 8, 30, 0, 101));
    side.take_from_client(&packet(true, 9, 30, 0, 201));
    side.take_from_client(&packet(true, 20, 30, 5, 201));
    let heard: Vec<Option<i64>> = side.exchanges().iter().map(|one| one.heard_ns).collect();
    assert_eq!(heard, [Some(9), None]);
}

fn exchange(request: (i64, u64), answer: (i64, i64, u64)) -> Exchange {
    Exchange {
        request_ns: Some(request.0),
        request_bytes: request.1,
        first_byte_ns: Some(answer.0),
        last_byte_ns: Some(answer.1),
        response_bytes: answer.2,
        ..Default::default()
    }
}

#[test]
fn retransmissions_count_once_and_acknowledgements_ask_nothing() {
    let found = measure(&[
        packet(true, 0, 100, 50, 900),
        packet(true, 1, 100, 50, 900),   // again
        packet(false, 2, 900, 10, 150),  // the first of two
        packet(false, 4, 1000, 10, 150), // 910 to 1000 is lost, and comes later
        packet(true, 5, 150, 0, 910),
        packet(false, 7, 910, 90, 150),
        packet(false, 8, 910, 90, 150), // again
        packet(true, 20, 150, 40, 1010),
        packet(false, 22, 1010, 5, 190),
    ]);
    assert_eq!(found, [exchange((0, 50), (2, 7, 110)), exchange((20, 40), (22, 22, 5))]);
}

#[test]
fn what_the_capture_missed_counts_by_its_numbers() {
    let wrap = u32::MAX - 9;
    // Neither the response's end nor the next request was captured.
    let found = measure(&[
        packet(true, 0, 10, 20, wrap),
        packet(false, 3, wrap, 100, 30),
        packet(true, 5, 30, 0, wrap.wrapping_add(300)),
        packet(false, 9, wrap.wrapping_add(300), 50, 70),
    ]);
    let unseen = Exchange { request_ns: None, ..exchange((0, 40), (9, 9, 50)) };
    assert_eq!(found, [exchange((0, 20), (3, 5, 300)), unseen]);
    // Of the server's packets there is nothing: what the client acknowledges tells of them.
    let found = measure(&[
        packet(true, 0, 10, 20, 1),
        packet(true, 4, 30, 0, 501),
        packet(true, 6, 30, 7, 501),
        packet(true, 8, 37, 0, 701),
    ]);
    assert_eq!(found, [exchange((0, 20), (4, 4, 500)), exchange((6, 7), (8, 8, 200))]);
}

#[test]
fn bytes_belong_to_the_request_that_their_packet_acknowledges() {
    // The second request meets the end of the first response on its way.
    let found = measure(&[
        packet(true, 0, 10, 20, 1),
        packet(false, 3, 1, 100, 30),
        packet(true, 4, 30, 20, 101),
        packet(false, 5, 101, 100, 30),
        packet(false, 9, 201, 70, 50),
    ]);
    assert_eq!(found, [exchange((0, 20), (3, 5, 200)), exchange((4, 20), (9, 9, 70))]);
}

#[test]
fn a_capture_may_begin_within_a_response() {
    let found = measure(&[
        packet(false, 0, 5000, 100, 77),
        packet(true, 1, 77, 30, 5100),
        packet(false, 2, 5100, 10, 107),
    ]);
    assert_eq!((found[0].request_ns, found[0].response_bytes), (None, 100));
    assert_eq!(found[1], exchange((1, 30), (2, 2, 10)));
}

#[test]
fn tls_handshakes_are_control_and_window_updates_are_no_requests() {
    let marked = |row: PacketRow, mark| PacketRow { marks: row.marks | mark, ..row };
    let found = measure(&[
        marked(packet(true, 0, 1, 500, 1), PacketRow::HANDSHAKE),
        packet(false, 1, 1, 3000, 501),
        marked(packet(true, 2, 501, 80, 3001), PacketRow::HANDSHAKE),
        marked(packet(true, 3, 581, 300, 3001), PacketRow::MESSAGE),
        packet(false, 5, 3001, 1000, 881),
        marked(packet(true, 6, 881, 35, 4001), PacketRow::MESSAGE),
        packet(false, 7, 4001, 1000, 916),
    ]);
    let control = |exchange: Exchange| Exchange { is_control: true, ..exchange };
    let finished = Exchange { request_ns: Some(2), request_bytes: 80, ..Default::default() };
    assert_eq!(
        found,
        [
            control(exchange((0, 500), (1, 1, 3000))),
            control(finished),
            exchange((3, 300), (5, 7, 2000))
        ]
    );
}
