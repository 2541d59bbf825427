//! The player's estimate of the link from packets that came one behind the other (TurboPlay).

use std::collections::VecDeque;

use crate::des::{seconds, Time};

/// The largest rate of any few packets in a row: where nothing of others stood between them, that
/// of the link.
#[derive(Debug)]
pub struct LinkEstimate {
    window_packets: usize,
    /// Arrivals of the last packets, with their IP bytes.
    arrivals: VecDeque<(Time, u32)>,
    bytes: u64,
    largest_bps: Option<f64>,
}

impl LinkEstimate {
    pub fn new(window_packets: u32) -> Self {
        Self {
            window_packets: window_packets as usize,
            arrivals: VecDeque::new(),
            bytes: 0,
            largest_bps: None,
        }
    }

    pub fn on_arrival(&mut self, now: Time, ip_bytes: u32) {
        self.arrivals.push_back((now, ip_bytes));
        self.bytes += u64::from(ip_bytes);
        if self.arrivals.len() > self.window_packets {
            self.bytes -= self.arrivals.pop_front().map_or(0, |(_, size)| u64::from(size));
        }
        let (Some(&(first, size)), true) =
            (self.arrivals.front(), self.arrivals.len() == self.window_packets)
        else {
            return;
        };
        // The first one only starts the clock. What comes at once tells of no link.
        if now > first {
            let bps = (self.bytes - u64::from(size)) as f64 * 8.0 / seconds(now - first);
            self.largest_bps = Some(self.largest_bps.map_or(bps, |largest| largest.max(bps)));
        }
    }

    /// IP bit/s; None before there were enough packets.
    pub fn bps(&self) -> Option<f64> {
        self.largest_bps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_back_to_back_show_the_link_though_others_stand_between_some_of_them() {
        let mut estimate = LinkEstimate::new(4);
        // 1028 bytes take 5482667 ns on 1500 kbps; a packet of another flow stands between the
        // third and the fourth.
        let mut at = 0;
        for number in 0..10 {
            at += if number == 3 { 13_482_667 } else { 5_482_667 };
            estimate.on_arrival(at, 1028);
        }
        assert!(estimate.bps().is_some_and(|bps| (bps / 1.5e6 - 1.0).abs() < 1e-6));
    }

    #[test]
    fn too_few_packets_tell_nothing() {
        let mut estimate = LinkEstimate::new(4);
        for at in [0, 10, 20] {
            estimate.on_arrival(at, 1028);
        }
        assert_eq!(estimate.bps(), None);
    }
}
