//! What an agent may do: look at the clock, draw numbers, set timers, send, and say what state it
//! is in.

use rand_chacha::ChaCha8Rng;

use super::agent::{ConnectionId, End, FlowId};
use super::connection::Transport;
use super::label::{Label, Media};
use super::session_log::{SessionEvent, SessionLog};
use super::time::Time;
use super::world::{Protocol, World};
use crate::transport::quic::{QuicConfig, StreamId};
use crate::transport::{TcpConfig, TcpStatistics};

/// RTP stream of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtpSpec {
    pub ssrc: u32,
    pub payload_type: u8,
    pub clock_hz: u32,
}

/// A flow that an agent opens.
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// Name within the session: `audio`, `video`, `media`, `control`, `feedback`, ...
    pub name: String,
    pub media: Media,
    pub server_port: u16,
    pub client_port: u16,
    pub rtp: Option<RtpSpec>,
}

impl FlowSpec {
    /// A flow without RTP.
    pub fn new(name: &str, media: Media, server_port: u16, client_port: u16) -> Self {
        Self { name: name.to_owned(), media, server_port, client_port, rtp: None }
    }
}

/// The engine as one agent sees it during a call.
pub struct Io<'a> {
    pub(super) world: &'a mut World,
    pub(super) agent: u32,
}

impl Io<'_> {
    /// Now, ns from the simulation's zero.
    pub fn now(&self) -> Time {
        self.world.now
    }

    /// The agent's own random numbers.
    pub fn rng(&mut self) -> &mut ChaCha8Rng {
        &mut self.world.agents[self.agent as usize].rng
    }

    /// Set timer `timer` (a small number of the agent's choice) to `at`; it replaces what was set
    /// before.
    pub fn set_timer(&mut self, timer: u32, at: Time) {
        self.world.set_timer(self.agent, timer, at);
    }

    /// Set timer `timer` to `delay` ns from now.
    pub fn set_timer_in(&mut self, timer: u32, delay: Time) {
        self.world.set_timer(self.agent, timer, self.world.now + delay);
    }

    /// Forget timer `timer`.
    pub fn clear_timer(&mut self, timer: u32) {
        self.world.clear_timer(self.agent, timer);
    }

    /// Open a UDP flow: both ends may send and receive from now on.
    pub fn open_udp(&mut self, spec: FlowSpec) -> FlowId {
        self.world.open_flow(self.agent, spec, Protocol::Udp)
    }

    /// Send a datagram of `payload_bytes` from one end of a UDP flow; IP and UDP headers (28 bytes)
    /// are added.
    pub fn send(&mut self, flow: FlowId, from: End, payload_bytes: u32, tag: u64, label: Label) {
        self.world.send_datagram(flow, from, payload_bytes, tag, label);
    }

    /// Open a TCP connection: the client connects, the server listens. Both ends hear
    /// `on_connected`.
    pub fn open_tcp(
        &mut self,
        spec: FlowSpec,
        server: &TcpConfig,
        client: &TcpConfig,
    ) -> ConnectionId {
        self.world.open_connection(self.agent, spec, Transport::Tcp { server, client })
    }

    /// Open a QUIC connection: as over TCP, and each end may write into many streams.
    pub fn open_quic(&mut self, spec: FlowSpec, config: &QuicConfig) -> ConnectionId {
        self.world.open_connection(self.agent, spec, Transport::Quic(config))
    }

    /// Flow of a connection.
    pub fn flow_of(&self, connection: ConnectionId) -> FlowId {
        self.world.connections[connection as usize].flow
    }

    /// Write a whole message into the send buffer of one end; the other end hears `on_message` with
    /// its tag when all of it has come. Returns false, and writes nothing, where the buffer has no
    /// space for it: `on_writable` follows later.
    pub fn write(
        &mut self,
        connection: ConnectionId,
        from: End,
        bytes: u32,
        tag: u64,
        label: Label,
    ) -> bool {
        self.write_into(connection, from, 0, bytes, tag, label)
    }

    /// The same into one of the streams of a QUIC connection; TCP has one for all.
    pub fn write_into(
        &mut self,
        connection: ConnectionId,
        from: End,
        stream: StreamId,
        bytes: u32,
        tag: u64,
        label: Label,
    ) -> bool {
        self.world.write_message(connection, from, stream, bytes, tag, label)
    }

    /// Write bytes that are no message (bulk data), as many as fit; returns how many.
    pub fn write_bulk(&mut self, connection: ConnectionId, from: End, bytes: u64) -> u64 {
        self.world.write_bulk(connection, from, bytes)
    }

    /// Free space in the send buffer of one end, bytes.
    pub fn space(&self, connection: ConnectionId, from: End) -> u64 {
        self.world.connections[connection as usize].side(from).endpoint.space_bytes()
    }

    /// Bytes that have arrived in order at one end, whole messages or not.
    pub fn received_bytes(&self, connection: ConnectionId, at: End) -> u64 {
        self.world.connections[connection as usize].side(at).endpoint.received_bytes()
    }

    /// Stop or resume reading at one end: while held, the receive window fills and no message is
    /// told of.
    pub fn hold_reading(&mut self, connection: ConnectionId, at: End, held: bool) {
        self.world.hold_reading(connection, at, held);
    }

    /// Close one end after what it has written.
    pub fn close(&mut self, connection: ConnectionId, from: End) {
        self.world.close(connection, from);
    }

    /// Cut a connection off: neither end sends anything from now on, what is under way still
    /// arrives.
    pub fn abort(&mut self, connection: ConnectionId) {
        self.world.abort(connection);
    }

    /// State of one end's transport.
    pub fn tcp_statistics(&self, connection: ConnectionId, end: End) -> TcpStatistics {
        self.world.connections[connection as usize].side(end).endpoint.statistics()
    }

    /// Write a moment into the session's log.
    pub fn log(&mut self, event: SessionEvent) {
        let now = self.world.now;
        self.session().events.push((now, event));
    }

    /// The session's log.
    pub fn session(&mut self) -> &mut SessionLog {
        &mut self.world.agents[self.agent as usize].log
    }

    /// The agent has nothing more to do; timers that are still set run out in silence.
    pub fn finish(&mut self) {
        self.world.finish(self.agent);
    }
}
