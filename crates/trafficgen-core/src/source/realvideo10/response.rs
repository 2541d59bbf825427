//! What the server does about loss without TurboPlay (BMW-B3, B4, B7, B8, B9).

use super::packet::Report;
use super::parameters::{Parameters, Programme};
use crate::des::{ns, Time};

/// What a report makes the server do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    Stay,
    /// No longer send faster than the clip plays.
    EndAcceleration,
    /// Leave frames out.
    Thin,
    /// Send all frames again.
    Restore,
    /// Leave out all video, for good.
    AudioOnly,
    /// Send only the parts that fit this media payload rate, bit/s.
    Parts(f64),
    /// Send this SureStream encoding.
    Level(usize),
}

/// What there is to leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Means {
    Frames,
    Parts,
    Levels,
}

#[derive(Debug)]
pub struct LossResponse {
    means: Means,
    loss: f64,
    least_bytes: u32,
    settling: Time,
    clear: Time,
    give_up_count: u32,
    parts_loss: f64,
    lasting_reports: (u32, u32),
    parts_goodput_share: f64,
    rates_bps: Vec<f64>,

    level: usize,
    level_before: usize,
    level_since: Time,
    /// How long the path must be clear before each level is tried.
    waits: Vec<Time>,
    longest_wait: Time,
    thinned: bool,
    times_congested: u32,
    /// The last reports, the youngest in the lowest bit: whether they told of congestion.
    history: u32,
    changed_at: Option<Time>,
    clear_since: Time,
}

impl LossResponse {
    pub fn new(parameters: &Parameters, programme: &Programme, now: Time) -> Self {
        let rates_bps: Vec<f64> = programme.encodings.iter().map(|encoding| encoding.bps).collect();
        let level = programme.top();
        let means = match programme.is_surestream() {
            true => Means::Levels,
            false if rates_bps[level] <= parameters.no_parts_up_to_kbps * 1e3 => Means::Frames,
            false => Means::Parts,
        };
        let waits = vec![ns(parameters.clear_s); rates_bps.len()];
        Self {
            means,
            loss: parameters.congestion_loss,
            least_bytes: match means {
                Means::Levels => parameters.levels_least_bytes,
                Means::Frames | Means::Parts => parameters.congestion_least_bytes,
            },
            settling: ns(parameters.settling_s),
            clear: ns(parameters.clear_s),
            give_up_count: parameters.give_up_count,
            parts_loss: parameters.parts_loss,
            lasting_reports: parameters.lasting_reports,
            parts_goodput_share: parameters.parts_goodput_share,
            rates_bps,
            level,
            level_before: level,
            level_since: now,
            waits,
            longest_wait: ns(parameters.clear_most_s),
            thinned: false,
            times_congested: 0,
            history: 0,
            changed_at: None,
            clear_since: now,
        }
    }

    /// A report has come about packets of `payload_bytes`, while the server sends faster than the
    /// clip plays (`accelerated`) or not.
    pub fn on_report(
        &mut self,
        now: Time,
        report: &Report,
        payload_bytes: u32,
        accelerated: bool,
    ) -> Action {
        let congested =
            report.lost * payload_bytes >= self.least_bytes && report.loss() > self.loss;
        if congested {
            self.clear_since = now;
        }
        // What was sent before a change still arrives, or does not, behind a full queue.
        if self.changed_at.is_some_and(|at| now - at < self.settling) {
            return Action::Stay;
        }
        let action = match self.means {
            _ if accelerated && congested => Action::EndAcceleration,
            _ if accelerated => Action::Stay,
            // The player fills its buffer and begins to play before loss changes what is sent
            // (BMW05, section IV-A on figure 5).
            _ if !report.has_begun() => Action::Stay,
            Means::Frames => self.answer_with_frames(now, congested),
            Means::Parts => self.answer_with_parts(report, congested),
            Means::Levels => self.answer_with_levels(now, report, congested),
        };
        if action != Action::Stay {
            self.clear_since = now;
            // More than before is answered at once.
            self.changed_at = (!self.rises(action)).then_some(now);
        }
        action
    }

    fn rises(&self, action: Action) -> bool {
        matches!(action, Action::Restore)
            || matches!(action, Action::Level(level) if level > self.level_before)
    }

    fn answer_with_frames(&mut self, now: Time, congested: bool) -> Action {
        if self.times_congested >= self.give_up_count {
            return Action::Stay;
        }
        if congested {
            self.times_congested += 1;
            self.thinned = true;
            return if self.times_congested >= self.give_up_count {
                Action::AudioOnly
            } else {
                Action::Thin
            };
        }
        if self.thinned && now - self.clear_since >= self.clear {
            self.thinned = false;
            return Action::Restore;
        }
        Action::Stay
    }

    /// Whether so many of the last so many reports, this one among them, told of loss; it then
    /// begins anew.
    fn lasts(&mut self, lossy: bool) -> bool {
        let (enough, of) = self.lasting_reports;
        self.history = (self.history << 1 | u32::from(lossy)) & (u32::MAX >> (32 - of));
        let lasts = lossy && self.history.count_ones() >= enough;
        if lasts {
            self.history = 0;
        }
        lasts
    }

    fn answer_with_parts(&mut self, report: &Report, congested: bool) -> Action {
        if !self.lasts(congested && report.loss() > self.parts_loss) {
            return Action::Stay;
        }
        Action::Parts(self.parts_goodput_share * report.goodput_bps())
    }

    fn answer_with_levels(&mut self, now: Time, report: &Report, congested: bool) -> Action {
        self.level_before = self.level;
        if self.lasts(congested) && self.level > 0 {
            self.note_trial(now);
            // What comes of the level is what the path carries, also while the rate still rises.
            let carried_bps = (1.0 - report.loss()) * self.rates_bps[self.level];
            let fitting = self.rates_bps.iter().rposition(|rate| *rate <= carried_bps).unwrap_or(0);
            self.level = fitting.min(self.level - 1);
            self.level_since = now;
            return Action::Level(self.level);
        }
        let next = self.level + 1;
        if self.waits.get(next).is_some_and(|wait| now - self.clear_since >= *wait) {
            self.level = next;
            self.level_since = now;
            return Action::Level(next);
        }
        Action::Stay
    }

    /// The present level was too much: if it was so at once, it is not tried again as soon.
    fn note_trial(&mut self, now: Time) {
        let failed = now - self.level_since < self.clear;
        let wait = &mut self.waits[self.level];
        *wait = if failed { (2 * *wait).min(self.longest_wait) } else { self.clear };
    }
}
