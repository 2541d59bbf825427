//! When a process sends: arrivals in order of time, each with what it sends.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::parameters::{
    Arrivals, Parameters, ProcessParameters, SendParameters, State, NO_TIME_S,
};
use crate::des::{ns, Time};

/// States of no length that may follow each other.
const MOST_EMPTY_STATES: usize = 1000;
/// After so many arrivals in a row that send nothing a process has ended: two days of voice frames.
const MOST_EMPTY_ARRIVALS: u32 = 10_000_000;

/// Something to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sending {
    pub at: Time,
    /// Counts the sendings of the process.
    number: u64,
    pub flow: usize,
    pub bytes: u32,
}

#[derive(Debug)]
pub struct Process {
    parameters: ProcessParameters,
    /// Names of the flows, by their numbers.
    flows: Vec<String>,
    start: Time,
    /// Arrivals so far, and the number of the first one in its cycle.
    arrivals: u64,
    first_turn: u64,
    /// The next arrival, s after the start, without jitter; none: there are no more.
    next_s: Option<f64>,
    /// First arrival of all, or of the present state, s.
    from_s: f64,
    /// Arrivals since then.
    since: u64,
    state: usize,
    state_end_s: f64,
    /// Times of arrivals that come once, last first.
    times_s: Vec<f64>,
    /// How much later all is, so that no jitter comes too early.
    lead_s: f64,
    waiting: BinaryHeap<Reverse<Sending>>,
    sendings: u64,
}

impl Process {
    pub fn new(parameters: ProcessParameters, all: &Parameters) -> Self {
        Self {
            flows: all.flows.iter().map(|flow| flow.name.clone()).collect(),
            lead_s: parameters.jitter_s.depth(),
            parameters,
            start: 0,
            arrivals: 0,
            first_turn: 0,
            next_s: None,
            from_s: 0.0,
            since: 0,
            state: 0,
            state_end_s: 0.0,
            times_s: Vec::new(),
            waiting: BinaryHeap::new(),
            sendings: 0,
        }
    }

    pub fn begin(&mut self, now: Time, rng: &mut ChaCha8Rng) {
        self.start = now;
        self.first_turn = self.parameters.first_turn.draw(rng).max(0.0) as u64;
        self.from_s = self.parameters.start_s.draw(rng).max(0.0);
        self.next_s = Some(self.from_s);
        match &self.parameters.arrivals {
            Arrivals::Once { count, at_s } => {
                self.times_s = (0..*count).map(|_| self.from_s + at_s.draw(rng)).collect();
                self.times_s.sort_by(|one, other| other.total_cmp(one));
                self.next_s = self.times_s.pop();
            }
            Arrivals::States(states) => {
                let weights = states.iter().map(|state| state.start_weight);
                self.state = choose(weights, rng);
                self.state_end_s = self.from_s + states[self.state].hold_s.draw(rng).max(0.0);
                if self.state_end_s - self.from_s <= NO_TIME_S {
                    self.enter_next_state(rng);
                }
            }
            Arrivals::Period(_) | Arrivals::Gap(_) => {}
        }
    }

    /// When something is to be sent next; none: nothing more.
    pub fn due(&mut self, rng: &mut ChaCha8Rng) -> Option<Time> {
        let mut empty = 0;
        while let Some(next_s) = self.next_s {
            if self.waiting.peek().is_some_and(|first| first.0.at <= self.start + ns(next_s)) {
                break;
            }
            self.arrive(next_s, rng);
            self.find_next(rng);
            empty = if self.waiting.is_empty() { empty + 1 } else { 0 };
            if empty == MOST_EMPTY_ARRIVALS {
                self.next_s = None;
            }
        }
        self.waiting.peek().map(|first| first.0.at)
    }

    /// Take what is to be sent by now.
    pub fn take(&mut self, now: Time, rng: &mut ChaCha8Rng) -> Option<Sending> {
        self.due(rng).filter(|due| *due <= now)?;
        self.waiting.pop().map(|first| first.0)
    }

    /// What is sent at the end.
    pub fn last(&mut self, now: Time, rng: &mut ChaCha8Rng) -> Vec<Sending> {
        self.waiting.clear();
        let last = std::mem::take(&mut self.parameters.last);
        self.send(&last, now, rng);
        let mut sendings: Vec<_> = self.waiting.drain().map(|one| one.0).collect();
        sendings.sort();
        sendings
    }

    fn arrive(&mut self, at_s: f64, rng: &mut ChaCha8Rng) {
        let parameters = &self.parameters;
        let late_s = (self.lead_s + parameters.jitter_s.draw(rng)).max(0.0);
        let sends = match &parameters.arrivals {
            _ if self.arrivals == 0 && !parameters.first.is_empty() => &parameters.first,
            Arrivals::States(states) => &states[self.state].sends,
            _ => &parameters.sends,
        };
        let sends = sends.clone();
        self.send(&sends, self.start + ns(at_s + late_s), rng);
        self.arrivals += 1;
    }

    fn send(&mut self, sends: &[SendParameters], at: Time, rng: &mut ChaCha8Rng) {
        for send in sends {
            let turn = ((self.first_turn + self.arrivals) % u64::from(send.cycle.max(1))) as u32;
            if send.turns.is_some_and(|(first, last)| turn < first || turn > last) {
                continue;
            }
            let Some(flow) = self.flows.iter().position(|name| *name == send.flow) else {
                continue;
            };
            let mut at = at;
            for number in 0..send.count {
                if number > 0 {
                    at += ns(send.spacing_s.draw(rng).max(0.0));
                }
                let bytes = send.bytes.draw(rng).round().clamp(0.0, f64::from(u32::MAX)) as u32;
                self.sendings += 1;
                self.waiting.push(Reverse(Sending { at, number: self.sendings, flow, bytes }));
            }
        }
    }

    fn find_next(&mut self, rng: &mut ChaCha8Rng) {
        self.since += 1;
        match &self.parameters.arrivals {
            Arrivals::Period(period_s) => {
                self.next_s = Some(self.from_s + self.since as f64 * period_s);
            }
            Arrivals::Gap(gap_s) => {
                self.next_s = self.next_s.map(|last_s| last_s + gap_s.draw(rng).max(0.0));
            }
            Arrivals::Once { .. } => self.next_s = self.times_s.pop(),
            Arrivals::States(states) => {
                let next_s = self.from_s + self.since as f64 * states[self.state].period_s;
                if next_s < self.state_end_s - NO_TIME_S {
                    self.next_s = Some(next_s);
                } else {
                    self.enter_next_state(rng);
                }
            }
        }
    }

    fn enter_next_state(&mut self, rng: &mut ChaCha8Rng) {
        let Arrivals::States(states) = &self.parameters.arrivals else { return };
        self.next_s = None;
        self.since = 0;
        for _ in 0..MOST_EMPTY_STATES {
            let next = &states[self.state].next;
            if next.is_empty() {
                return;
            }
            let name = &next[choose(next.iter().map(|(_, weight)| *weight), rng)].0;
            self.state = place_of(states, name);
            self.from_s = self.state_end_s;
            self.state_end_s += states[self.state].hold_s.draw(rng).max(0.0);
            if self.state_end_s - self.from_s > NO_TIME_S {
                self.next_s = Some(self.from_s);
                return;
            }
        }
    }
}

fn place_of(states: &[State], name: &str) -> usize {
    states.iter().position(|state| state.name == name).unwrap_or(0)
}

/// Choose a place by its weight.
fn choose(weights: impl Iterator<Item = f64> + Clone, rng: &mut ChaCha8Rng) -> usize {
    let total: f64 = weights.clone().map(|weight| weight.max(0.0)).sum();
    let mut left = rng.random::<f64>() * total;
    let found = weights.map(|weight| weight.max(0.0)).position(|weight| {
        left -= weight;
        left < 0.0
    });
    found.unwrap_or(0)
}
