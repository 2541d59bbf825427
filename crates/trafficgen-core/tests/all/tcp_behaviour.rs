//! What a TCP connection does over a path that loses, delays and overtakes.

use crate::dumbbell::{Loss, Network, Path, Reader, MS, SECOND};
use proptest::prelude::*;
use trafficgen_core::transport::{
    flag, CongestionControl, Endpoint, SackBlock, Segment, SlowStartExit, TcpConfig, Time,
    Timestamps,
};

const SEGMENT_BYTES: u64 = 1448;

fn reno() -> TcpConfig {
    TcpConfig {
        congestion_control: CongestionControl::Reno,
        send_buffer_bytes: 1 << 40,
        ..TcpConfig::default()
    }
}

/// One transfer of `segments` full segments over 100 ms round trips, as far as 60 s bring it.
fn transfer(config: &TcpConfig, segments: u64, loss: Loss) -> Network {
    let mut network = Network::new(Path { loss, ..Path::of(50 * MS) }, 1);
    network.add(config, config, segments * SEGMENT_BYTES, Reader::Eager);
    network.flows[0].keep_log = true;
    network.run_until(60 * SECOND);
    network
}

/// Times and segments with payload as they left the server.
fn data(network: &Network) -> Vec<(Time, Segment)> {
    network.flows[0].log.iter().filter(|(_, segment)| segment.payload_bytes > 0).copied().collect()
}

/// Segments of each departure of a flow over 100 Mbit/s, and how many of its segments push.
fn departures(rack: bool) -> (Vec<usize>, usize) {
    let config = TcpConfig { rack: Some(rack), ..TcpConfig::default() };
    let path = Path { rate: Some((100e6 / 8.0, 400)), ..Path::of(10 * MS) };
    let mut network = Network::greedy(path, &config, 1);
    network.run_until(5 * SECOND);
    network.flows[0].keep_log = true;
    network.run_until(7 * SECOND);
    let sent = data(&network);
    let bursts = sent.chunk_by(|one, other| one.0 == other.0).map(<[_]>::len).collect();
    (bursts, sent.iter().filter(|(_, segment)| segment.has(flag::PSH)).count())
}

#[test]
fn bursts_are_a_millisecond_long_and_end_with_a_push() {
    let (bursts, pushes) = departures(true);
    let (pairs, none) = departures(false);
    let mean = |sizes: &[usize]| sizes.iter().sum::<usize>() as f64 / sizes.len() as f64;
    // 1.2 times the rate for a millisecond is ten segments.
    assert!((8.0..11.0).contains(&mean(&bursts)), "{}", mean(&bursts));
    assert!((0.9..1.1).contains(&(pushes as f64 / bursts.len() as f64)), "{pushes}");
    assert!(mean(&pairs) < 3.0 && none == 0, "{} {none}", mean(&pairs));
}

/// A connection after its handshake, and what the client's last segment drew from the server.
fn handshake(server: &TcpConfig, client: &TcpConfig) -> (Endpoint, Endpoint) {
    let (mut server, mut client) = (Endpoint::new(server), Endpoint::new(client));
    let (mut there, mut back) = (Vec::new(), Vec::new());
    server.listen();
    client.connect(0, &mut there);
    for now in [10, 20] {
        there.drain(..).for_each(|segment| server.on_segment(now * MS, &segment, &mut back));
        back.drain(..).for_each(|segment| client.on_segment((now + 5) * MS, &segment, &mut there));
    }
    there.drain(..).for_each(|segment| server.on_segment(30 * MS, &segment, &mut back));
    (server, client)
}

#[test]
fn three_segments_open_a_connection_and_agree_on_options() {
    let mut client = Endpoint::new(&TcpConfig::default());
    let mut server = Endpoint::new(&TcpConfig { timestamps: false, ..TcpConfig::default() });
    let (mut there, mut back) = (Vec::new(), Vec::new());
    server.listen();
    client.connect(0, &mut there);
    assert_eq!((there.len(), there[0].flags, there[0].header_bytes), (1, flag::SYN, 40));
    server.on_segment(10 * MS, &there[0], &mut back);
    assert_eq!((back.len(), back[0].flags, back[0].header_bytes), (1, flag::SYN | flag::ACK, 32));
    assert!(!server.is_established() && !client.is_established());
    there.clear();
    client.on_segment(20 * MS, &back[0], &mut there);
    assert!(client.is_established());
    assert_eq!((there.len(), there[0].flags, there[0].header_bytes), (1, flag::ACK, 20));
    assert_eq!((there[0].wire_sequence(), there[0].wire_acknowledgement()), (1, 1));
    back.clear();
    server.on_segment(30 * MS, &there[0], &mut back);
    assert!(server.is_established() && back.is_empty());
    assert_eq!((client.statistics().srtt_ns, server.statistics().srtt_ns), (20 * MS, 20 * MS));
}

#[test]
fn a_lost_syn_is_repeated_after_one_three_and_seven_seconds_until_it_is_given_up() {
    let mut client = Endpoint::new(&TcpConfig::default());
    let (mut out, mut times) = (Vec::new(), Vec::new());
    client.connect(0, &mut out);
    while let Some(time) = client.next_timer() {
        out.clear();
        client.on_timer(time - 1, &mut out);
        assert!(out.is_empty());
        client.on_timer(time, &mut out);
        times.push(time / SECOND);
        assert!(out.iter().all(|segment| segment.retransmission));
    }
    assert_eq!(times, [1, 3, 7, 15, 31, 63, 127]);
    assert!(client.is_closed() && out.is_empty());
}

#[test]
fn after_a_lost_syn_the_window_starts_at_one_segment() {
    let (mut server, mut client) = (Endpoint::new(&reno()), Endpoint::new(&reno()));
    let (mut there, mut back) = (Vec::new(), Vec::new());
    server.listen();
    client.connect(0, &mut there);
    there.clear();
    client.on_timer(SECOND, &mut there);
    server.on_segment(SECOND, &there[0], &mut back);
    there.clear();
    client.on_segment(SECOND, &back[0], &mut there);
    assert_eq!(client.statistics().cwnd_bytes, SEGMENT_BYTES);
}

#[test]
fn slow_start_doubles_what_is_sent_in_each_round_trip() {
    for delayed_acks in [false, true] {
        let network = transfer(&TcpConfig { delayed_acks, ..reno() }, 2000, Loss::Never);
        let rounds: Vec<_> = (1..6)
            .map(|round| {
                data(&network)
                    .iter()
                    .filter(|(time, _)| (time + 50 * MS) / (100 * MS) == round + 1)
                    .count()
            })
            .collect();
        // an odd window leaves its last acknowledgement to the timer
        let doubled = [10, 20, 40, 80, 160];
        for (count, expected) in rounds.iter().zip(doubled) {
            assert!(
                count.abs_diff(expected) <= expected / 10,
                "{rounds:?}, delayed {delayed_acks}"
            );
        }
    }
}

#[test]
fn counting_acknowledgements_slows_the_start_when_they_are_delayed() {
    let config = TcpConfig { appropriate_byte_counting: false, ..reno() };
    let network = transfer(&config, 2000, Loss::Never);
    let third =
        data(&network).iter().filter(|(time, _)| (time + 50 * MS) / (100 * MS) == 4).count();
    assert!((21..=24).contains(&third), "{third}"); // 10 * 1.5^2
}

#[test]
fn a_single_loss_is_repaired_by_fast_retransmit_without_a_timeout() {
    for (sack, timestamps, rack) in [
        (false, false, false),
        (false, true, true),
        (true, false, false),
        (true, true, false),
        (true, false, true),
        (true, true, true),
    ] {
        let network = transfer(
            &TcpConfig { sack, timestamps, rack: Some(rack), mss_bytes: 1460, ..reno() },
            400,
            Loss::These(vec![40]),
        );
        let flow = &network.flows[0];
        let statistics = flow.server.statistics();
        assert_eq!(
            (statistics.fast_retransmits, statistics.timeouts, statistics.retransmissions),
            (1, 0, 1)
        );
        assert_eq!(flow.client.received_bytes(), 400 * SEGMENT_BYTES);
        assert!(flow.server.is_closed() && flow.client.is_closed());
        assert!(statistics.ssthresh_bytes < 40 * SEGMENT_BYTES);
    }
}

#[test]
fn selective_acknowledgements_bring_again_only_what_was_lost() {
    let lost = vec![60, 61, 64, 67, 70, 71, 72, 90];
    for (proportional_rate_reduction, rack) in [(false, false), (true, false), (true, true)] {
        let config = TcpConfig { proportional_rate_reduction, rack: Some(rack), ..reno() };
        let network = transfer(&config, 600, Loss::These(lost.clone()));
        let flow = &network.flows[0];
        let statistics = flow.server.statistics();
        assert_eq!(
            (statistics.retransmissions, statistics.timeouts, statistics.fast_retransmits),
            (8, 0, 1)
        );
        let again = data(&network).into_iter().filter(|(_, segment)| segment.retransmission);
        let again: Vec<_> = again.map(|(_, segment)| segment.sequence / SEGMENT_BYTES).collect();
        assert_eq!(again, lost);
    }
}

#[test]
fn newreno_repairs_several_losses_one_round_trip_each_without_a_timeout() {
    let network = transfer(
        &TcpConfig { sack: false, minimum_rto_ns: SECOND, ..reno() },
        600,
        Loss::These(vec![60, 64, 68]),
    );
    let statistics = network.flows[0].server.statistics();
    assert_eq!(
        (statistics.retransmissions, statistics.timeouts, statistics.fast_retransmits),
        (3, 0, 1)
    );
    let again: Vec<_> =
        data(&network).into_iter().filter(|(_, segment)| segment.retransmission).collect();
    assert!(again.windows(2).all(|pair| (pair[1].0 - pair[0].0 - 100 * MS).abs() < 2 * MS));
}

#[test]
fn a_lost_retransmission_is_found_without_a_timeout_when_selective_acknowledgements_go_on() {
    // segment 40 is data segment 40; its repetition leaves a round trip later, among those of the
    // next window
    for rack in [false, true] {
        let config = TcpConfig { rack: Some(rack), ..reno() };
        let first = transfer(&config, 2000, Loss::These(vec![40]));
        let numbers = data(&first);
        let repetition = numbers.iter().position(|(_, segment)| segment.retransmission);
        let lost = vec![40, repetition.map_or(0, |index| index as u64)];
        let network = transfer(&config, 2000, Loss::These(lost));
        let statistics = network.flows[0].server.statistics();
        assert_eq!((statistics.retransmissions, statistics.timeouts), (2, 0), "rack {rack}");
    }
}

/// Timeouts, retransmissions and the time of the last data segment of 100 segments whose `lost`
/// ones get lost.
fn end_of_transfer(config: &TcpConfig, lost: &[u64]) -> (u64, u64, Time) {
    let network = transfer(config, 100, Loss::These(lost.to_vec()));
    let statistics = network.flows[0].server.statistics();
    assert_eq!(network.flows[0].client.received_bytes(), 100 * SEGMENT_BYTES);
    let last_at = data(&network).last().map_or(0, |(time, _)| *time);
    (statistics.timeouts, statistics.retransmissions, last_at)
}

#[test]
fn a_probe_repairs_a_lost_tail_without_a_timeout() {
    let rack = TcpConfig { rack: Some(true), ..reno() };
    let without = TcpConfig { rack: Some(false), ..reno() };
    let (_, _, whole_at) = end_of_transfer(&rack, &[]);
    // The FIN is a segment of its own beyond the last data.
    for (lost, least) in [(vec![99], 1), (vec![97, 98, 99], 3)] {
        let (timeouts, retransmissions, last_at) = end_of_transfer(&rack, &lost);
        assert_eq!((timeouts, retransmissions), (0, least), "{lost:?}");
        // One round trip until all else is acknowledged, two until the probe, one for its answer.
        assert!(last_at - whole_at < 520 * MS, "{lost:?}: {last_at} after {whole_at}");
        let (timeouts, _, later_at) = end_of_transfer(&without, &lost);
        assert!(timeouts > 0 && later_at > last_at, "{lost:?}: {later_at}");
    }
}

#[test]
fn one_arrival_beyond_a_hole_shows_it_after_a_quarter_of_a_round_trip() {
    let rack = TcpConfig { rack: Some(true), ..reno() };
    let (_, _, whole_at) = end_of_transfer(&rack, &[]);
    let (timeouts, retransmissions, last_at) = end_of_transfer(&rack, &[98]);
    assert_eq!((timeouts, retransmissions), (0, 1));
    assert!((110 * MS..140 * MS).contains(&(last_at - whole_at)), "{last_at} {whole_at}");
}

#[test]
fn a_path_that_reorders_costs_less_where_losses_are_found_by_time() {
    let [by_count, by_time] = [false, true].map(|rack| {
        let config = TcpConfig { rack: Some(rack), ..reno() };
        let path = Path { jitter_ns: 15 * MS, ..Path::of(50 * MS) };
        let mut network = Network::new(path, 1);
        network.add(&config, &config, 5000 * SEGMENT_BYTES, Reader::Eager);
        network.run_until(300 * SECOND);
        assert_eq!(network.flows[0].client.received_bytes(), 5000 * SEGMENT_BYTES);
        network.flows[0].server.statistics().retransmissions
    });
    assert!(by_count > 50 && by_time * 10 < by_count, "{by_time} of {by_count}");
}

#[test]
fn an_overshoot_of_slow_start_is_repaired_without_a_storm() {
    // 100 Mbit/s, a queue as long as the path: slow start loses about one capacity of 1833 segments
    for (proportional_rate_reduction, lost_retransmission_detection, rack) in
        [(true, true, false), (false, true, false), (false, false, false), (true, true, true)]
    {
        let rack = Some(rack);
        let config = TcpConfig {
            proportional_rate_reduction,
            lost_retransmission_detection,
            rack,
            ..reno()
        };
        let config = TcpConfig { receive_buffer_bytes: 1 << 28, ..config };
        let path = Path { rate: Some((12.5e6, 1000)), ..Path::of(50 * MS) };
        let mut network = Network::greedy(path, &config, 1);
        network.run_until(5 * SECOND);
        let statistics = network.flows[0].server.statistics();
        assert_eq!((statistics.timeouts, statistics.retransmissions), (0, network.dropped));
        assert!((1700..2000).contains(&network.dropped), "{}", network.dropped);
        assert!(network.flows[0].client.received_bytes() > 50_000_000);
    }
}

#[test]
fn timeouts_double_and_start_over_with_one_segment() {
    // everything is lost from the 50th segment on, until four repetitions later
    let network = transfer(&reno(), 60, Loss::These((50..64).collect()));
    let statistics = network.flows[0].server.statistics();
    assert_eq!(network.flows[0].client.received_bytes(), 60 * SEGMENT_BYTES);
    let head: Vec<_> = data(&network)
        .into_iter()
        .filter(|(_, segment)| segment.sequence == 50 * SEGMENT_BYTES)
        .collect();
    let waits: Vec<_> = head.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    assert!(waits.len() == 5 && statistics.timeouts == 5, "{waits:?}");
    assert!(waits[1..].windows(2).all(|pair| pair[1] == 2 * pair[0]), "{waits:?}");
    assert!(waits[1] >= 2 * 300 * MS, "{waits:?}");
}

#[test]
fn the_receive_window_bounds_what_is_outstanding() {
    let client = TcpConfig { receive_buffer_bytes: 20 * SEGMENT_BYTES, ..reno() };
    let mut network = Network::new(Path::of(50 * MS), 1);
    network.add(&reno(), &client, u64::MAX / 4, Reader::Eager);
    let rate = network.goodput(2 * SECOND, 12 * SECOND);
    let bound = 20.0 * SEGMENT_BYTES as f64 / 0.1;
    assert!(rate <= bound && rate > 0.8 * bound, "{rate} of {bound}");
    assert!(network.flows[0].server.statistics().cwnd_bytes <= 2 * 20 * SEGMENT_BYTES);
}

#[test]
fn a_closed_window_is_probed_at_growing_intervals_until_it_opens() {
    let client = TcpConfig { receive_buffer_bytes: 10_000, ..reno() };
    let mut network = Network::new(Path::of(50 * MS), 1);
    network.add(&reno(), &client, 100_000, Reader::From(20 * SECOND));
    network.flows[0].keep_log = true;
    network.run_until(19 * SECOND);
    assert_eq!(network.flows[0].client.received_bytes(), 10_000);
    let probes: Vec<_> = data(&network)
        .iter()
        .filter(|(_, segment)| segment.payload_bytes == 1)
        .map(|probe| probe.0)
        .collect();
    let waits: Vec<_> = probes.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    assert!(
        waits.len() >= 4 && waits.windows(2).all(|pair| (pair[1] / pair[0] - 2.0).abs() < 0.2),
        "{waits:?}"
    );
    network.run_until(60 * SECOND);
    let flow = &network.flows[0];
    assert_eq!((flow.client.received_bytes(), flow.server.statistics().timeouts), (100_000, 0));
    assert!(flow.server.is_closed() && flow.client.is_closed());
}

#[test]
fn reading_opens_a_closed_window_without_a_probe() {
    let client_config = TcpConfig { receive_buffer_bytes: 3 * SEGMENT_BYTES, ..reno() };
    let (mut server, mut client) = handshake(&reno(), &client_config);
    let (mut there, mut back) = (Vec::new(), Vec::new());
    server.write(40 * MS, 10 * SEGMENT_BYTES, &mut back);
    assert_eq!(back.len(), 3);
    back.drain(..).for_each(|segment| client.on_segment(50 * MS, &segment, &mut there));
    client.on_timer(SECOND, &mut there);
    there.drain(..).for_each(|segment| server.on_segment(SECOND, &segment, &mut back));
    assert!(back.is_empty());
    client.read(SECOND, SEGMENT_BYTES / 2, &mut there);
    assert!(there.is_empty(), "a silly window was advertised");
    client.read(SECOND, 3 * SEGMENT_BYTES, &mut there);
    assert_eq!(
        there.iter().map(|segment| u64::from(segment.window_bytes)).collect::<Vec<_>>(),
        [3 * SEGMENT_BYTES]
    );
    server.on_segment(SECOND, &there[0], &mut back);
    assert_eq!(back.len(), 3);
}

#[test]
fn an_idle_connection_starts_again_with_the_initial_window() {
    for (restart_after_idle, expected) in [(true, 10), (false, 30)] {
        let config = TcpConfig { restart_after_idle, ..reno() };
        let mut network = Network::new(Path::of(50 * MS), 1);
        network.add(&config, &config, 0, Reader::Eager);
        network.run_until(SECOND);
        network.flows[0].to_send = u64::MAX / 4;
        let mut out = Vec::new();
        network.flows[0].server.write(SECOND, 500 * SEGMENT_BYTES, &mut out);
        assert_eq!(out.len(), 10);
        // acknowledged at once, in pairs, until everything is through
        let flow = &mut network.flows[0];
        let (mut now, mut back) = (SECOND, Vec::new());
        while !out.is_empty() {
            now += 50 * MS;
            out.drain(..).for_each(|segment| flow.client.on_segment(now, &segment, &mut back));
            flow.client.on_timer(now + 40 * MS, &mut back);
            flow.client.read(now, u64::MAX, &mut back);
            now += 50 * MS;
            back.drain(..).for_each(|segment| flow.server.on_segment(now, &segment, &mut out));
        }
        flow.server.write(now + 5 * SECOND, 500 * SEGMENT_BYTES, &mut out);
        assert!(
            if restart_after_idle { out.len() == expected } else { out.len() >= expected },
            "{}",
            out.len()
        );
    }
}

/// What leaves at once, segments, after `idle_ns` of silence, of a CUBIC that had opened its window
/// to 30 segments, and its threshold in segments.
fn sent_after_idle(idle_ns: Time) -> (usize, u64) {
    let config = TcpConfig { send_buffer_bytes: 1 << 40, ..TcpConfig::default() };
    let (mut server, mut client) = handshake(&config, &config);
    let (mut now, mut there, mut back) = (SECOND, Vec::new(), Vec::new());
    server.write(now, 30 * SEGMENT_BYTES, &mut back);
    while !back.is_empty() || !there.is_empty() {
        now += 50 * MS;
        back.drain(..).for_each(|segment| client.on_segment(now, &segment, &mut there));
        client.on_timer(now + 40 * MS, &mut there);
        client.read(now, u64::MAX, &mut there);
        now += 50 * MS;
        there.drain(..).for_each(|segment| server.on_segment(now, &segment, &mut back));
    }
    let last_sent = now - 100 * MS;
    server.write(last_sent + idle_ns, 500 * SEGMENT_BYTES, &mut back);
    (back.len(), server.statistics().ssthresh_bytes / SEGMENT_BYTES)
}

#[test]
fn a_window_is_halved_for_each_idle_timeout_and_the_threshold_remembers_it() {
    let window = sent_after_idle(150 * MS).0;
    assert!(window > 20, "{window}");
    // A timeout is 300 ms.
    assert_eq!(sent_after_idle(450 * MS).0, window / 2);
    assert_eq!(sent_after_idle(5 * SECOND).0, 10);
}

#[test]
fn hystart_ends_slow_start_before_most_of_what_it_would_lose() {
    let [overshoot, hystart] = [SlowStartExit::Loss, SlowStartExit::Hystart].map(|exit| {
        let config = TcpConfig { slow_start_exit: Some(exit), ..TcpConfig::default() };
        let path = Path { rate: Some((312_500.0, 40)), ..Path::of(20 * MS) };
        let mut network = Network::greedy(path, &config, 1);
        network.run_until(2 * SECOND);
        let received = network.flows[0].client.received_bytes();
        assert!(received > 500_000, "{received}");
        network.dropped
    });
    assert!(overshoot > 20 && hystart * 4 < overshoot, "{hystart} of {overshoot}");
}

#[test]
fn nagle_holds_small_segments_back_while_data_is_outstanding() {
    for (nagle, expected) in [(true, 1), (false, 3)] {
        let (mut server, _) = handshake(&TcpConfig { nagle, ..reno() }, &reno());
        let mut out = Vec::new();
        (0..3).for_each(|_| assert_eq!(server.write(40 * MS, 100, &mut out), 100));
        assert_eq!(out.len(), expected);
    }
}

#[test]
fn the_send_buffer_takes_what_fits_and_frees_what_is_acknowledged() {
    let (mut server, mut client) =
        handshake(&TcpConfig { send_buffer_bytes: 10_000, ..reno() }, &reno());
    let (mut there, mut back) = (Vec::new(), Vec::new());
    assert_eq!(server.write(40 * MS, 25_000, &mut back), 10_000);
    assert_eq!(server.space_bytes(), 0);
    back.iter().for_each(|segment| client.on_segment(50 * MS, segment, &mut there));
    server.on_segment(60 * MS, &there[0], &mut back);
    assert_eq!(server.space_bytes(), 2 * SEGMENT_BYTES);
}

#[test]
fn a_reset_ends_both_ends() {
    let (mut server, mut client) = handshake(&reno(), &reno());
    let mut out = Vec::new();
    server.abort(40 * MS, &mut out);
    assert!(server.is_closed() && out.len() == 1 && out[0].has(flag::RST));
    client.on_segment(50 * MS, &out[0], &mut Vec::new());
    assert!(client.is_closed() && client.next_timer().is_none());
}

/// BBR's window loses something in each round, and without timestamps nothing times a round trip.
#[test]
fn bbr_without_sack_and_timestamps_does_not_wait_a_minute_for_each_repair() {
    let server = TcpConfig {
        congestion_control: CongestionControl::Bbr,
        mss_bytes: 118,
        sack: false,
        timestamps: false,
        delayed_acks: false,
        initial_window_segments: 5,
        quick_acks: Some(5),
        send_buffer_bytes: 12_887,
        receive_buffer_bytes: 46_792,
        nagle: true,
        proportional_rate_reduction: false,
        ..TcpConfig::default()
    };
    let client = TcpConfig {
        mss_bytes: 165,
        timestamps: true,
        send_buffer_bytes: 4_202,
        receive_buffer_bytes: 19_087,
        nagle: false,
        appropriate_byte_counting: false,
        lost_retransmission_detection: false,
        ..server
    };
    let path = Path {
        loss: Loss::Bernoulli(0.080_394_392_685_733_49),
        acknowledgement_loss: 0.074_176_396_270_343_4,
        jitter_ns: 8 * MS,
        rate: Some((250_000.0, 8)),
        ..Path::of(20 * MS)
    };
    let mut network = Network::new(path, 709_027_082_860_981_580);
    network.add(&server, &client, 307_037, Reader::Eager);
    network.run_until(300 * SECOND);
    assert_eq!(network.flows[0].client.received_bytes(), 307_037);
    assert!(network.flows[0].server.is_closed());
}

fn any_config() -> impl Strategy<Value = TcpConfig> {
    let controls = vec![CongestionControl::Reno, CongestionControl::Cubic, CongestionControl::Bbr];
    let sizes = (1u32..12, 3_000u64..200_000, 2_000u64..200_000, 100u32..1461);
    let exits = vec![SlowStartExit::Loss, SlowStartExit::Hystart, SlowStartExit::HystartPlusPlus];
    let choices = (prop::sample::select(controls), prop::sample::select(exits));
    (choices, any::<[bool; 10]>(), sizes).prop_map(|((congestion_control, exit), flags, sizes)| {
        let (initial_window_segments, send_buffer_bytes, receive_buffer_bytes, mss_bytes) = sizes;
        TcpConfig {
            congestion_control,
            restart_after_idle: flags[0],
            sack: flags[1],
            timestamps: flags[2],
            delayed_acks: flags[3],
            nagle: flags[4],
            appropriate_byte_counting: flags[5],
            proportional_rate_reduction: flags[6],
            slow_start_exit: Some(exit),
            window_validation: Some(flags[7]),
            quick_acks: Some(initial_window_segments),
            lost_retransmission_detection: flags[8],
            rack: Some(flags[9]),
            initial_window_segments,
            send_buffer_bytes,
            receive_buffer_bytes,
            mss_bytes,
            ..TcpConfig::default()
        }
    })
}

/// A segment that no sane end would send, near the offsets in use.
fn any_segment() -> impl Strategy<Value = Segment> {
    let blocks = prop::collection::vec((0u32..30_000, 1u32..5_000), 0..5);
    let offsets = (0u64..40_000, 0u64..40_000, 0u32..3_000, 0u32..20_000);
    (
        offsets,
        prop::sample::select(vec![0, 16, 17, 18, 24, 2, 1]),
        blocks,
        prop::option::of((0i64..100, 0i64..100)),
    )
        .prop_map(
            |((sequence, acknowledgement, payload_bytes, window_bytes), flags, blocks, stamps)| {
                let timestamps =
                    stamps.map(|(value, echo)| Timestamps { value: value * MS, echo: echo * MS });
                let mut segment = Segment {
                    sequence,
                    acknowledgement,
                    payload_bytes,
                    window_bytes,
                    flags,
                    timestamps,
                    ..Segment::default()
                };
                blocks.into_iter().for_each(|(start, length)| {
                    segment.sack.push(SackBlock { start, end: start + length })
                });
                segment
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn senseless_segments_neither_break_an_end_nor_make_it_send_what_it_does_not_have(
        server in any_config(),
        segments in prop::collection::vec((any_segment(), 0i64..400), 1..40),
    ) {
        let (mut server, _) = handshake(&server, &reno());
        let (mut now, mut out, mut written) = (40 * MS, Vec::new(), 0);
        for (segment, wait_ms) in segments {
            now += wait_ms * MS;
            written += server.write(now, 2_000, &mut out);
            server.on_timer(now, &mut out);
            server.on_segment(now, &segment, &mut out);
            server.read(now, 700, &mut out);
            prop_assert!(out.iter().all(|sent| sent.end() <= written));
            let statistics = server.statistics();
            prop_assert!(statistics.acknowledged_bytes <= written);
            prop_assert!(statistics.pipe_bytes <= 2 * written);
            prop_assert!(statistics.cwnd_bytes > 0 && statistics.rto_ns > 0);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_byte_arrives_once_and_in_order_whatever_the_path_does(
        server in any_config(),
        client in any_config(),
        bytes in 0u64..400_000,
        loss in 0.0f64..0.15,
        acknowledgement_loss in 0.0f64..0.15,
        jitter_ms in 0i64..30,
        narrow in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let path = Path {
            loss: Loss::Bernoulli(loss),
            acknowledgement_loss,
            jitter_ns: jitter_ms * MS,
            rate: narrow.then_some((250_000.0, 8)),
            ..Path::of(20 * MS)
        };
        let mut network = Network::new(path, seed);
        network.add(&server, &client, bytes, Reader::Eager);
        network.flows[0].keep_log = true;
        network.run_until(3600 * SECOND);
        let flow = &network.flows[0];
        prop_assert_eq!(flow.client.received_bytes(), bytes);
        prop_assert!(flow.server.is_closed() && flow.client.is_closed());
        prop_assert!(flow.server.next_timer().is_none() && flow.client.next_timer().is_none());
        let statistics = flow.server.statistics();
        prop_assert_eq!((statistics.acknowledged_bytes, statistics.pipe_bytes), (bytes, 0));
        let log = data(&network);
        prop_assert!(log.iter().all(|(_, segment)| segment.end() <= bytes + 1));
        let fresh = log.iter().filter(|(_, segment)| !segment.retransmission);
        let fresh_bytes = fresh.map(|(_, segment)| u64::from(segment.payload_bytes)).sum::<u64>();
        prop_assert_eq!(fresh_bytes, bytes);
    }
}

/// The window of CUBIC before round trips become 0.9 s longer at once, and a second after that.
fn windows_around_a_longer_path(config: &TcpConfig) -> (u64, u64) {
    let path = Path { rate: Some((1.25e6, 60)), ..Path::of(50 * MS) };
    let mut network = Network::greedy(path, config, 1);
    network.run_until(5 * SECOND);
    let before = network.flows[0].server.statistics().cwnd_bytes;
    network.path.delay_ns += 450 * MS;
    network.run_until(7 * SECOND);
    assert!(network.flows[0].server.statistics().timeouts > 0);
    (before, network.flows[0].server.statistics().cwnd_bytes)
}

#[test]
fn a_timeout_that_was_needless_gives_the_window_back_with_and_without_timestamps() {
    for timestamps in [true, false] {
        let config = TcpConfig { timestamps, send_buffer_bytes: 1 << 40, ..TcpConfig::default() };
        let (before, after) = windows_around_a_longer_path(&config);
        assert!(after >= before, "{timestamps}: {before} {after}");
        let kept = TcpConfig { undo: Some(false), ..config };
        let (before, after) = windows_around_a_longer_path(&kept);
        assert!(after < before * 3 / 4, "{timestamps}: {before} {after}");
    }
}

#[test]
fn what_is_overtaken_takes_no_window_for_long() {
    let loses = |undo| {
        let path = Path { jitter_ns: 30 * MS, ..Path::of(50 * MS) };
        let config = TcpConfig {
            undo: Some(undo),
            send_buffer_bytes: 1 << 40,
            receive_buffer_bytes: 1 << 20,
            ..TcpConfig::default()
        };
        let mut network = Network::greedy(path, &config, 1);
        network.goodput(0, 10 * SECOND)
    };
    let (with, without) = (loses(true), loses(false));
    assert!(with > 1.2 * without, "{with} {without}");
}
