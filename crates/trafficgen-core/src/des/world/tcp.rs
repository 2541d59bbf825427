//! The TCP connections of a simulation: what an application writes and reads, segments, timers.

use super::super::agent::{ConnectionId, End};
use super::super::connection::Connection;
use super::super::event_queue::Event;
use super::super::io::FlowSpec;
use super::super::label::{Label, Phase};
use super::super::packet::Content;
use super::super::record::TcpHeader;
use super::super::time::{Time, NEVER};
use super::{Notice, World, IP_HEADER_BYTES};
use crate::transport::{Endpoint, Segment, TcpConfig};

impl World {
    pub fn open_tcp(
        &mut self,
        agent: u32,
        spec: FlowSpec,
        server: &TcpConfig,
        client: &TcpConfig,
    ) -> ConnectionId {
        let flow = self.open_flow(agent, spec, true);
        let id = self.connections.len() as ConnectionId;
        let mut connection = Connection::new(flow, agent, server, client);
        if self.ecn {
            connection.side_mut(End::Server).endpoint.offer_ecn();
            connection.side_mut(End::Client).endpoint.offer_ecn();
        }
        connection.side_mut(End::Server).endpoint.listen();
        self.connections.push(connection);
        self.with_endpoint(id, End::Client, |endpoint, now, out| endpoint.connect(now, out));
        id
    }

    pub fn write_message(
        &mut self,
        id: ConnectionId,
        from: End,
        bytes: u32,
        tag: u64,
        label: Label,
    ) -> bool {
        let side = self.connections[id as usize].side_mut(from);
        if side.endpoint.space_bytes() < u64::from(bytes) {
            side.written.refused = true;
            return false;
        }
        side.written.add(u64::from(bytes), Some((tag, label)));
        self.with_endpoint(id, from, |endpoint, now, out| {
            endpoint.write(now, u64::from(bytes), out);
        });
        true
    }

    pub fn write_bulk(&mut self, id: ConnectionId, from: End, bytes: u64) -> u64 {
        let mut accepted = 0;
        self.with_endpoint(id, from, |endpoint, now, out| {
            accepted = endpoint.write(now, bytes, out)
        });
        let written = &mut self.connections[id as usize].side_mut(from).written;
        written.add(accepted, None);
        written.refused |= accepted < bytes;
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

    /// Let a TCP endpoint act, send what it wants to send, and arm its timer.
    pub fn with_endpoint<F>(&mut self, id: ConnectionId, end: End, act: F)
    where
        F: FnOnce(&mut Endpoint, Time, &mut Vec<Segment>),
    {
        if self.connections[id as usize].aborted {
            return;
        }
        let mut segments = std::mem::take(&mut self.segments);
        let side = self.connections[id as usize].side_mut(end);
        act(&mut side.endpoint, self.now, &mut segments);
        let due = side.endpoint.next_timer();
        if let Some(at) = due.map(|at| at.max(self.now)).filter(|at| *at < side.armed_at) {
            side.armed_at = at;
            self.events.push(at, Event::tcp_timer(id, end));
        }
        for segment in segments.drain(..) {
            self.send_segment(id, end, segment);
        }
        self.segments = segments;
    }

    /// A timer event of a TCP endpoint: it may have moved since it was armed.
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
        let connection = &self.connections[id as usize];
        let labelled = (segment.payload_bytes > 0)
            .then(|| connection.side(from).written.label_at(segment.sequence));
        let other =
            if segment.payload_bytes > 0 { connection.label } else { Label::of(Phase::Signalling) };
        let mut label = labelled.flatten().unwrap_or(other);
        label.retransmission = segment.retransmission;
        let ip_bytes = IP_HEADER_BYTES + u32::from(segment.header_bytes) + segment.payload_bytes;
        let header = TcpHeader {
            sequence: segment.wire_sequence(),
            acknowledgement: segment.wire_acknowledgement(),
            window_bytes: segment.window_bytes,
            flags: segment.flags,
        };
        let bytes = (ip_bytes, segment.payload_bytes);
        self.dispatch(connection.flow, from, bytes, label, Some(header), Content::Segment(segment));
    }

    /// Tell the agent what a segment or a timer has changed at one end.
    pub(super) fn after_segment(&mut self, id: ConnectionId, at: End) {
        let connection = &mut self.connections[id as usize];
        let agent = connection.agent;
        let side = connection.side_mut(at);
        if !side.told_connected && side.endpoint.is_established() {
            side.told_connected = true;
            self.notices.push_back((agent, Notice::Connected(id, at)));
        }
        let space = side.endpoint.space_bytes();
        if !side.written.is_unlabelled() {
            side.written
                .acknowledged((side.written.bytes + space).saturating_sub(side.send_buffer_bytes));
        }
        // A third of the buffer free before the application is woken, as in Linux: one wake-up for
        // many packets.
        if side.written.refused && space >= side.send_buffer_bytes / 3 {
            side.written.refused = false;
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
        let messages = &mut connection.side_mut(at.peer()).written.messages;
        while let Some(&(end, tag)) = messages.front() {
            if held || end > received {
                break;
            }
            messages.pop_front();
            self.notices.push_back((agent, Notice::Message(id, at, tag)));
        }
        if fresh > 0 && !held {
            self.with_endpoint(id, at, |endpoint, now, out| endpoint.read(now, fresh, out));
        }
    }
}
