//! Parameters of a source of streams: its flows, and what is sent over them and when.

use super::law::Law;
use crate::des::End;
use crate::source::fitted::{MediaName, Protocol};
use crate::source::parameters::positive;
use crate::transport::TcpConfig;

/// IPv4 packets of 1500 bytes.
const USUAL_PACKET_BYTES: u32 = 1472;
/// Arrivals on a grid that would come this close to the end of a state belong to the next one: sums
/// of times are not exact, s. Gaps are longer.
pub(super) const NO_TIME_S: f64 = 1e-9;

#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Length; none: until it is stopped, or all has been sent.
    pub duration_s: Option<f64>,
    /// Settings of both ends of its connections.
    #[serde(default)]
    pub tcp: TcpConfig,
    pub flows: Vec<FlowParameters>,
    /// What is sent whatever arrives.
    #[serde(default)]
    pub processes: Vec<ProcessParameters>,
    /// What is sent once something else has arrived.
    #[serde(default)]
    pub exchanges: Vec<ExchangeParameters>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    Down,
    Up,
}

impl Direction {
    pub fn sender(self) -> End {
        match self {
            Self::Down => End::Server,
            Self::Up => End::Client,
        }
    }
}

#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowParameters {
    pub name: String,
    pub media: MediaName,
    pub direction: Direction,
    pub protocol: Protocol,
    /// Largest payload of a datagram; what is larger is cut.
    #[serde(default = "usual_packet_bytes")]
    pub packet_bytes: u32,
    /// Each sending over TCP opens a connection of its own.
    #[serde(default)]
    pub new_connections: bool,
    /// All of a sending over UDP should arrive within this time.
    pub delay_budget_s: Option<f64>,
    /// Share of them that has to, of a user who is satisfied; results are judged by it.
    #[serde(rename = "success_share")]
    _success_share: Option<f64>,
}

fn usual_packet_bytes() -> u32 {
    USUAL_PACKET_BYTES
}

#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessParameters {
    /// First arrival.
    #[serde(default = "zero")]
    pub start_s: Law,
    pub arrivals: Arrivals,
    /// Offset of each arrival on the grid; it does not add up. A law that has values below 0 has a
    /// low end, and all arrivals are as much later.
    #[serde(default = "zero")]
    pub jitter_s: Law,
    /// Number of the first arrival, which `turns` counts from.
    #[serde(default = "zero")]
    pub first_turn: Law,
    /// What each arrival sends; those of states have their own.
    #[serde(default)]
    pub sends: Vec<SendParameters>,
    /// What the first arrival sends instead.
    #[serde(default)]
    pub first: Vec<SendParameters>,
    /// What is sent at the end.
    #[serde(default)]
    pub last: Vec<SendParameters>,
}

fn zero() -> Law {
    Law::constant(0.0)
}

/// When something is sent.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Arrivals {
    /// On a grid.
    #[serde(rename = "period_s")]
    Period(f64),
    /// After independent gaps.
    #[serde(rename = "gap_s")]
    Gap(Law),
    /// A number of them at independent times.
    #[serde(rename = "once")]
    Once { count: u32, at_s: Law },
    /// On a grid of its own in each state of a semi-Markov chain.
    #[serde(rename = "states")]
    States(Vec<State>),
}

#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    pub name: String,
    /// Weight of the state at the start.
    #[serde(default)]
    pub start_weight: f64,
    /// Time in the state.
    pub hold_s: Law,
    /// States that follow, with their weights.
    pub next: Vec<(String, f64)>,
    /// From arrival to arrival; the first one is at the begin of the state.
    pub period_s: f64,
    #[serde(default)]
    pub sends: Vec<SendParameters>,
}

#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SendParameters {
    pub flow: String,
    pub bytes: Law,
    /// Packets or files of independent sizes.
    #[serde(default = "one")]
    pub count: u32,
    /// From one of them to the next.
    #[serde(default = "zero")]
    pub spacing_s: Law,
    /// Arrivals of which those from the first to the last of `turns` send, counted from 0.
    #[serde(default = "one")]
    pub cycle: u32,
    pub turns: Option<(u32, u32)>,
}

fn one() -> u32 {
    1
}

#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExchangeParameters {
    pub flow: String,
    #[serde(default = "zero")]
    pub start_s: Law,
    /// Steps that follow each other, over and over.
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Objects, one after the other.
    pub count: Law,
    /// Bytes by which the receiver asks for each; none: it does not.
    pub request_bytes: Option<Law>,
    pub bytes: Law,
    /// From the last byte of the last object to the next step.
    pub wait_s: Law,
}

impl Parameters {
    /// # Errors
    /// What makes no sense.
    pub fn validate(&self) -> Result<(), String> {
        self.tcp.validate()?;
        if let Some(duration_s) = self.duration_s {
            positive("duration_s", duration_s)?;
        }
        for flow in &self.flows {
            if flow.protocol == Protocol::Quic {
                return Err(format!("flow {} needs protocol udp or tcp, not quic", flow.name));
            }
            if !(1..=65_507).contains(&flow.packet_bytes) {
                let bytes = flow.packet_bytes;
                return Err(format!("packet_bytes must be from 1 to 65507, not {bytes}"));
            }
            if let Some(budget_s) = flow.delay_budget_s {
                positive("delay_budget_s", budget_s)?;
            }
        }
        for process in &self.processes {
            process.validate()?;
            for send in process.all_sends() {
                self.flow(&send.flow)?;
            }
        }
        for exchange in &self.exchanges {
            if self.flows[self.flow(&exchange.flow)?].protocol != Protocol::Tcp {
                return Err(format!("exchanges over {} need protocol tcp", exchange.flow));
            }
            if exchange.steps.is_empty() {
                return Err("exchanges without steps".into());
            }
        }
        Ok(())
    }

    pub fn flow(&self, name: &str) -> Result<usize, String> {
        let found = self.flows.iter().position(|flow| flow.name == name);
        found.ok_or_else(|| format!("flows has no flow {name:?}"))
    }
}

impl ProcessParameters {
    fn validate(&self) -> Result<(), String> {
        if self.jitter_s.has_endless_negatives() {
            return Err("processes: jitter_s needs a low end".into());
        }
        if self.all_sends().any(|send| send.count == 0) {
            return Err("processes: count must be at least 1, not 0".into());
        }
        match &self.arrivals {
            Arrivals::Period(period_s) => positive("period_s", *period_s),
            Arrivals::States(states) => {
                if states.iter().all(|state| state.start_weight <= 0.0) {
                    return Err("states: no state has a start_weight above 0".into());
                }
                for state in states {
                    positive("period_s", state.period_s)?;
                    for (next, _) in &state.next {
                        if !states.iter().any(|other| other.name == *next) {
                            return Err(format!("states has no state {next:?}"));
                        }
                    }
                }
                Ok(())
            }
            // Time would stand still.
            Arrivals::Gap(gap_s) if gap_s.is_within(NO_TIME_S) => {
                Err(format!("gap_s must be above {NO_TIME_S:e} s"))
            }
            Arrivals::Gap(_) | Arrivals::Once { .. } => Ok(()),
        }
    }

    pub fn all_sends(&self) -> impl Iterator<Item = &SendParameters> {
        let states = match &self.arrivals {
            Arrivals::States(states) => states.as_slice(),
            _ => &[],
        };
        let own = self.sends.iter().chain(&self.first).chain(&self.last);
        own.chain(states.iter().flat_map(|state| &state.sends))
    }
}
