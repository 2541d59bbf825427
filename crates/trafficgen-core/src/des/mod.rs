//! Discrete-event simulation: sources over a path, in closed loop.
//!
//! [`scenario`] is what is asked for, [`simulation`] runs it. [`agent`] is what a source implements
//! and [`io`] what it may do; [`link`] is the path. Everything is deterministic for the scenario's
//! seed.

pub mod agent;
mod capacity;
mod connection;
mod event_queue;
pub mod io;
pub mod label;
mod link;
mod loss;
mod packet;
mod queue;
mod radio;
pub mod record;
pub mod scenario;
pub mod session_log;
pub mod simulation;
pub mod sums;
pub mod time;
mod waits;
mod world;

pub use agent::{Agent, ConnectionId, Datagram, End, FlowId, Sample};
pub use io::{FlowSpec, Io, RtpSpec};
pub use label::{Label, Media, Phase, Rtp};
pub use link::{Drop, LinkCounters};
pub use scenario::{AgentConfig, Scenario};
pub use session_log::{SessionEvent, SessionLog};
pub use simulation::{simulate, simulate_while, Outcome};
pub use time::{ns, seconds, Time};
pub use world::Protocol;
