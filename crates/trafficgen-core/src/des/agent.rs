//! What takes part in a simulation: an agent is a session, that is a server and its player, or a
//! competing flow.

use super::io::Io;
use super::time::Time;

/// Number of a flow in the simulation's flow table.
pub type FlowId = u32;
/// Number of a TCP connection.
pub type ConnectionId = u32;

/// One of the two ends of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Server,
    Client,
}

impl End {
    /// The other end.
    pub fn peer(self) -> Self {
        match self {
            Self::Server => Self::Client,
            Self::Client => Self::Server,
        }
    }
}

/// A UDP datagram that arrived.
#[derive(Clone, Copy, Debug)]
pub struct Datagram {
    pub flow: FlowId,
    /// What the sender wrote into it: a number that is meaningful to the agent, such as an index
    /// into what it sent.
    pub tag: u64,
    pub payload_bytes: u32,
    pub ip_bytes: u32,
    /// Time stamp of the sender.
    pub sent_ns: Time,
}

/// State of a player, asked for every 0.5 s; NaN where it has none.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Media payload rate of the present encoding, bit/s.
    pub encoding_bps: f64,
    pub frames_per_s: f64,
    /// Media in the player's buffer, s.
    pub buffer_s: f64,
}

impl Sample {
    pub const NONE: Self =
        Self { encoding_bps: f64::NAN, frames_per_s: f64::NAN, buffer_s: f64::NAN };
}

/// A session or a competing flow: a state machine that the engine calls.
///
/// One agent holds the state of both ends, in fields of their own: code that runs at the server may
/// use only the server's, which change by what arrives there, and the player's code only the
/// player's.
pub trait Agent {
    /// The agent's first moment: it opens its flows and sends its first packet.
    fn start(&mut self, io: &mut Io);

    /// A timer that was set by [`Io::set_timer`] has run out.
    fn on_timer(&mut self, _io: &mut Io, _timer: u32) {}

    /// A datagram has arrived at one end.
    fn on_datagram(&mut self, _io: &mut Io, _at: End, _datagram: &Datagram) {}

    /// A TCP connection is established, seen from one end.
    fn on_connected(&mut self, _io: &mut Io, _connection: ConnectionId, _at: End) {}

    /// All bytes of a message that the other end wrote by [`Io::write`] have arrived in order.
    fn on_message(&mut self, _io: &mut Io, _connection: ConnectionId, _at: End, _tag: u64) {}

    /// A send buffer that refused a message has space again.
    fn on_writable(&mut self, _io: &mut Io, _connection: ConnectionId, _at: End) {}

    /// The time at which the scenario stops this agent.
    fn on_stop(&mut self, _io: &mut Io) {}

    /// State of the player now.
    fn sample(&self, _now: Time) -> Sample {
        Sample::NONE
    }
}
