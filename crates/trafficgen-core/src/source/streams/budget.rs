//! Delay budgets: which sendings arrive as a whole in time.

use super::parameters::FlowParameters;
use crate::des::{ns, Io, SessionEvent, Time};

#[derive(Debug)]
struct Sent {
    at: Time,
    /// Datagrams that have not arrived.
    left: u32,
    in_time: bool,
}

/// Judges the sendings of a flow.
#[derive(Debug)]
pub struct Budget {
    /// None: nothing is judged.
    within: Option<Time>,
    sendings: Vec<Sent>,
}

impl Budget {
    pub fn new(flow: &FlowParameters) -> Self {
        Self { within: flow.delay_budget_s.map(ns), sendings: Vec::new() }
    }

    /// Something is sent in so many datagrams; returns their tag.
    pub fn sent(&mut self, at: Time, datagrams: u32) -> u64 {
        if self.within.is_some() {
            self.sendings.push(Sent { at, left: datagrams, in_time: false });
        }
        (self.sendings.len() as u64).saturating_sub(1)
    }

    pub fn arrived(&mut self, at: Time, tag: u64) {
        let (Some(within), Some(sent)) = (self.within, self.sendings.get_mut(tag as usize)) else {
            return;
        };
        sent.left = sent.left.saturating_sub(1);
        sent.in_time = sent.left == 0 && at - sent.at <= within;
    }

    /// Log how many sendings had their time, and how many of these arrived in it.
    pub fn log(&self, io: &mut Io) {
        let Some(within) = self.within else { return };
        let last = io.now() - within;
        let judged = || self.sendings.iter().filter(|sent| sent.at <= last);
        let in_time = judged().filter(|sent| sent.in_time).count() as f64;
        io.log(SessionEvent::Fact { name: "budget_sent", value: judged().count() as f64 });
        io.log(SessionEvent::Fact { name: "budget_met", value: in_time });
    }
}
