//! BBR end to end: the model of the path that it keeps, and what it does to a window.

use crate::dumbbell::{Loss, Network, Path, MS, SECOND};
use trafficgen_core::transport::{CongestionControl, TcpConfig, Time};

const RTT_NS: Time = 40 * MS;
const RATE: f64 = 10e6 / 8.0;
const SEGMENT_BYTES: u64 = 1448;

fn greedy(loss: Loss, queue: usize) -> Network {
    greedy_with(CongestionControl::Bbr, loss, queue)
}

fn greedy_with(congestion_control: CongestionControl, loss: Loss, queue: usize) -> Network {
    let config = TcpConfig { congestion_control, ..TcpConfig::default() };
    let path = Path { rate: Some((RATE, queue)), loss, ..Path::of(RTT_NS / 2) };
    Network::greedy(path, &config, 5)
}

#[test]
fn the_link_is_full_and_the_queue_is_not() {
    let mut network = greedy(Loss::Never, 200);
    let goodput = network.goodput(5 * SECOND, 35 * SECOND);
    assert!(goodput > 0.95 * RATE * 1448.0 / 1500.0, "{goodput}");
    let smoothed_ns = network.flows[0].server.statistics().srtt_ns;
    assert!((RTT_NS..RTT_NS * 3 / 2).contains(&smoothed_ns), "{smoothed_ns}");
}

#[test]
fn the_window_is_four_segments_for_a_fifth_of_a_second_every_ten_seconds() {
    let mut network = greedy(Loss::Never, 200);
    let mut probes = Vec::new();
    let mut since = None;
    for step in 0..6000 {
        network.run_until(step * 10 * MS);
        let window = network.flows[0].server.statistics().cwnd_bytes;
        if window == 4 * SEGMENT_BYTES {
            since.get_or_insert(network.now);
        } else if let Some(start) = since.take() {
            probes.push((start, network.now - start));
        }
    }
    assert!((4..=6).contains(&probes.len()), "{probes:?}");
    assert!(probes.iter().all(|probe| (200 * MS..350 * MS).contains(&probe.1)), "{probes:?}");
    let mut pairs = probes.windows(2);
    assert!(pairs.all(|pair| pair[1].0 - pair[0].0 > 10 * SECOND), "{probes:?}");
}

#[test]
fn the_bandwidth_is_kept_while_the_shortest_round_trip_is_sought() {
    // A fifth of a second of four segments a round trip is twice as long as samples are kept.
    let path = Path { rate: Some((RATE, 200)), ..Path::of(5 * MS) };
    let config = TcpConfig { congestion_control: CongestionControl::Bbr, ..TcpConfig::default() };
    let mut network = Network::greedy(path, &config, 5);
    network.run_until(9 * SECOND);
    let before = network.flows[0].server.statistics().ssthresh_bytes;
    let mut probes = 0;
    for step in 900..3000 {
        network.run_until(step * 10 * MS);
        let statistics = network.flows[0].server.statistics();
        if statistics.cwnd_bytes == 4 * SEGMENT_BYTES {
            probes += 1;
            assert!(statistics.ssthresh_bytes * 10 >= before * 9, "{statistics:?}");
        }
    }
    assert!(probes > 30, "{probes}");
}

#[test]
fn segments_leave_at_the_rate_of_the_link() {
    let mut network = greedy(Loss::Never, 200);
    network.run_until(5 * SECOND);
    network.flows[0].keep_log = true;
    network.run_until(8 * SECOND);
    let log = &network.flows[0].log;
    let gaps = log.windows(2).filter(|pair| pair[1].0 - pair[0].0 > MS).count();
    // Bursts of two, one every 2.4 ms.
    assert!((gaps as f64 / log.len() as f64 - 0.5).abs() < 0.05, "{gaps} of {}", log.len());
}

#[test]
fn a_lost_tail_and_a_short_queue_are_repaired() {
    for (loss, queue) in [(Loss::Bernoulli(0.05), 200), (Loss::Never, 3)] {
        let mut network = greedy(loss, queue);
        let goodput = network.goodput(5 * SECOND, 35 * SECOND);
        assert!(goodput > 0.7 * RATE, "{goodput}");
    }
}

#[test]
fn version_3_fills_the_link_with_a_short_queue_and_probes_every_few_seconds() {
    let mut network = greedy_with(CongestionControl::Bbr3, Loss::Never, 200);
    let goodput = network.goodput(5 * SECOND, 35 * SECOND);
    assert!(goodput > 0.93 * RATE * 1448.0 / 1500.0, "{goodput}");
    let mut probes = Vec::new();
    let mut was_low = false;
    let (mut longest_ns, product) = (0, RATE * 0.04);
    for step in 3500..6500 {
        network.run_until(step * 10 * MS);
        let statistics = network.flows[0].server.statistics();
        let is_low = (statistics.cwnd_bytes as f64) < 0.7 * product;
        if is_low && !was_low {
            probes.push(network.now);
        }
        was_low = is_low;
        longest_ns = longest_ns.max(statistics.srtt_ns);
    }
    // The shortest round trip is sought every five seconds, with half of what the path holds.
    assert!((5..=6).contains(&probes.len()), "{probes:?}");
    assert!(probes.windows(2).all(|pair| pair[1] - pair[0] > 5 * SECOND), "{probes:?}");
    assert!(longest_ns < RTT_NS * 2, "{longest_ns}");
}

#[test]
fn version_3_loses_less_than_version_1_in_a_short_queue() {
    let repeated = |control| {
        let mut network = greedy_with(control, Loss::Never, 12);
        let goodput = network.goodput(5 * SECOND, 35 * SECOND);
        assert!(goodput > 0.85 * RATE, "{goodput}");
        network.flows[0].server.statistics().retransmissions
    };
    let (first, third) = (repeated(CongestionControl::Bbr), repeated(CongestionControl::Bbr3));
    assert!(third < first / 2, "{third} of {first}");
}
