//! Exchanges: objects that are asked for one after the other, and the waits between.

use rand_chacha::ChaCha8Rng;

use super::parameters::ExchangeParameters;
use crate::des::{ns, Time};

/// What comes next in an exchange.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Move {
    Wait(Time),
    /// The receiver asks for an object by so many bytes.
    Ask(u32),
    /// The sender sends an object of so many bytes.
    Send(u32),
}

#[derive(Debug)]
pub struct Exchange {
    parameters: ExchangeParameters,
    pub flow: usize,
    step: usize,
    /// Objects that are left in the step; none: it has not begun.
    left: Option<u32>,
}

impl Exchange {
    pub fn new(parameters: ExchangeParameters, flow: usize) -> Self {
        Self { parameters, flow, step: 0, left: None }
    }

    pub fn begin(&mut self, rng: &mut ChaCha8Rng) -> Move {
        Move::Wait(ns(self.parameters.start_s.draw(rng).max(0.0)))
    }

    /// A wait is over: begin the step, and go on where it has no objects.
    pub fn next(&mut self, rng: &mut ChaCha8Rng) -> Move {
        let count = self.parameters.steps[self.step].count.draw(rng).round().max(0.0) as u32;
        self.left = Some(count);
        self.go_on(rng)
    }

    /// The request has reached the sender.
    pub fn answer(&mut self, rng: &mut ChaCha8Rng) -> Move {
        Move::Send(whole(self.parameters.steps[self.step].bytes.draw(rng)))
    }

    /// The object has reached the receiver.
    pub fn arrived(&mut self, rng: &mut ChaCha8Rng) -> Move {
        self.left = self.left.map(|left| left.saturating_sub(1));
        self.go_on(rng)
    }

    fn go_on(&mut self, rng: &mut ChaCha8Rng) -> Move {
        let step = &self.parameters.steps[self.step];
        if self.left.is_none_or(|left| left == 0) {
            self.step = (self.step + 1) % self.parameters.steps.len();
            return Move::Wait(ns(step.wait_s.draw(rng).max(0.0)));
        }
        match &step.request_bytes {
            Some(bytes) => Move::Ask(whole(bytes.draw(rng))),
            None => self.answer(rng),
        }
    }
}

/// Bytes of a message, which has at least one.
fn whole(bytes: f64) -> u32 {
    bytes.round().clamp(1.0, f64::from(u32::MAX)) as u32
}
