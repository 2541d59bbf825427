//! Which level the next segment is asked for at.

use std::collections::VecDeque;

/// What the choice looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// The buffer alone: BBA-0 of Huang et al., SIGCOMM 2014.
    Buffer,
    /// Throughput alone: harmonic mean and gradual steps up as in FESTIVE (Jiang et al., CoNEXT
    /// 2012).
    Rate,
    /// Throughput while the buffer first fills, then the buffer: start-up of BBA-2.
    Hybrid,
}

#[derive(Clone, Debug)]
pub struct ChoiceSettings {
    pub choice: Choice,
    /// Levels, bit/s, ascending.
    pub ladder_bps: Vec<f64>,
    pub segment_s: f64,
    /// Below this much media the lowest level is taken, and from this much more on the highest.
    pub reservoir_s: f64,
    pub cushion_s: f64,
    /// Segments over which throughput is averaged.
    pub throughput_segments: usize,
    /// Share of the throughput that may be used.
    pub safety_share: f64,
    /// In the start-up a level is gone up when the buffer has grown by this share of a segment,
    /// empty and full cushion.
    pub growth_empty_share: f64,
    pub growth_full_share: f64,
}

/// The player's memory of its choices.
#[derive(Debug)]
pub struct Chooser {
    settings: ChoiceSettings,
    /// Throughput of the last segments, bit/s.
    throughput_bps: VecDeque<f64>,
    level: usize,
    /// Segments that were asked for at this level since the last step.
    at_level: usize,
    /// The start-up of the hybrid choice goes on.
    starting: bool,
    /// Growth of the buffer with the last segment, s; None before the first.
    growth_s: Option<f64>,
}

impl Chooser {
    pub fn new(settings: ChoiceSettings) -> Self {
        Self {
            settings,
            throughput_bps: VecDeque::new(),
            level: 0,
            at_level: 0,
            starting: true,
            growth_s: None,
        }
    }

    /// A segment of `bytes` has come, `elapsed_s` after it was asked for.
    pub fn observe(&mut self, bytes: u64, elapsed_s: f64) {
        if self.throughput_bps.len() >= self.settings.throughput_segments {
            self.throughput_bps.pop_front();
        }
        self.throughput_bps.push_back(8.0 * bytes as f64 / elapsed_s.max(1e-9));
        self.growth_s = Some(self.settings.segment_s - elapsed_s);
    }

    /// Level of the next segment, with `buffer_s` of media in the buffer.
    pub fn next(&mut self, buffer_s: f64) -> usize {
        let wanted = match self.settings.choice {
            Choice::Buffer => self.by_buffer(buffer_s),
            Choice::Rate => self.by_rate(),
            Choice::Hybrid => self.by_both(buffer_s),
        };
        self.at_level = if wanted == self.level { self.at_level + 1 } else { 1 };
        self.level = wanted;
        wanted
    }

    /// The segment was asked for at this level, whatever was chosen.
    pub fn take(&mut self, level: usize) {
        if level != self.level {
            (self.level, self.at_level) = (level, 1);
        }
    }

    fn top(&self) -> usize {
        self.settings.ladder_bps.len() - 1
    }

    /// Highest level of at most `bps`; the lowest where none is.
    fn highest_within(&self, bps: f64) -> usize {
        self.settings.ladder_bps.partition_point(|level| *level <= bps).max(1) - 1
    }

    /// BBA-0: a rate that grows linearly with the buffer, left only when it passes the next level.
    fn by_buffer(&self, buffer_s: f64) -> usize {
        let ChoiceSettings { ladder_bps, reservoir_s, cushion_s, .. } = &self.settings;
        let (lowest, highest) = (ladder_bps[0], ladder_bps[self.top()]);
        let filled = (buffer_s - reservoir_s) / cushion_s;
        if filled <= 0.0 {
            return 0;
        }
        if filled >= 1.0 {
            return self.top();
        }
        let mapped_bps = lowest + filled * (highest - lowest);
        let (up, down) = ((self.level + 1).min(self.top()), self.level.saturating_sub(1));
        if mapped_bps >= ladder_bps[up] && up > self.level {
            self.highest_within(mapped_bps)
        } else if mapped_bps <= ladder_bps[down] && down < self.level {
            (self.highest_within(mapped_bps) + 1).min(down)
        } else {
            self.level
        }
    }

    /// Down at once to what throughput carries; up one level, after as many segments as the level's
    /// number.
    fn by_rate(&self) -> usize {
        if self.throughput_bps.is_empty() {
            return self.level;
        }
        let slowness: f64 = self.throughput_bps.iter().map(|bps| 1.0 / bps).sum();
        let mean_bps = self.throughput_bps.len() as f64 / slowness;
        let target = self.highest_within(self.settings.safety_share * mean_bps);
        if target <= self.level {
            target
        } else if self.at_level > self.level {
            self.level + 1
        } else {
            self.level
        }
    }

    /// BBA-2: while the buffer first fills, a level up with each segment that came fast enough.
    fn by_both(&mut self, buffer_s: f64) -> usize {
        let by_buffer = self.by_buffer(buffer_s);
        let Some(growth_s) = self.growth_s else { return self.level };
        if self.starting && (by_buffer > self.level || growth_s < 0.0) {
            self.starting = false;
        }
        if !self.starting {
            return by_buffer;
        }
        let ChoiceSettings {
            segment_s,
            reservoir_s,
            cushion_s,
            growth_empty_share,
            growth_full_share,
            ..
        } = self.settings;
        let filled = (buffer_s / (reservoir_s + cushion_s)).min(1.0);
        let needed_s =
            segment_s * (growth_empty_share + filled * (growth_full_share - growth_empty_share));
        if growth_s > needed_s {
            (self.level + 1).min(self.top())
        } else {
            self.level
        }
    }
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    fn chooser(choice: Choice) -> Chooser {
        Chooser::new(ChoiceSettings {
            choice,
            ladder_bps: vec![1e6, 2e6, 3e6, 5e6],
            segment_s: 4.0,
            reservoir_s: 10.0,
            cushion_s: 20.0,
            throughput_segments: 5,
            safety_share: 0.85,
            growth_empty_share: 0.875,
            growth_full_share: 0.5,
        })
    }

    #[test]
    fn the_buffer_chooses_the_ends_below_the_reservoir_and_above_the_cushion() {
        let mut chooser = chooser(Choice::Buffer);
        assert_eq!(chooser.next(10.0), 0);
        assert_eq!(chooser.next(30.0), 3);
        assert_eq!(chooser.next(3.0), 0);
    }

    #[test]
    fn between_them_a_level_is_kept_until_the_map_has_passed_the_next_one() {
        // The map is 1 Mbps + 0.2 Mbps for each second above 10 s: 2 Mbps at 15 s, 3 Mbps at 20 s.
        let mut chooser = chooser(Choice::Buffer);
        assert_eq!(chooser.next(14.9), 0);
        assert_eq!(chooser.next(15.0), 1);
        assert_eq!(chooser.next(19.9), 1);
        assert_eq!(chooser.next(20.0), 2);
        assert_eq!(chooser.next(15.1), 2);
        assert_eq!(chooser.next(14.9), 1);
        assert_eq!(chooser.next(10.1), 1);
        assert_eq!(chooser.next(10.0), 0);
    }

    #[test]
    fn throughput_is_climbed_step_by_step_and_left_at_once() {
        let mut chooser = chooser(Choice::Rate);
        let mut levels = vec![chooser.next(0.0)];
        for _ in 0..12 {
            chooser.observe(4_000_000, 4.0); // 8 Mbps
            levels.push(chooser.next(0.0));
        }
        assert_eq!(levels, [0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3]);
        chooser.observe(100_000, 4.0); // 0.2 Mbps pulls the harmonic mean of five below 1 Mbps
        assert_eq!(chooser.next(0.0), 0);
    }

    #[test]
    fn a_level_at_the_edge_of_the_throughput_is_not_taken() {
        let mut chooser = chooser(Choice::Rate);
        chooser.next(0.0);
        chooser.observe(1_150_000, 4.0); // 2.3 Mbps x 0.85 = 1.955 Mbps
        assert_eq!(chooser.next(0.0), 0);
        let mut other = self::chooser(Choice::Rate);
        other.next(0.0);
        other.observe(1_200_000, 4.0); // 2.4 Mbps x 0.85 = 2.04 Mbps
        assert_eq!(other.next(0.0), 1);
    }

    #[test]
    fn both_climb_fast_at_the_start_and_then_leave_it_to_the_buffer() {
        let mut chooser = chooser(Choice::Hybrid);
        assert_eq!(chooser.next(0.0), 0);
        chooser.observe(500_000, 0.2);
        assert_eq!(chooser.next(4.0), 1);
        chooser.observe(1_000_000, 0.4);
        assert_eq!(chooser.next(8.0), 2);
        chooser.observe(1_500_000, 5.0); // slower than it plays: the start-up is over
        assert_eq!(chooser.next(7.0), 0);
        chooser.observe(500_000, 0.2);
        assert_eq!(chooser.next(9.0), 0);
    }
}
