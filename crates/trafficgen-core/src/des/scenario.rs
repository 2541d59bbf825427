//! What is asked of a simulation: links, agents with their parameters, and when it ends.

use std::sync::Arc;

use serde_json::Value;

use super::link::LinkConfig;
use super::packet::Ecn;
use crate::source::Schedule;

/// A flow or session that takes part.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentConfig {
    /// Name, unique in the scenario.
    pub name: String,
    /// Kind of source, see [`crate::source`].
    pub kind: String,
    /// Parameters of that kind.
    #[serde(default)]
    pub parameters: Value,
    /// When it starts, s from the simulation's zero.
    #[serde(default)]
    pub start_s: f64,
    /// When it is stopped, s from the simulation's zero; None: it ends by itself.
    pub stop_s: Option<f64>,
    /// Whether the simulation goes on until it has finished.
    #[serde(default)]
    pub awaited: bool,
    /// Numbers of the links that its packets pass on the way to the client, in order.
    #[serde(default)]
    pub forward: Vec<u16>,
    /// Numbers of the links on the way to the server.
    #[serde(default)]
    pub reverse: Vec<u16>,
    /// What its datagrams say of congestion; TCP declares itself.
    #[serde(default)]
    pub ecn: Ecn,
    /// Its packets go first where a queue has priorities.
    #[serde(default)]
    pub urgent: bool,
    /// Series that counts what its client receives over time: of an awaited agent its media.
    #[serde(default)]
    pub series: Option<u32>,
}

#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    pub seed: u64,
    pub links: Vec<LinkConfig>,
    pub agents: Vec<AgentConfig>,
    /// How long it goes on after the last awaited agent has finished, s.
    #[serde(default)]
    pub run_on_s: f64,
    /// It ends here at the latest, s from the simulation's zero.
    pub end_s: f64,
    /// More packets than this are not simulated, of `sums_only` at a time; None: as many as there
    /// is room for.
    #[serde(default)]
    pub most_packets: Option<usize>,
    /// Keep sums over each flow in place of its packets, and of each player only one state, so that
    /// the memory does not grow with time.
    #[serde(default)]
    pub sums_only: bool,
    /// What streams of fitted models want to send; they are too long for JSON, and parameters refer
    /// to their numbers.
    #[serde(skip)]
    pub schedules: Vec<Arc<Schedule>>,
}

/// Why a scenario cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    #[error("the scenario is not what the engine reads: {0}")]
    Json(#[from] serde_json::Error),
    #[error("{0}")]
    Link(String),
    #[error("agent {agent:?}: {problem}")]
    Agent { agent: String, problem: String },
    #[error(
        "there was no room for more than {packets} packets, {at_s:.1} s after its first session \
         began; lower rates or shorten it"
    )]
    TooManyPackets { packets: usize, at_s: f64 },
    #[error(
        "it was given up after {events} events, {at_s:.1} s after its first session began: more \
         than sessions of six hours need; lower rates, lengthen intervals or shorten it"
    )]
    TooManyEvents { events: u64, at_s: f64 },
}

impl Scenario {
    /// Read a scenario from JSON.
    ///
    /// # Errors
    /// If the text is not a scenario.
    pub fn from_json(text: &str) -> Result<Self, ScenarioError> {
        Ok(serde_json::from_str(text)?)
    }

    /// Check links, routes and times.
    ///
    /// # Errors
    /// What is wrong, with the name of the link or agent.
    pub fn validate(&self) -> Result<(), ScenarioError> {
        for link in &self.links {
            link.validate().map_err(ScenarioError::Link)?;
        }
        for agent in &self.agents {
            let routed = agent.forward.iter().chain(&agent.reverse);
            if let Some(link) =
                routed.into_iter().find(|link| usize::from(**link) >= self.links.len())
            {
                return Err(
                    agent.error(format!("there is no link {link}; there are {}", self.links.len()))
                );
            }
            if !agent.start_s.is_finite() {
                return Err(agent.error(format!("start_s must be a number, not {}", agent.start_s)));
            }
        }
        Ok(())
    }
}

impl AgentConfig {
    /// An error of this agent.
    pub fn error(&self, problem: String) -> ScenarioError {
        ScenarioError::Agent { agent: self.name.clone(), problem }
    }
}
