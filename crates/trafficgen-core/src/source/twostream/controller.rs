//! The sender's half of the control: a binary search for the available bandwidth with pauses
//! (LJM-C1, LJM-C2).

use super::trend::Trend;
use crate::des::Time;

/// Settings of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchSettings {
    /// Rate that the application would like to send, kbps: upper end of the search.
    pub full_kbps: f64,
    /// The search ends when its bounds are this close, kbps.
    pub resolution_kbps: f64,
    /// A pause ends when no decreasing verdict has come for so long.
    pub pause_patience: Time,
    /// The rate is lowered when nothing but ambiguous verdicts have come for so long, while
    /// searching and holding.
    pub search_patience: Time,
    pub hold_patience: Time,
    /// The rate is lowered to this share of itself.
    pub lowered_share: f64,
    /// Lower bound of a search after congestion while holding, as a share of the rate held.
    pub search_again_share: f64,
    /// How long a rate is held before a higher one is tried; None: for ever.
    pub probe_every: Option<Time>,
    /// Upper bound of that search, as a multiple of the rate held.
    pub probe_multiple: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// There is no traffic stream.
    Off,
    Search,
    /// The traffic stream is paused until the queues are empty.
    Pause,
    /// The rate was found.
    Hold,
}

/// What the controller has just done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Paused,
    Resumed,
    /// The present rate is below the available bandwidth: a higher one is tried.
    Raised,
    /// Nothing was clear for long: a slightly lower rate.
    Lowered,
    Held,
}

/// The search.
#[derive(Debug)]
pub struct Controller {
    settings: SearchSettings,
    state: State,
    low_kbps: f64,
    high_kbps: f64,
    rate_kbps: f64,
    /// Counts the restarts of the receiver's history; every packet of the monitoring stream carries
    /// it.
    epoch: u32,
    since: Time,
    /// When the last verdict came that was not ambiguous.
    clear_at: Time,
    draining: bool,
}

impl Controller {
    pub fn new(settings: SearchSettings) -> Self {
        Self {
            settings,
            state: State::Off,
            low_kbps: 0.0,
            high_kbps: settings.full_kbps,
            rate_kbps: settings.full_kbps,
            epoch: 0,
            since: 0,
            clear_at: 0,
            draining: false,
        }
    }

    pub fn state(&self) -> State {
        self.state
    }

    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Rate of the traffic stream, kbps; while it is paused, the one that proved too high.
    pub fn rate_kbps(&self) -> f64 {
        self.rate_kbps
    }

    /// The traffic stream begins: in the middle, since a first try at the full rate costs packets
    /// of the other stream.
    pub fn begin(&mut self, now: Time) {
        self.low_kbps = 0.0;
        self.high_kbps = self.settings.full_kbps;
        self.next_rate(now);
    }

    /// The traffic stream is over.
    pub fn end(&mut self) {
        self.state = State::Off;
    }

    /// A verdict of the receiver has come; those on delays before the last restart say nothing
    /// about the present rate.
    pub fn on_verdict(&mut self, now: Time, epoch: u32, trend: Trend) -> Option<Change> {
        if epoch != self.epoch || self.state == State::Off {
            return None;
        }
        let ambiguous = matches!(trend, Trend::Ambiguous { .. });
        if self.state == State::Pause {
            if trend == Trend::Decreasing {
                self.draining = true;
                self.clear_at = now;
                return None;
            }
            return self.draining.then(|| self.resume(now));
        }
        if !ambiguous {
            self.clear_at = now;
        }
        match (trend, self.state) {
            (Trend::Increasing, _) => Some(self.pause(now)),
            (Trend::Steady, State::Search) => Some(self.narrow(now)),
            _ => None,
        }
    }

    /// To be called often: patience may have run out.
    pub fn on_time(&mut self, now: Time) -> Option<Change> {
        let unclear_for = now - self.clear_at;
        match self.state {
            State::Pause if unclear_for >= self.settings.pause_patience => Some(self.resume(now)),
            State::Search if unclear_for >= self.settings.search_patience => {
                Some(self.lower_in_search(now))
            }
            State::Hold if unclear_for >= self.settings.hold_patience => {
                self.rate_kbps *= self.settings.lowered_share;
                self.restart(now);
                Some(Change::Lowered)
            }
            State::Hold
                if self.settings.probe_every.is_some_and(|every| now - self.since >= every) =>
            {
                self.low_kbps = self.rate_kbps;
                self.high_kbps =
                    (self.settings.probe_multiple * self.rate_kbps).min(self.settings.full_kbps);
                self.next_rate(now);
                Some(Change::Raised)
            }
            _ => None,
        }
    }

    fn pause(&mut self, now: Time) -> Change {
        self.high_kbps = self.rate_kbps;
        // A lower bound that was once right need not be so any more: after a hold, and where it is
        // itself too high.
        if self.state == State::Hold || self.rate_kbps <= self.low_kbps {
            self.low_kbps = self.settings.search_again_share * self.rate_kbps;
        }
        self.state = State::Pause;
        self.draining = false;
        self.restart(now);
        Change::Paused
    }

    fn resume(&mut self, now: Time) -> Change {
        self.next_rate(now);
        Change::Resumed
    }

    fn narrow(&mut self, now: Time) -> Change {
        self.low_kbps = self.rate_kbps;
        if !self.is_closed() {
            self.next_rate(now);
            return Change::Raised;
        }
        self.state = State::Hold;
        self.since = now;
        Change::Held
    }

    fn lower_in_search(&mut self, now: Time) -> Change {
        self.high_kbps = self.rate_kbps;
        let lowered_kbps = self.settings.lowered_share * self.rate_kbps;
        if self.rate_kbps > self.low_kbps {
            self.rate_kbps = lowered_kbps.max(self.low_kbps);
        } else {
            self.rate_kbps = lowered_kbps;
            self.low_kbps = self.settings.search_again_share * lowered_kbps;
        }
        self.restart(now);
        Change::Lowered
    }

    fn is_closed(&self) -> bool {
        self.high_kbps - self.low_kbps <= self.settings.resolution_kbps
    }

    /// Try the middle of the bounds, or what has worked where they are close.
    fn next_rate(&mut self, now: Time) {
        self.rate_kbps =
            if self.is_closed() { self.low_kbps } else { 0.5 * (self.low_kbps + self.high_kbps) };
        self.state = State::Search;
        self.restart(now);
    }

    /// Delays from now on belong to something new.
    fn restart(&mut self, now: Time) {
        self.epoch += 1;
        self.since = now;
        self.clear_at = now;
    }
}

#[cfg(test)]
mod unit_tests {
    use super::*;
    use crate::des::ns;

    const AMBIGUOUS: Trend = Trend::Ambiguous { up: true };

    fn controller() -> Controller {
        let mut controller = Controller::new(SearchSettings {
            full_kbps: 100.0,
            resolution_kbps: 0.5,
            pause_patience: ns(2.7),
            search_patience: ns(4.0),
            hold_patience: ns(10.0),
            lowered_share: 0.95,
            search_again_share: 0.5,
            probe_every: None,
            probe_multiple: 1.5,
        });
        controller.begin(0);
        controller
    }

    /// Answer each rate as a path with room for `available_kbps` does; returns the rates that were
    /// tried.
    fn search(controller: &mut Controller, available_kbps: f64) -> Vec<f64> {
        let mut rates = vec![controller.rate_kbps()];
        for step in 1..100 {
            let (now, epoch) = (ns(f64::from(step)), controller.epoch());
            let change = match controller.state() {
                State::Pause => {
                    controller.on_verdict(now, epoch, Trend::Decreasing);
                    controller.on_verdict(now, epoch, Trend::Steady)
                }
                State::Search if controller.rate_kbps() > available_kbps => {
                    controller.on_verdict(now, epoch, Trend::Increasing)
                }
                State::Search => controller.on_verdict(now, epoch, Trend::Steady),
                State::Hold | State::Off => break,
            };
            if matches!(change, Some(Change::Raised | Change::Resumed)) {
                rates.push(controller.rate_kbps());
            }
        }
        rates
    }

    #[test]
    fn the_search_halves_the_interval_and_ends_below_the_available_bandwidth() {
        let mut controller = controller();
        let rates = search(&mut controller, 49.0);
        assert_eq!(rates[..8], [50.0, 25.0, 37.5, 43.75, 46.875, 48.4375, 49.218_75, 48.828_125]);
        assert_eq!(controller.state(), State::Hold);
        assert!(
            controller.rate_kbps() <= 49.0 && controller.rate_kbps() > 48.5,
            "{}",
            controller.rate_kbps()
        );
    }

    #[test]
    fn a_path_with_room_for_all_is_climbed_to_the_full_rate_but_for_the_resolution() {
        let mut controller = controller();
        search(&mut controller, 1000.0);
        assert_eq!(controller.state(), State::Hold);
        assert!(controller.rate_kbps() > 99.0, "{}", controller.rate_kbps());
    }

    #[test]
    fn a_pause_lasts_until_the_decreasing_phase_has_ended() {
        let mut controller = controller();
        assert_eq!(
            controller.on_verdict(ns(1.0), controller.epoch(), Trend::Increasing),
            Some(Change::Paused)
        );
        let epoch = controller.epoch();
        for time_s in [2.0, 3.0, 4.0, 5.0, 6.0] {
            assert_eq!(controller.on_verdict(ns(time_s), epoch, Trend::Decreasing), None);
            assert_eq!(controller.on_time(ns(time_s + 0.5)), None);
        }
        assert_eq!(controller.on_verdict(ns(7.0), epoch, AMBIGUOUS), Some(Change::Resumed));
        assert_eq!(controller.rate_kbps(), 25.0);
    }

    #[test]
    fn a_pause_without_a_decreasing_phase_ends_by_itself_and_so_does_one_whose_verdicts_are_lost() {
        let mut controller = controller();
        controller.on_verdict(ns(1.0), controller.epoch(), Trend::Increasing);
        assert_eq!(controller.on_verdict(ns(2.5), controller.epoch(), Trend::Steady), None);
        assert_eq!(controller.on_time(ns(3.6)), None);
        assert_eq!(controller.on_time(ns(3.8)), Some(Change::Resumed));
    }

    #[test]
    fn verdicts_about_the_rate_before_are_not_heard() {
        let mut controller = controller();
        let before = controller.epoch();
        controller.on_verdict(ns(3.0), before, Trend::Steady);
        assert_eq!(controller.rate_kbps(), 75.0);
        assert_eq!(controller.on_verdict(ns(3.1), before, Trend::Steady), None);
        assert_eq!(controller.on_verdict(ns(3.2), before, Trend::Increasing), None);
        assert_eq!(controller.rate_kbps(), 75.0);
    }

    #[test]
    fn nothing_but_ambiguity_for_long_lowers_the_rate_slightly_though_not_below_one_that_worked() {
        let mut controller = controller();
        for time_s in [1.0, 2.0, 3.0] {
            assert_eq!(controller.on_verdict(ns(time_s), controller.epoch(), AMBIGUOUS), None);
            assert_eq!(controller.on_time(ns(time_s)), None);
        }
        assert_eq!(controller.on_time(ns(4.0)), Some(Change::Lowered));
        assert_eq!(controller.rate_kbps(), 47.5);
        controller.on_verdict(ns(7.0), controller.epoch(), Trend::Steady);
        assert_eq!(controller.rate_kbps(), 48.75);
        assert_eq!(controller.on_time(ns(11.1)), Some(Change::Lowered));
        assert_eq!(controller.rate_kbps(), 47.5);
    }

    #[test]
    fn a_decreasing_verdict_while_searching_is_no_ambiguity() {
        let mut controller = controller();
        controller.on_verdict(ns(3.0), controller.epoch(), Trend::Decreasing);
        assert_eq!(controller.on_time(ns(5.0)), None);
        assert_eq!(controller.rate_kbps(), 50.0);
    }

    #[test]
    fn congestion_while_holding_starts_a_search_from_half_the_rate() {
        let mut controller = controller();
        search(&mut controller, 49.0);
        let held_kbps = controller.rate_kbps();
        assert_eq!(
            controller.on_verdict(ns(200.0), controller.epoch(), Trend::Increasing),
            Some(Change::Paused)
        );
        assert_eq!(controller.on_time(ns(203.0)), Some(Change::Resumed));
        assert_eq!(controller.rate_kbps(), 0.75 * held_kbps);
        search(&mut controller, 30.0);
        assert!((29.0..=30.0).contains(&controller.rate_kbps()), "{}", controller.rate_kbps());
    }

    #[test]
    fn a_higher_rate_is_tried_only_where_it_is_asked_for() {
        let mut never = controller();
        search(&mut never, 49.0);
        let mut often = controller();
        often.settings.probe_every = Some(ns(5.0));
        search(&mut often, 49.0);
        let held_kbps = often.rate_kbps();
        for time_s in [100.0, 104.0] {
            never.on_verdict(ns(time_s), never.epoch(), Trend::Steady);
            assert_eq!(never.on_time(ns(time_s)), None);
        }
        often.on_verdict(ns(104.0), often.epoch(), Trend::Steady);
        assert_eq!(often.on_time(ns(104.0)), Some(Change::Raised));
        assert_eq!(often.rate_kbps(), 1.25 * held_kbps);
    }
}
