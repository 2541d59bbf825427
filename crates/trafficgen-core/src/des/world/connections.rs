//! The connections of a simulation: what an application writes and reads, segments, timers.

use super::super::agent::{ConnectionId, End};
use super::super::connection::{Connection, Endpoint, Outgoing, Transport};
use super::super::event_queue::Event;
use super::super::io::FlowSpec;
use super::super::label::{Label, Phase};
use super::super::packet::Content;
use super::super::record::TcpHeader;
use super::super::time::{Time, NEVER};
use super::{Notice, Protocol, World, IP_HEADER_BYTES, UDP_HEADER_BYTES};
use crate::transport::quic::{self, StreamId};
use crate::transport::Segment;

impl World {
    pub fn open_connection(
        &mut self,
        agent: u32,
        spec: FlowSpec,
        transport: Transport,
    ) -> ConnectionId {
        let protocol = match transport {
            Transport::Tcp { .. } => Protocol::Tcp,
            Transport::Quic(_) => Protocol::Quic,
        };
        let flow = self.open_flow(agent, spec, protocol);
        let id = self.connections.len() as ConnectionId;
        let mut connection = Connection::new(flow, agent, transport);
        for end in [End::Server, End::Client] {
            if let (true, Endpoint::Tcp(tcp)) = (self.ecn, &mut connection.side_mut(end).endpoint) {
                tcp.offer_ecn();
            }
        }
        connection.side_mut(End::Server).endpoint.listen();
        self.connections.push(connection);
        self.with_endpoint(id, End::Client, |endpoint, now, out| endpoint.connect(now, out));
        if protocol == Protocol::Quic {
            self.after_segment(id, End::Client); // with 0-RTT the client may write at once
        }
        id
    }

    pub fn write_message(
        &mut self,
        id: ConnectionId,
        from: End,
        stream: StreamId,
        bytes: u32,
        tag: u64,
        label: Label,
    ) -> bool {
        let side = self.connections[id as usize].side_mut(from);
        let stream = if matches!(side.endpoint, Endpoint::Tcp(_)) { 0 } else { stream };
        if side.endpoint.space_bytes() < u64::from(bytes) {
            side.refused = true;
            return false;
        }
        side.written(stream).add(u64::from(bytes), Some((tag, label)));
        self.with_endpoint(id, from, |endpoint, now, out| {
            endpoint.write(now, stream, u64::from(bytes), out);
        });
        true
    }

    pub fn write_bulk(&mut self, id: ConnectionId, from: End, bytes: u64) -> u64 {
        let mut accepted = 0;
        self.with_endpoint(id, from, |endpoint, now, out| {
            accepted = endpoint.write(now, 0, bytes, out)
        });
        let side = self.connections[id as usize].side_mut(from);
        side.written(0).add(accepted, None);
        side.refused |= accepted < bytes;
        accepted
    }

    pub fn hold_reading(&mut self, id: ConnectionId, at: End, held: bool) {
        self.connections[id as usize].side_mut(at).held = held;
        self.read(id, at);
    }

    pub fn close(&mut self, id: ConnectionId, from: End) {
        self.with_endpoint(id, from, |endpoint, now, out| endpoint.close(now, out));
    }

    /// Cut a connection off: neither end sends anything from now on.
    pub fn abort(&mut self, id: ConnectionId) {
        self.connections[id as usize].aborted = true;
    }

    /// Let an endpoint act, send what it wants to send, and arm its timer.
    pub fn with_endpoint<F>(&mut self, id: ConnectionId, end: End, act: F)
    where
        F: FnOnce(&mut Endpoint, Time, &mut Outgoing),
    {
        if self.connections[id as usize].aborted {
            return;
        }
        let mut out = std::mem::take(&mut self.outgoing);
        let side = self.connections[id as usize].side_mut(end);
        act(&mut side.endpoint, self.now, &mut out);
        let due = side.endpoint.next_timer();
        if let Some(at) = due.map(|at| at.max(self.now)).filter(|at| *at < side.armed_at) {
            side.armed_at = at;
            self.events.push(at, Event::tcp_timer(id, end));
        }
        for segment in out.segments.drain(..) {
            self.send_segment(id, end, segment);
        }
        for packet in out.packets.drain(..) {
            self.send_packet(id, end, packet);
        }
        self.outgoing = out;
    }

    /// A timer event of an endpoint: it may have moved since it was armed.
    pub fn tcp_timer(&mut self, id: ConnectionId, end: End) {
        let side = self.connections[id as usize].side_mut(end);
        if side.armed_at != self.now {
            return;
        }
        side.armed_at = NEVER;
        self.with_endpoint(id, end, |endpoint, now, out| {
            if endpoint.next_timer().is_some_and(|due| due <= now) {
                endpoint.on_timer(now, out);
            }
        });
        self.after_segment(id, end);
    }

    fn send_segment(&mut self, id: ConnectionId, from: End, segment: Segment) {
        let connection = &mut self.connections[id as usize];
        let flow = connection.flow;
        let mut label = Label::of(Phase::Signalling);
        if segment.payload_bytes > 0 {
            let usual = connection.label;
            let labelled = connection.side_mut(from).written(0).label_at(segment.sequence);
            label = labelled.unwrap_or(usual);
        }
        label.retransmission = segment.retransmission;
        let ip_bytes = IP_HEADER_BYTES + u32::from(segment.header_bytes) + segment.payload_bytes;
        let header = TcpHeader {
            sequence: segment.wire_sequence(),
            acknowledgement: segment.wire_acknowledgement(),
            window_bytes: segment.window_bytes,
            flags: segment.flags,
        };
        let bytes = (ip_bytes, segment.payload_bytes);
        self.dispatch(flow, from, bytes, label, Some(header), Content::Segment(segment));
    }

    fn send_packet(&mut self, id: ConnectionId, from: End, packet: quic::Packet) {
        let connection = &mut self.connections[id as usize];
        let flow = connection.flow;
        let data = packet.frames().iter().find(|frame| !frame.is_crypto());
        let mut label = Label::of(Phase::Signalling);
        if let Some(frame) = data {
            let usual = connection.label;
            let side = connection.side_mut(from);
            let known = match &side.endpoint {
                Endpoint::Quic(endpoint) => endpoint.acknowledged(frame.stream),
                Endpoint::Tcp(_) => 0,
            };
            let written = side.written(frame.stream);
            written.acknowledged(known);
            label = written.label_at(frame.offset).unwrap_or(usual);
        }
        label.retransmission = packet.frames().iter().any(|frame| frame.again);
        let bytes = (IP_HEADER_BYTES + UDP_HEADER_BYTES + packet.bytes, packet.bytes);
        self.dispatch(flow, from, bytes, label, None, Content::Quic(packet));
    }

    /// Tell the agent what a segment, a packet or a timer has changed at one end.
    pub(super) fn after_segment(&mut self, id: ConnectionId, at: End) {
        let connection = &mut self.connections[id as usize];
        let agent = connection.agent;
        let side = connection.side_mut(at);
        if !side.told_connected && side.endpoint.is_established() {
            side.told_connected = true;
            self.notices.push_back((agent, Notice::Connected(id, at)));
        }
        let space = side.endpoint.space_bytes();
        if matches!(side.endpoint, Endpoint::Tcp(_)) {
            let buffer_bytes = side.send_buffer_bytes;
            let written = side.written(0);
            written.acknowledged((written.bytes + space).saturating_sub(buffer_bytes));
        }
        // A third of the buffer free before the application is woken, as in Linux: one wake-up for
        // many packets.
        if side.refused && space >= side.send_buffer_bytes / 3 {
            side.refused = false;
            self.notices.push_back((agent, Notice::Writable(id, at)));
        }
        self.read(id, at);
    }

    /// Take what has come in order at one end, and tell of the messages that are now whole.
    fn read(&mut self, id: ConnectionId, at: End) {
        let connection = &mut self.connections[id as usize];
        let agent = connection.agent;
        let side = connection.side_mut(at);
        let received = side.endpoint.received_bytes();
        let held = side.held;
        let fresh = received - side.received_bytes;
        if !held {
            side.received_bytes = received;
        }
        if !held {
            self.tell_messages(id, at, agent, received);
        }
        if fresh > 0 && !held {
            self.with_endpoint(id, at, |endpoint, now, out| endpoint.read(now, fresh, out));
        }
    }

    /// Tell the agent of the messages to one end that are now whole.
    fn tell_messages(&mut self, id: ConnectionId, at: End, agent: u32, received: u64) {
        let connection = &mut self.connections[id as usize];
        let mut advanced = match &mut connection.side_mut(at).endpoint {
            Endpoint::Tcp(_) => Some((0, received)),
            Endpoint::Quic(endpoint) => endpoint.next_advanced(),
        };
        while let Some((stream, arrived)) = advanced {
            let written = connection.side_mut(at.peer()).written(stream);
            while let Some(tag) = written.next_whole(arrived) {
                self.notices.push_back((agent, Notice::Message(id, at, tag)));
            }
            advanced = match &mut connection.side_mut(at).endpoint {
                Endpoint::Tcp(_) => None,
                Endpoint::Quic(endpoint) => endpoint.next_advanced(),
            };
        }
    }
}
