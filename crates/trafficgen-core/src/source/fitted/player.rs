//! The receiving end of a fitted source's UDP streams: what its reports say.

use super::response::Report;
use crate::des::{seconds, Datagram, Time};

/// What the player has seen since its last report, over all streams.
#[derive(Debug, Default)]
pub struct Player {
    streams: Vec<Sequence>,
    expected: u64,
    received: u64,
    ip_bytes: u64,
    delay_sum: f64,
    least_delay: Option<Time>,
    reported_at: Time,
    /// What each report said, by the number it carries.
    pub reports: Vec<Report>,
}

/// Sequence numbers of one stream (RFC 3550 A.3).
#[derive(Clone, Copy, Debug, Default)]
struct Sequence {
    next: u64,
}

impl Player {
    pub fn new(streams: usize, now: Time) -> Self {
        Self { streams: vec![Sequence::default(); streams], reported_at: now, ..Self::default() }
    }

    /// Take in a media packet of a stream that arrives now; its tag is its sequence number.
    pub fn receive(&mut self, stream: usize, datagram: &Datagram, now: Time) {
        let Some(sequence) = self.streams.get_mut(stream) else { return };
        if datagram.tag >= sequence.next {
            self.expected += datagram.tag + 1 - sequence.next;
            sequence.next = datagram.tag + 1;
        }
        self.received += 1;
        self.ip_bytes += u64::from(datagram.ip_bytes);
        // The offset of the two clocks is in all delays and goes with the least one.
        let delay = now - datagram.sent_ns;
        self.delay_sum += seconds(delay);
        self.least_delay = Some(self.least_delay.map_or(delay, |least| least.min(delay)));
    }

    /// Make a report; None where nothing was expected. Returns its number.
    pub fn report(&mut self, now: Time) -> Option<u64> {
        let length = seconds(now - self.reported_at);
        self.reported_at = now;
        let (expected, received) = (self.expected, self.received);
        let (ip_bytes, delay_sum) = (self.ip_bytes, self.delay_sum);
        (self.expected, self.received, self.ip_bytes, self.delay_sum) = (0, 0, 0, 0.0);
        let least = seconds(self.least_delay?);
        if expected + received == 0 || length <= 0.0 {
            return None;
        }
        self.reports.push(Report {
            loss: if expected > 0 {
                1.0 - (received as f64 / expected as f64).min(1.0)
            } else {
                0.0
            },
            queueing_delay_s: if received > 0 { delay_sum / received as f64 - least } else { 0.0 },
            throughput_bps: 8.0 * ip_bytes as f64 / length,
        });
        Some(self.reports.len() as u64 - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn datagram(tag: u64, sent_ns: Time) -> Datagram {
        Datagram { flow: 0, tag, payload_bytes: 972, ip_bytes: 1000, sent_ns }
    }

    #[test]
    fn a_report_tells_loss_delay_and_rate_of_its_interval() {
        let mut player = Player::new(1, 0);
        player.receive(0, &datagram(0, 0), 10_000_000);
        player.receive(0, &datagram(3, 0), 30_000_000);
        assert_eq!(player.report(1_000_000_000), Some(0));
        let first = player.reports[0];
        assert!((first.loss - 0.5).abs() < 1e-12);
        assert!((first.queueing_delay_s - 0.01).abs() < 1e-12);
        assert!((first.throughput_bps - 16_000.0).abs() < 1e-9);
        player.receive(0, &datagram(4, 0), 10_000_000);
        assert_eq!(player.report(2_000_000_000), Some(1));
        assert_eq!(player.reports[1].loss.to_bits(), 0.0_f64.to_bits());
    }

    #[test]
    fn a_late_packet_makes_up_for_the_hole_it_left() {
        let mut player = Player::new(1, 0);
        for tag in [0, 2, 1] {
            player.receive(0, &datagram(tag, 0), 0);
        }
        player.report(1_000_000_000);
        assert_eq!(player.reports[0].loss.to_bits(), 0.0_f64.to_bits());
    }

    #[test]
    fn nothing_is_reported_before_something_arrives() {
        let mut player = Player::new(1, 0);
        assert_eq!(player.report(1_000_000_000), None);
    }
}
