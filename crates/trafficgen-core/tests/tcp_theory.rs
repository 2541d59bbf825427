//! Long-run throughput of TCP beside the formulas of the literature.

mod dumbbell;

use dumbbell::{Loss, Network, Path, Reader, MS, SECOND};
use trafficgen_core::transport::{CongestionControl, TcpConfig, Time};

const SEGMENT_BYTES: f64 = 1448.0;

fn bulk(congestion_control: CongestionControl) -> TcpConfig {
    TcpConfig { congestion_control, send_buffer_bytes: 1 << 40, receive_buffer_bytes: 1 << 30, ..TcpConfig::default() }
}

fn lossy(rtt_ns: Time, loss: Loss) -> Path {
    Path { loss, ..Path::of(rtt_ns / 2) }
}

/// Goodput in segments per round trip over some `losses` losses.
fn window(config: &TcpConfig, rtt_ns: Time, probability: f64, loss: Loss, expected_window: f64) -> f64 {
    let losses = 600.0;
    let rounds = losses / probability / expected_window;
    let start = 50 * rtt_ns;
    let end = start + (rounds * rtt_ns as f64) as Time;
    let mut network = Network::greedy(lossy(rtt_ns, loss), config, 7);
    network.goodput(start, end) / SEGMENT_BYTES * (rtt_ns as f64 / 1e9)
}

/// Full model of Padhye et al. (1998), equation 32, in segments per second.
fn padhye(probability: f64, rtt_s: f64, timeout_s: f64, per_ack: f64) -> f64 {
    let (p, b) = (probability, per_ack);
    let part = (2.0 + b) / (3.0 * b);
    let window = part + (8.0 * (1.0 - p) / (3.0 * b * p) + part * part).sqrt();
    let q = |w: f64| {
        let keep = 1.0 - p;
        let numerator = (1.0 - keep.powi(3)) * (1.0 + keep.powi(3) * (1.0 - keep.powf(w - 3.0)));
        (numerator / (1.0 - keep.powf(w))).min(1.0)
    };
    let f = 1.0 + p + 2.0 * p * p + 4.0 * p.powi(3) + 8.0 * p.powi(4) + 16.0 * p.powi(5) + 32.0 * p.powi(6);
    let timeouts = q(window);
    let numerator = (1.0 - p) / p + window + timeouts / (1.0 - p);
    numerator / (rtt_s * (b / 2.0 * window + 1.0) + timeouts * timeout_s * f / (1.0 - p))
}

#[test]
fn measure() {
    for sack in [true, false] {
        for (abc, delayed) in [(true, true), (false, true), (false, false)] {
            for p in [1e-4f64, 1e-3, 1e-2, 2e-2, 5e-2] {
                let b = if !abc && delayed { 2.0 } else { 1.0 };
                let constant = (3.0f64 / 2.0 / b).sqrt();
                let mathis = constant / p.sqrt();
                let mut config = bulk(CongestionControl::Reno);
                config.sack = sack;
                config.appropriate_byte_counting = abc;
                config.delayed_acks = delayed;
                let w = window(&config, 100 * MS, p, Loss::Bernoulli(p), mathis);
                let full = padhye(p, 0.1, 0.3, b) * 0.1;
                println!(
                    "sack {sack} abc {abc} del {delayed} p {p}: {w:.2} mathis {:.3} padhye {:.3}",
                    w / mathis,
                    w / full
                );
            }
        }
    }
    for (p, rtt) in [(1e-3f64, 200), (1e-4, 100), (1e-4, 200), (1e-5, 50), (1e-5, 100)] {
        let expected = (0.4f64 * 3.7 / 1.2).powf(0.25) * (rtt as f64 / 1e3 / p).powf(0.75);
        for random in [false, true] {
            let loss = if random { Loss::Bernoulli(p) } else { Loss::Every((1.0 / p) as u64) };
            let w = window(&bulk(CongestionControl::Cubic), rtt * MS, p, loss, expected);
            println!(
                "cubic p {p} rtt {rtt} random {random}: {w:.1} of {expected:.1} {:.3} reno {:.1}",
                w / expected,
                1.22 / p.sqrt()
            );
        }
    }
    let _ = (Reader::Eager, SECOND);
}
