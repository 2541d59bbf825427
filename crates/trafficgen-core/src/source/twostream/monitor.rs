//! The receiver's half of the control: delays of the monitoring stream to a verdict.

use super::trend::{combine, group_medians, median, tests, Tests, Thresholds, Trend};

/// Settings of the monitor.
#[derive(Clone, Debug, PartialEq)]
pub struct MonitorSettings {
    /// Windows of the scales, packets, ascending.
    pub scales_packets: Vec<u32>,
    pub thresholds: Thresholds,
    /// A verdict each so many packets.
    pub verdict_every_packets: u32,
    /// Steps of group medians up to this count as none, s, or more where delays are noisy: see
    /// `epsilon_noise_multiple`.
    pub epsilon_least_s: f64,
    /// Epsilon is at least this many times the median step while no other stream was there.
    pub epsilon_noise_multiple: f64,
}

/// What the receiver knows of the delays.
#[derive(Debug)]
pub struct Monitor {
    settings: MonitorSettings,
    /// Delays since the last restart, s; at least the largest window of them.
    history: Vec<f64>,
    /// Number of the last restart, as the packets of the monitoring stream carry it.
    epoch: u32,
    since_verdict: u32,
    epsilon_s: f64,
    /// Absolute steps of the shortest scale while the monitoring stream was alone; empty once it
    /// was not.
    steps_alone: Vec<f64>,
    alone: bool,
    medians: Vec<f64>,
    scratch: Vec<f64>,
    said: Vec<Tests>,
}

impl Monitor {
    pub fn new(settings: MonitorSettings) -> Self {
        Self {
            epsilon_s: settings.epsilon_least_s,
            settings,
            history: Vec::new(),
            epoch: 0,
            since_verdict: 0,
            steps_alone: Vec::new(),
            alone: true,
            medians: Vec::new(),
            scratch: Vec::new(),
            said: Vec::new(),
        }
    }

    /// Number of the last restart that the receiver has heard of.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// A packet of the monitoring stream has come; a verdict where one is due.
    ///
    /// The delay may hold a constant error, such as the offset of the two clocks: only changes
    /// matter.
    pub fn on_packet(&mut self, epoch: u32, delay_s: f64) -> Option<Trend> {
        if epoch < self.epoch {
            return None; // overtaken by the first packet after a restart
        }
        if epoch > self.epoch {
            self.epoch = epoch;
            self.history.clear();
            self.since_verdict = 0;
        }
        let longest = self.longest();
        if self.history.len() >= 2 * longest {
            self.history.drain(..longest);
        }
        self.history.push(delay_s);
        self.since_verdict += 1;
        if self.since_verdict < self.settings.verdict_every_packets
            || self.history.len() < self.shortest()
        {
            return None;
        }
        self.since_verdict = 0;
        Some(self.verdict())
    }

    /// A packet of the other stream has come: the noise that was seen so far is that of the path
    /// and the clocks.
    pub fn on_other_stream(&mut self) {
        if self.alone {
            self.alone = false;
            let noise_s = median(&mut self.steps_alone);
            self.epsilon_s =
                self.settings.epsilon_least_s.max(self.settings.epsilon_noise_multiple * noise_s);
            self.steps_alone = Vec::new();
        }
    }

    /// Steps of group medians up to this count as none, s.
    pub fn epsilon_s(&self) -> f64 {
        self.epsilon_s
    }

    fn longest(&self) -> usize {
        self.settings.scales_packets.last().map_or(0, |packets| *packets as usize)
    }

    fn shortest(&self) -> usize {
        self.settings.scales_packets.first().map_or(0, |packets| *packets as usize)
    }

    fn verdict(&mut self) -> Trend {
        self.said.clear();
        for scale in 0..self.settings.scales_packets.len() {
            let packets = self.settings.scales_packets[scale] as usize;
            if self.history.len() < packets {
                break;
            }
            let window = &self.history[self.history.len() - packets..];
            group_medians(window, &mut self.medians, &mut self.scratch);
            if scale == 0 && self.alone {
                self.steps_alone
                    .extend(self.medians.windows(2).map(|pair| (pair[1] - pair[0]).abs()));
            }
            self.said.push(tests(&self.medians, self.epsilon_s));
        }
        combine(&self.said, self.settings.thresholds)
    }
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    fn settings() -> MonitorSettings {
        MonitorSettings {
            scales_packets: vec![32, 64, 128],
            thresholds: Thresholds { low: 0.25, high: 0.5 },
            verdict_every_packets: 4,
            epsilon_least_s: 0.002,
            epsilon_noise_multiple: 2.0,
        }
    }

    fn verdicts(
        monitor: &mut Monitor,
        epoch: u32,
        delays_s: impl Iterator<Item = f64>,
    ) -> Vec<Option<Trend>> {
        delays_s.map(|delay_s| monitor.on_packet(epoch, delay_s)).collect()
    }

    #[test]
    fn the_first_verdict_needs_the_shortest_window_and_steadiness_the_middle_one() {
        let mut monitor = Monitor::new(settings());
        let said = verdicts(&mut monitor, 0, std::iter::repeat_n(0.053, 64));
        assert!(said[..31].iter().all(Option::is_none));
        assert_eq!(said[31], Some(Trend::Ambiguous { up: true }));
        assert_eq!(said[32..35], [None; 3]);
        assert_eq!(said[63], Some(Trend::Steady));
    }

    #[test]
    fn an_offset_of_the_clocks_does_not_matter() {
        let rising = |offset_s: f64| {
            let mut monitor = Monitor::new(settings());
            verdicts(&mut monitor, 0, (0..64).map(|packet| offset_s + f64::from(packet) * 0.01))
        };
        assert_eq!(rising(0.0), rising(-1e6));
        assert_eq!(rising(0.0)[31], Some(Trend::Increasing));
    }

    #[test]
    fn a_restart_forgets_what_was_before_and_late_packets_of_the_time_before_are_left_out() {
        let mut monitor = Monitor::new(settings());
        let rising = verdicts(&mut monitor, 0, (0..64).map(|packet| f64::from(packet) * 0.01));
        assert_eq!(rising[63], Some(Trend::Increasing));
        let first = verdicts(&mut monitor, 1, std::iter::repeat_n(0.053, 31));
        assert!(first.iter().all(Option::is_none));
        assert_eq!(monitor.on_packet(0, 9.0), None);
        let after = verdicts(&mut monitor, 1, std::iter::repeat_n(0.053, 33));
        assert_eq!(after[32], Some(Trend::Steady));
    }

    #[test]
    fn noise_while_alone_raises_epsilon_and_no_noise_leaves_it() {
        let mut quiet = Monitor::new(settings());
        verdicts(&mut quiet, 0, std::iter::repeat_n(0.053, 200));
        quiet.on_other_stream();
        assert_eq!(quiet.epsilon_s(), 0.002);
        // Windows of 32 are cut into 6 groups of 5 or 6 packets: alternating tens of packets give
        // steps of 20 ms.
        let mut noisy = Monitor::new(settings());
        verdicts(&mut noisy, 0, (0..400).map(|packet| if packet % 10 < 5 { 0.05 } else { 0.07 }));
        noisy.on_other_stream();
        assert!(noisy.epsilon_s() > 0.02, "{}", noisy.epsilon_s());
    }
}
