//! QUIC over a path that loses, delays and reorders packets: what is written arrives, once.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use proptest::prelude::*;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use trafficgen_core::transport::quic::{Endpoint, Packet, QuicConfig, StreamId};
use trafficgen_core::transport::{CongestionControl, Time};

const MS: Time = 1_000_000;
const SECOND: Time = 1_000 * MS;

/// A connection over a path without a queue.
struct Wire {
    now: Time,
    ends: [Endpoint; 2],
    loss: f64,
    jitter_ns: Time,
    rng: SmallRng,
    /// Packets of the server, by their number, that get lost.
    lost_numbers: Vec<u64>,
    /// So many of the server's next packets are marked on their way.
    marks: u32,
    under_way: BinaryHeap<Reverse<(Time, u64, usize)>>,
    packets: Vec<Packet>,
    /// What left each end, and when.
    sent: [Vec<(Time, Packet)>; 2],
    /// Up to where the client has each stream, and since when.
    delivered: BTreeMap<StreamId, (u64, Time)>,
}

const SERVER: usize = 0;
const CLIENT: usize = 1;
const DELAY_NS: Time = 20 * MS;

impl Wire {
    fn new(config: &QuicConfig, loss: f64, jitter_ns: Time, seed: u64) -> Self {
        let mut wire = Self {
            now: 0,
            ends: [Endpoint::new(config), Endpoint::new(config)],
            loss,
            jitter_ns,
            rng: SmallRng::seed_from_u64(seed),
            lost_numbers: Vec::new(),
            marks: 0,
            under_way: BinaryHeap::new(),
            packets: Vec::new(),
            sent: [Vec::new(), Vec::new()],
            delivered: BTreeMap::new(),
        };
        wire.ends[SERVER].listen();
        wire.act(CLIENT, |end, now, out| end.connect(now, out));
        wire
    }

    fn act(&mut self, end: usize, act: impl FnOnce(&mut Endpoint, Time, &mut Vec<Packet>)) {
        let mut out = Vec::new();
        act(&mut self.ends[end], self.now, &mut out);
        for mut packet in out {
            packet.marked = end == SERVER && self.marks > 0;
            self.marks -= u32::from(packet.marked);
            self.sent[end].push((self.now, packet));
            let named = end == SERVER && self.lost_numbers.contains(&packet.number);
            if named || self.rng.random::<f64>() < self.loss {
                continue;
            }
            let jitter = (self.rng.random::<f64>() * self.jitter_ns as f64) as Time;
            self.packets.push(packet);
            let number = self.packets.len() as u64;
            self.under_way.push(Reverse((self.now + DELAY_NS + jitter, number, 1 - end)));
        }
    }

    /// Runs until nothing is left to happen or `until`; messages go out as soon as they may.
    fn run(&mut self, until: Time) {
        loop {
            let arrival = self.under_way.peek().map_or(Time::MAX, |Reverse((at, ..))| *at);
            let timers =
                [SERVER, CLIENT].map(|end| self.ends[end].next_timer().unwrap_or(Time::MAX));
            let next = arrival.min(timers[SERVER]).min(timers[CLIENT]);
            if next > until {
                break;
            }
            self.now = self.now.max(next);
            if next == arrival {
                let Some(Reverse((_, number, to))) = self.under_way.pop() else { break };
                let packet = self.packets[number as usize - 1];
                self.act(to, |end, now, out| end.on_packet(now, &packet, out));
                self.read(to);
            } else {
                let end = if timers[SERVER] == next { SERVER } else { CLIENT };
                self.act(end, |end, now, out| end.on_timer(now, out));
            }
        }
        self.now = self.now.max(until.min(1_000 * SECOND));
    }

    fn read(&mut self, to: usize) {
        while let Some((stream, arrived)) = self.ends[to].next_advanced() {
            if to == CLIENT {
                self.delivered.insert(stream, (arrived, self.now));
            }
        }
        self.act(to, |end, now, out| end.read(now, u64::MAX, out));
    }

    fn write(&mut self, stream: StreamId, bytes: u64) -> u64 {
        let mut accepted = 0;
        self.act(SERVER, |end, now, out| accepted = end.write(now, stream, bytes, out));
        accepted
    }
}

fn control() -> impl Strategy<Value = CongestionControl> {
    prop_oneof![
        Just(CongestionControl::Reno),
        Just(CongestionControl::Cubic),
        Just(CongestionControl::Bbr),
        Just(CongestionControl::Bbr3),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Bytes are conserved stream by stream, no number is used twice, and nothing stays under way.
    #[test]
    fn all_that_is_written_arrives_whatever_the_path_does(
        congestion_control in control(),
        streams in prop::collection::vec(1u64..200_000, 1..5),
        loss in 0.0f64..0.3,
        jitter_ms in 0i64..30,
        zero_rtt in any::<bool>(),
        fills_window in any::<bool>(),
        receive_buffer_bytes in prop_oneof![Just(20_000u64), Just(6 << 20)],
        ack_every_packets in 1u32..5,
        seed in any::<u64>(),
    ) {
        let config = QuicConfig {
            congestion_control,
            zero_rtt,
            fills_window,
            receive_buffer_bytes,
            ack_every_packets,
            ..QuicConfig::default()
        };
        let mut wire = Wire::new(&config, loss, jitter_ms * MS, seed);
        for (stream, bytes) in streams.iter().enumerate() {
            prop_assert_eq!(wire.write(stream as StreamId, *bytes), *bytes);
        }
        wire.run(900 * SECOND);
        let arrived: Vec<_> = wire.delivered.values().map(|(bytes, _)| *bytes).collect();
        prop_assert_eq!(&arrived, &streams);
        prop_assert_eq!(wire.ends[CLIENT].received_bytes(), streams.iter().sum::<u64>());
        let statistics = wire.ends[SERVER].statistics();
        prop_assert_eq!(statistics.acknowledged_bytes, streams.iter().sum::<u64>());
        prop_assert_eq!(statistics.pipe_bytes, 0);
        prop_assert_eq!(wire.ends[SERVER].space_bytes(), config.send_buffer_bytes);
        for sent in &wire.sent {
            prop_assert!(sent.iter().zip(0..).all(|((_, packet), number)| packet.number == number));
            prop_assert!(sent.iter().all(|(_, packet)| packet.bytes <= config.datagram_bytes));
        }
    }
}

/// Stretches that are sent again are cut anew: one may end within another that had come before.
#[test]
fn a_stream_whose_lost_stretches_are_cut_anew_arrives_whole() {
    let config = QuicConfig {
        zero_rtt: true,
        receive_buffer_bytes: 20_000,
        ack_every_packets: 4,
        ..QuicConfig::default()
    };
    let mut wire = Wire::new(&config, 0.204, 7 * MS, 8_318_954_310_371_132_932);
    let streams = [6_160, 23_304];
    for (stream, bytes) in streams.iter().enumerate() {
        assert_eq!(wire.write(stream as StreamId, *bytes), *bytes);
    }
    wire.run(900 * SECOND);
    let arrived: Vec<_> = wire.delivered.values().map(|(bytes, _)| *bytes).collect();
    assert_eq!(arrived, streams);
}

#[test]
fn a_lost_packet_holds_up_the_message_of_its_own_stream_only() {
    let config = QuicConfig { zero_rtt: true, ..QuicConfig::default() };
    let mut wire = Wire::new(&config, 0.0, 0, 1);
    wire.run(SECOND);
    let next = wire.sent[SERVER].len() as u64;
    wire.lost_numbers = vec![next];
    for stream in 0..3 {
        wire.write(stream, 3_000);
    }
    wire.run(2 * SECOND);
    let at = |stream| wire.delivered.get(&stream).map_or(0, |(_, at)| *at);
    assert_eq!((at(1), at(2)), (SECOND + DELAY_NS, SECOND + DELAY_NS));
    assert!(at(0) >= SECOND + 3 * DELAY_NS, "{}", at(0));
}

#[test]
fn a_request_arrives_after_half_a_round_trip_with_0_rtt_and_after_one_and_a_half_without() {
    for (zero_rtt, expected) in [(true, DELAY_NS), (false, 3 * DELAY_NS)] {
        let config = QuicConfig { zero_rtt, ..QuicConfig::default() };
        let mut wire = Wire::new(&config, 0.0, 0, 1);
        wire.act(CLIENT, |end, now, out| {
            end.write(now, 0, 300, out);
        });
        while wire.ends[SERVER].received_bytes() < 300 && wire.now < SECOND {
            wire.run(wire.now + MS);
        }
        assert_eq!(wire.now, expected, "{zero_rtt}");
        let first = wire.sent[CLIENT][0].1;
        assert_eq!(first.bytes, 1200);
    }
}

#[test]
fn the_last_packet_of_a_flight_is_found_lost_by_a_probe() {
    let mut wire = Wire::new(&QuicConfig::default(), 0.0, 0, 1);
    wire.run(SECOND);
    wire.lost_numbers = vec![wire.sent[SERVER].len() as u64 + 2];
    wire.write(0, 3_500);
    wire.run(3 * SECOND);
    let statistics = wire.ends[SERVER].statistics();
    assert_eq!(wire.delivered.get(&0).map(|(bytes, _)| *bytes), Some(3_500));
    assert_eq!(statistics.timeouts, 1);
    // A probe timeout: the round trip, its deviation and the longest delay of an acknowledgement.
    let at = wire.delivered.get(&0).map_or(0, |(_, at)| *at) - SECOND;
    assert!((80 * MS..200 * MS).contains(&at), "{at}");
}

#[test]
fn a_path_that_is_dead_for_seconds_leaves_the_least_window() {
    let mut wire = Wire::new(&QuicConfig::default(), 0.0, 0, 1);
    wire.write(0, 4 << 20);
    wire.run(250 * MS);
    wire.loss = 1.0;
    wire.run(350 * MS);
    let before = wire.ends[SERVER].statistics().cwnd_bytes;
    wire.run(5 * SECOND);
    assert_eq!(wire.ends[SERVER].statistics().cwnd_bytes, before, "silence is no loss");
    wire.loss = 0.0;
    let mut least = before;
    while wire.now < 60 * SECOND {
        wire.run(wire.now + MS);
        least = least.min(wire.ends[SERVER].statistics().cwnd_bytes);
    }
    assert_eq!(least, 2 * 1350);
    assert_eq!(wire.ends[CLIENT].received_bytes(), 4 << 20);
}

#[test]
fn marks_reduce_the_window_once_a_round_trip_and_nothing_is_repeated() {
    let config =
        QuicConfig { congestion_control: CongestionControl::Reno, ..QuicConfig::default() };
    let mut wire = Wire::new(&config, 0.0, 0, 1);
    wire.run(SECOND);
    wire.write(0, 2 << 20);
    wire.run(SECOND + 110 * MS);
    wire.marks = 20; // all of one flight
    let mut largest = 0;
    while wire.now < SECOND + 200 * MS {
        wire.run(wire.now + MS);
        largest = largest.max(wire.ends[SERVER].statistics().cwnd_bytes);
    }
    let statistics = wire.ends[SERVER].statistics();
    assert_eq!((wire.marks, statistics.retransmissions), (0, 0));
    // Half of what was under way, once: twice would leave a quarter.
    let share = statistics.cwnd_bytes as f64 / largest as f64;
    assert!((0.4..0.6).contains(&share), "{share}");
}
