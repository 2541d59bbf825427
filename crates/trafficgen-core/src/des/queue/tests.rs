//! Laws of the disciplines against their documents.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::codel::{CodelQueue, Law};
use super::dualpi2::DualPi2;
use super::fq_codel::FqCodel;
use super::pie::Pie;
use super::priority::Priority;
use super::red::Red;
use super::{Discipline, Moment, Waiting};
use crate::des::packet::Ecn;
use crate::des::time::Time;

const MS: Time = 1_000_000;
const BYTES: u32 = 1000;
/// The flow that goes first where flows have priorities.
const URGENT: u32 = 3;
/// A line of 8 Mbit/s sends a packet in this time.
const PACKET_NS: Time = MS;

/// What a line sent and lost.
#[derive(Debug, Default)]
struct Log {
    sent: Vec<(Time, Waiting)>,
    dropped: Vec<(Time, Waiting)>,
    offered: usize,
}

impl Log {
    fn of(&self, flow: u32) -> usize {
        self.sent.iter().filter(|(_, packet)| packet.flow == flow).count()
    }

    fn mean_wait_ms(&self, after: Time, flow: u32) -> f64 {
        let of_flow = self.sent.iter().filter(|(at, one)| *at >= after && one.flow == flow);
        let waits: Vec<_> = of_flow.map(|(at, packet)| (at - packet.arrived) as f64).collect();
        waits.iter().sum::<f64>() / waits.len() as f64 / 1e6
    }
}

/// A constant rate into a queue.
#[derive(Clone, Copy)]
struct Source {
    flow: u32,
    gap_ns: Time,
    ecn: Ecn,
}

fn source(flow: u32, load: f64) -> Source {
    Source { flow, gap_ns: (PACKET_NS as f64 / load) as Time, ecn: Ecn::Incapable }
}

fn packet(flow: u32, arrived: Time, ecn: Ecn) -> Waiting {
    let (ip_bytes, bytes) = (BYTES, BYTES);
    Waiting { id: 0, flow, ip_bytes, bytes, arrived, ecn, urgent: flow == URGENT, marked: false }
}

/// Sources into a discipline before a line of 8 Mbit/s, until `end`.
fn run(queue: &mut dyn Discipline, sources: &[Source], end: Time, limit: usize) -> Log {
    let mut log = Log::default();
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut next: Vec<Time> = sources.iter().map(|one| Time::from(one.flow) * 1001).collect();
    let mut free_at = 0;
    loop {
        let arrives = next.iter().copied().min().unwrap_or(end);
        let sends = if queue.packets() > 0 { free_at } else { Time::MAX };
        let now = arrives.min(sends);
        if now >= end {
            return log;
        }
        let mut dropped = Vec::new();
        let mut moment = Moment { now, rng: &mut rng, dropped: &mut dropped };
        if sends <= arrives {
            if let Some(packet) = queue.dequeue(&mut moment) {
                log.sent.push((now, packet));
                free_at = now + PACKET_NS;
            }
        } else {
            let number = next.iter().position(|time| *time == now).unwrap_or(0);
            next[number] += sources[number].gap_ns;
            log.offered += 1;
            let packet = packet(sources[number].flow, now, sources[number].ecn);
            if queue.packets() < limit || queue.make_room(&mut moment, &packet) {
                queue.enqueue(&mut moment, packet);
            } else {
                moment.dropped.push(packet);
            }
            free_at = free_at.max(now);
        }
        log.dropped.extend(dropped.into_iter().map(|packet| (now, packet)));
    }
}

fn law() -> Law {
    Law { target_ns: 5 * MS, interval_ns: 100 * MS }
}

/// Every discipline, with whether it drops of its own.
fn all() -> Vec<Box<dyn Discipline>> {
    vec![
        Box::new(Red::new(5 * MS, 500 * MS, 8e6)),
        Box::new(Pie::new(15 * MS, 15 * MS)),
        Box::new(CodelQueue::new(law())),
        Box::new(FqCodel::new(law())),
        Box::new(DualPi2::new(15 * MS, 100 * MS)),
        Box::<Priority>::default(),
    ]
}

#[test]
fn every_packet_is_sent_dropped_or_waits_still() {
    for mut queue in all() {
        let scalable = Source { ecn: Ecn::Scalable, ..source(2, 0.4) };
        let sources = [source(0, 0.5), source(1, 0.6), scalable];
        let log = run(queue.as_mut(), &sources, 20_000 * MS, 60);
        let waits = queue.packets();
        assert_eq!(log.offered, log.sent.len() + log.dropped.len() + waits, "{queue:?}");
        assert_eq!(queue.bytes(), waits as u64 * u64::from(BYTES));
        assert!(!log.dropped.is_empty() && waits <= 60);
    }
}

#[test]
fn calm_traffic_passes_untouched_and_in_order() {
    for mut queue in all() {
        let log = run(queue.as_mut(), &[source(0, 0.8)], 20_000 * MS, 60);
        assert!(log.dropped.is_empty() && log.mean_wait_ms(0, 0) == 0.0, "{queue:?}");
        assert!(log.sent.windows(2).all(|pair| pair[0].1.arrived < pair[1].1.arrived));
        assert!(log.sent.iter().all(|(_, packet)| !packet.marked));
    }
}

#[test]
fn codel_drops_after_an_interval_and_then_ever_faster() {
    let mut queue = CodelQueue::new(law());
    let log = run(&mut queue, &[source(0, 1.5)], 2_000 * MS, usize::MAX);
    let times: Vec<_> = log.dropped.iter().map(|(at, _)| *at).collect();
    // Waits pass 5 ms after about 15 ms at this load; an interval later comes the first drop.
    assert!((110 * MS..=125 * MS).contains(&times[0]), "{}", times[0]);
    let mut due = times[0];
    for (number, at) in times.iter().enumerate().skip(1) {
        // RFC 8289 3.3: the interval divided by the root of the drops so far; drops wait for the
        // line, for a packet at most.
        due += (100.0 * MS as f64 / (number as f64).sqrt()) as Time;
        assert!((due..=due + PACKET_NS).contains(at), "drop {number}: {at} for {due}");
    }
}

#[test]
fn codel_leaves_short_waits_and_single_packets_alone() {
    let mut queue = CodelQueue::new(Law { target_ns: MS / 10, interval_ns: MS });
    // No more than one packet ever waits behind the one that goes.
    let log = run(&mut queue, &[source(0, 1.2)], 2_000 * MS, 2);
    // What is dropped is dropped by the full queue, on arrival.
    assert!(log.dropped.iter().all(|(at, packet)| packet.arrived == *at));
    assert!(!log.dropped.is_empty());
}

#[test]
fn codel_marks_what_can_be_marked() {
    let mut queue = CodelQueue::new(law());
    let capable = Source { ecn: Ecn::Classic, ..source(0, 1.5) };
    let log = run(&mut queue, &[capable], 1_000 * MS, usize::MAX);
    let marks = log.sent.iter().filter(|(_, packet)| packet.marked).count();
    assert!(log.dropped.is_empty() && marks > 20, "{marks}");
}

#[test]
fn fair_queues_give_max_min_fair_shares() {
    // Demands of 10%, 30%, 80% and 200% of the line: the first gets what it asks for, and the
    // others share the rest equally (water filling).
    let mut queue = FqCodel::new(law());
    let sources = [source(0, 0.1), source(2, 0.3), source(4, 0.8), source(6, 2.0)];
    let log = run(&mut queue, &sources, 20_000 * MS, 200);
    let total = log.sent.len() as f64;
    for (flow, share) in [(0, 0.1), (2, 0.3), (4, 0.3), (6, 0.3)] {
        let found = log.of(flow) as f64 / total;
        assert!((found / share - 1.0).abs() < 0.02, "flow {flow}: {found} for {share}");
    }
    // A flow below its share waits for a turn of each of the others at most (RFC 8290 1.3).
    assert!(log.mean_wait_ms(0, 0) < 4.0, "{}", log.mean_wait_ms(0, 0));
}

#[test]
fn a_full_fair_queue_drops_from_the_longest_flow() {
    let mut queue = FqCodel::new(Law { target_ns: 10_000 * MS, interval_ns: 10_000 * MS });
    let log = run(&mut queue, &[source(0, 0.2), source(2, 5.0)], 5_000 * MS, 50);
    assert!(log.dropped.iter().all(|(_, packet)| packet.flow == 2) && log.dropped.len() > 1000);
}

#[test]
fn red_drops_along_the_gentle_curve() {
    let red = Red::new(50 * MS, 500 * MS, 8e6);
    // 50 ms at 1000 packets a second: thresholds of 25 and 75 packets.
    for (average, share) in
        [(24.9, 0.0), (25.0, 0.0), (50.0, 0.05), (75.0, 0.1), (112.5, 0.55), (150.0, 1.0)]
    {
        assert!((red.share(average) - share).abs() < 1e-9, "{average}");
    }
}

#[test]
fn red_averages_exponentially_and_forgets_while_idle() {
    let mut red = Red::new(50 * MS, 500 * MS, 8e6);
    let (mut rng, mut dropped) = (ChaCha8Rng::seed_from_u64(1), Vec::new());
    for count in 0..20 {
        let mut moment = Moment { now: count, rng: &mut rng, dropped: &mut dropped };
        red.enqueue(&mut moment, packet(0, count, Ecn::Incapable));
    }
    // A weight of 1 - exp(-1 / 1000) for lengths 0 to 19.
    let weight = 1.0 - (-1e-3_f64).exp();
    let expected =
        (0..20).fold(0.0, |average, length| average + weight * (f64::from(length) - average));
    assert!((red.average() - expected).abs() < 1e-12);
    for _ in 0..20 {
        let mut moment = Moment { now: 20, rng: &mut rng, dropped: &mut dropped };
        red.dequeue(&mut moment);
    }
    let later = 20 + 700 * PACKET_NS;
    let mut moment = Moment { now: later, rng: &mut rng, dropped: &mut dropped };
    red.enqueue(&mut moment, packet(0, later, Ecn::Incapable));
    let faded = expected * (1.0 - weight).powi(700) * (1.0 - weight);
    assert!((red.average() - faded).abs() < 1e-9, "{} {faded}", red.average());
}

#[test]
fn red_drops_none_while_hardly_a_packet_waits() {
    let mut red = Red::new(5 * MS, 500 * MS, 8e6);
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut dropped = Vec::new();
    let mut moment = Moment { now: 0, rng: &mut rng, dropped: &mut dropped };
    (0..3000).for_each(|_| red.enqueue(&mut moment, packet(0, 0, Ecn::Incapable)));
    assert!(red.average() > 30.0, "all are dropped from here: {}", red.average());
    while red.packets() > 0 {
        red.dequeue(&mut moment);
    }
    moment.dropped.clear();
    for waiting in 1..=3 {
        red.enqueue(&mut moment, packet(0, 0, Ecn::Incapable));
        assert_eq!(red.packets(), waiting.min(2));
    }
    assert_eq!(moment.dropped.len(), 1);
}

#[test]
fn red_keeps_the_average_between_its_thresholds() {
    let mut queue = Red::new(50 * MS, 500 * MS, 8e6);
    let log = run(&mut queue, &[source(0, 1.2)], 60_000 * MS, usize::MAX);
    let lost = log.dropped.len() as f64 / log.offered as f64;
    assert!((lost - 1.0 / 6.0).abs() < 0.01, "{lost}");
    let wait = log.mean_wait_ms(20_000 * MS, 0);
    assert!((25.0..150.0).contains(&wait), "{wait}");
}

#[test]
fn pie_updates_its_share_by_the_rules_of_its_rfc() {
    let pie = Pie::new(15 * MS, 15 * MS);
    // RFC 8033 4.2: alpha (delay - target) + beta (delay - old delay), scaled by the share.
    for (share, delay_s, old_s, expected) in [
        (0.0, 0.0, 0.0, 0.0),
        (0.5, 0.025, 0.015, 0.5 + 0.125 * 0.010 + 1.25 * 0.010),
        (0.05, 0.025, 0.015, 0.05 + (0.125 * 0.010 + 1.25 * 0.010) / 2.0),
        (0.005, 0.025, 0.015, 0.005 + (0.125 * 0.010 + 1.25 * 0.010) / 8.0),
        (0.0005, 0.025, 0.025, 0.0005 + 0.125 * 0.010 / 32.0),
        (0.5, 0.5, 0.1, 0.52), // 5.3: at most 2 points up
        (0.5, 0.0, 0.0, (0.5 - 0.125 * 0.015) * 0.98), // 4.2: decay without waits
        (0.999, 0.5, 0.1, 1.0),
    ] {
        let found = pie.updated(share, delay_s, old_s);
        assert!((found - expected).abs() < 1e-12, "{share} {delay_s}: {found} for {expected}");
    }
}

#[test]
fn pie_spends_no_time_on_long_waits() {
    let many = 1_000_000_000;
    for waiting in [0, 2] {
        let mut queue = Pie::new(15 * MS, 15 * MS);
        run(&mut queue, &[source(0, 1.1)], 60_000 * MS, usize::MAX);
        let (mut rng, mut dropped) = (ChaCha8Rng::seed_from_u64(1), Vec::new());
        while queue.packets() > waiting {
            let mut moment = Moment { now: 61_000 * MS, rng: &mut rng, dropped: &mut dropped };
            queue.dequeue(&mut moment);
        }
        // The line stands still for all of these updates, and the share settles.
        let now = 61_000 * MS + many * 15 * MS;
        let mut moment = Moment { now, rng: &mut rng, dropped: &mut dropped };
        queue.enqueue(&mut moment, packet(0, now, Ecn::Incapable));
        assert_eq!(queue.share(), if waiting == 0 { 0.0 } else { 1.0 });
    }
}

#[test]
fn pie_lets_a_burst_pass_and_then_holds_the_target() {
    let mut queue = Pie::new(15 * MS, 15 * MS);
    let log = run(&mut queue, &[source(0, 1.1)], 60_000 * MS, usize::MAX);
    // RFC 8033 4.4: nothing is dropped for 150 ms.
    assert!(log.dropped[0].0 > 150 * MS, "{}", log.dropped[0].0);
    let lost = log.dropped.len() as f64 / log.offered as f64;
    assert!((lost - 1.0 / 11.0).abs() < 0.01, "{lost}");
    let wait = log.mean_wait_ms(20_000 * MS, 0);
    assert!((wait - 15.0).abs() < 3.0, "{wait}");
}

#[test]
fn dualpi2_couples_its_shares_by_the_square() {
    let mut queue = DualPi2::new(15 * MS, 100 * MS);
    let log = run(&mut queue, &[source(0, 1.1)], 60_000 * MS, usize::MAX);
    let (classic, coupled) = (queue.classic_share(), queue.coupled_share());
    // RFC 9332 2.1: p_C = (p_CL / k)^2 with k = 2.
    assert!((classic - (coupled / 2.0).powi(2)).abs() < 1e-12);
    // A constant rate needs 1 in 11 dropped, at the target wait.
    assert!((classic - 1.0 / 11.0).abs() < 0.01, "{classic}");
    let wait = log.mean_wait_ms(20_000 * MS, 0);
    assert!((wait - 15.0).abs() < 1.5, "{wait}");
}

#[test]
fn dualpi2_keeps_scalable_flows_from_waiting_for_classic_ones() {
    let mut queue = DualPi2::new(15 * MS, 100 * MS);
    let scalable = Source { ecn: Ecn::Scalable, ..source(2, 0.4) };
    let log = run(&mut queue, &[source(0, 0.7), scalable], 60_000 * MS, usize::MAX);
    let (classic, low) = (log.mean_wait_ms(20_000 * MS, 0), log.mean_wait_ms(20_000 * MS, 2));
    assert!((classic - 15.0).abs() < 2.0 && low < 1.0, "{classic} {low}");
    assert!(log.dropped.iter().all(|(_, packet)| packet.flow == 0));
    // It hears of the classic queue by marks: k times the root of the classic share.
    let of_scalable = log.sent.iter().filter(|(_, packet)| packet.flow == 2);
    let marked = of_scalable.filter(|(_, packet)| packet.marked).count() as f64;
    let lost = log.dropped.len() as f64 / (log.offered as f64 * 0.7 / 1.1);
    let share = marked / log.of(2) as f64;
    assert!((share / (2.0 * lost.sqrt()) - 1.0).abs() < 0.1, "{share} {lost}");
}

#[test]
fn what_is_urgent_waits_for_one_packet_at_most_and_crowds_out_the_others() {
    let mut queue = Priority::default();
    let log = run(&mut queue, &[source(URGENT, 0.6), source(1, 0.7)], 20_000 * MS, 20);
    let urgent = log.sent.iter().filter(|(_, packet)| packet.urgent);
    let longest = urgent.map(|(at, packet)| at - packet.arrived).max();
    assert!(longest.is_some_and(|wait| wait <= PACKET_NS), "{longest:?}");
    assert!(log.dropped.iter().all(|(_, packet)| !packet.urgent) && !log.dropped.is_empty());
    assert!((log.of(1) as f64 / 20_000.0 - 0.4).abs() < 0.01, "{}", log.of(1));
}
