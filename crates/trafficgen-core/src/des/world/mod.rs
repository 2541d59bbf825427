//! The state of a simulation without its agents: flows, packets under way, links, connections, the
//! future.

mod connections;

use std::collections::VecDeque;

use rand_chacha::ChaCha8Rng;

use super::agent::{ConnectionId, Datagram, End, FlowId, Sample};
use super::connection::{Connection, Endpoint, Outgoing};
use super::event_queue::{Event, EventQueue};
use super::io::FlowSpec;
use super::label::{Label, Media, Phase};
use super::link::{Fate, Link};
use super::packet::{Content, Ecn, Packet, PacketId, PacketStore, RouteId};
use super::record::{Record, TcpHeader};
use super::scenario::AgentConfig;
use super::session_log::SessionLog;
use super::sums::ByteSeries;
use super::time::{Time, NEVER};

/// IPv4 header without options (RFC 791).
const IP_HEADER_BYTES: u32 = 20;
const UDP_HEADER_BYTES: u32 = 8;

/// What carries a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    Udp,
    Tcp,
    Quic,
}

/// A flow of the simulation.
#[derive(Clone, Debug)]
pub struct Flow {
    pub agent: u32,
    pub spec: FlowSpec,
    pub protocol: Protocol,
    pub connection: Option<ConnectionId>,
    /// Series that counts what arrives at the client.
    series: Option<u32>,
    sending: Sending,
}

/// How the packets of an agent travel.
#[derive(Clone, Copy, Debug)]
struct Sending {
    /// To the client and to the server.
    routes: [RouteId; 2],
    /// What its datagrams say of congestion.
    ecn: Ecn,
    /// Its packets go first where a queue has priorities.
    urgent: bool,
}

/// What the engine keeps for an agent.
#[derive(Debug)]
pub struct AgentState {
    pub rng: ChaCha8Rng,
    /// When each timer is due; [`NEVER`]: it is not set.
    timers: Vec<Time>,
    pub log: SessionLog,
    pub samples: Vec<Sample>,
    pub started: bool,
    pub finished: bool,
    /// The simulation goes on until this agent has finished.
    pub awaited: bool,
    sending: Sending,
    series: Option<u32>,
}

impl AgentState {
    fn new(rng: ChaCha8Rng, config: &AgentConfig, routes: [RouteId; 2]) -> Self {
        Self {
            rng,
            timers: Vec::new(),
            log: SessionLog::default(),
            samples: Vec::new(),
            started: false,
            finished: false,
            awaited: config.awaited,
            sending: Sending { routes, ecn: config.ecn, urgent: config.urgent },
            series: config.series,
        }
    }

    /// Whether timer `timer` is due at `at`; it is then no longer set.
    pub fn timer_due(&mut self, timer: u32, at: Time) -> bool {
        match self.timers.get_mut(timer as usize) {
            Some(due) if *due == at => {
                *due = NEVER;
                true
            }
            _ => false,
        }
    }
}

/// Something that an agent must hear.
#[derive(Clone, Copy, Debug)]
pub enum Notice {
    Datagram(End, Datagram),
    Connected(ConnectionId, End),
    Message(ConnectionId, End, u64),
    Writable(ConnectionId, End),
}

/// A link with the packets that propagate on it.
#[derive(Debug)]
pub struct Pipe {
    pub link: Link,
    in_flight: VecDeque<(Time, PacketId)>,
    /// When the line is looked at next, where no packet of its own tells when.
    looked_at: Time,
}

#[derive(Debug)]
pub struct World {
    pub now: Time,
    pub events: EventQueue,
    pub flows: Vec<Flow>,
    pub connections: Vec<Connection>,
    pub agents: Vec<AgentState>,
    pub pipes: Vec<Pipe>,
    /// Links that packets pass, each list once: thousands of agents share a few.
    routes: Vec<Vec<u16>>,
    pub record: Record,
    pub series: ByteSeries,
    pub first_media: Option<Time>,
    /// Notices with the agent that they are for.
    pub notices: VecDeque<(u32, Notice)>,
    pub packet_events: u64,
    pub awaited: usize,
    /// The simulation has ended: what is under way still arrives, and nobody sends.
    pub closed: bool,
    /// A queue marks packets, and TCP declares itself able to hear of it.
    pub ecn: bool,
    packets: PacketStore,
    outgoing: Outgoing,
}

impl World {
    pub fn new(links: Vec<Link>) -> Self {
        Self {
            now: 0,
            events: EventQueue::default(),
            flows: Vec::new(),
            connections: Vec::new(),
            agents: Vec::new(),
            routes: Vec::new(),
            pipes: links
                .into_iter()
                .map(|link| Pipe { link, in_flight: VecDeque::new(), looked_at: NEVER })
                .collect(),
            record: Record::default(),
            series: ByteSeries::default(),
            first_media: None,
            notices: VecDeque::new(),
            packet_events: 0,
            awaited: 0,
            closed: false,
            ecn: false,
            packets: PacketStore::default(),
            outgoing: Outgoing::default(),
        }
    }

    pub fn add_agent(&mut self, rng: ChaCha8Rng, config: &AgentConfig) {
        let routes = [&config.forward, &config.reverse].map(|links| self.route_of(links));
        self.agents.push(AgentState::new(rng, config, routes));
        self.awaited += usize::from(config.awaited);
    }

    fn route_of(&mut self, links: &[u16]) -> RouteId {
        let known = self.routes.iter().position(|route| route == links);
        known.unwrap_or_else(|| {
            self.routes.push(links.to_vec());
            self.routes.len() - 1
        }) as RouteId
    }

    /// Packets that neither arrived nor were dropped yet.
    pub fn under_way(&self) -> usize {
        self.packets.under_way()
    }

    pub fn set_timer(&mut self, agent: u32, timer: u32, at: Time) {
        let timers = &mut self.agents[agent as usize].timers;
        if timers.len() <= timer as usize {
            timers.resize(timer as usize + 1, NEVER);
        }
        let at = at.max(self.now);
        if timers[timer as usize] != at {
            timers[timer as usize] = at;
            self.events.push(at, Event::Timer { agent, timer });
        }
    }

    pub fn clear_timer(&mut self, agent: u32, timer: u32) {
        if let Some(due) = self.agents[agent as usize].timers.get_mut(timer as usize) {
            *due = NEVER;
        }
    }

    pub fn finish(&mut self, agent: u32) {
        let agent = &mut self.agents[agent as usize];
        if !agent.finished {
            agent.finished = true;
            self.awaited -= usize::from(agent.awaited);
        }
    }

    pub fn open_flow(&mut self, agent: u32, spec: FlowSpec, protocol: Protocol) -> FlowId {
        let connects = protocol != Protocol::Udp;
        let connection = connects.then_some(self.connections.len() as ConnectionId);
        let state = &self.agents[agent as usize];
        let is_media = matches!(spec.media, Media::Audio | Media::Video | Media::Mixed);
        let series = state.series.filter(|_| is_media || !state.awaited);
        let sending = state.sending;
        self.flows.push(Flow { agent, spec, protocol, connection, series, sending });
        (self.flows.len() - 1) as FlowId
    }

    pub fn send_datagram(
        &mut self,
        flow: FlowId,
        from: End,
        payload_bytes: u32,
        tag: u64,
        label: Label,
    ) {
        let ip_bytes = payload_bytes + IP_HEADER_BYTES + UDP_HEADER_BYTES;
        self.dispatch(
            flow,
            from,
            (ip_bytes, payload_bytes),
            label,
            None,
            Content::Datagram { tag },
        );
    }

    /// Put a packet on its way.
    fn dispatch(
        &mut self,
        flow: FlowId,
        from: End,
        bytes: (u32, u32),
        label: Label,
        tcp: Option<TcpHeader>,
        content: Content,
    ) {
        if self.closed {
            return;
        }
        let (ip_bytes, payload_bytes) = bytes;
        let Flow { agent, spec, sending, .. } = &self.flows[flow as usize];
        let (agent, sending) = (*agent, *sending);
        let media = spec.media.is_media()
            && from == End::Server
            && payload_bytes > 0
            && label.phase != Phase::Probe
            && !matches!(&content, Content::Quic(packet) if packet.data_bytes() == 0);
        if media && self.first_media.is_none() && self.sets_time_zero(agent) {
            self.first_media = Some(self.now);
            self.events.push(self.now, Event::Sample);
        }
        let row = self.record.sent(self.now, flow, from, bytes, label, tcp);
        self.packet_events += 1;
        let sent_ns = self.now;
        let ecn = match &content {
            Content::Datagram { .. } => sending.ecn,
            // RFC 3168 6.1.4 and 6.1.5: neither bare acknowledgements nor retransmissions
            Content::Segment(segment)
                if self.ecn && payload_bytes > 0 && !segment.retransmission =>
            {
                Ecn::Classic
            }
            // RFC 9000 13.4: every packet of QUIC
            Content::Quic(_) if self.ecn => Ecn::Classic,
            Content::Segment(_) | Content::Quic(_) => Ecn::Incapable,
        };
        let id = self.packets.put(Packet {
            flow,
            from,
            route: sending.routes[usize::from(from == End::Client)],
            hop: 0,
            ip_bytes,
            payload_bytes,
            row,
            sent_ns,
            ecn,
            urgent: sending.urgent,
            content,
        });
        self.forward(id);
    }

    /// Whether an agent's first media packet is that of the scenario: competitors are not awaited,
    /// sessions are.
    fn sets_time_zero(&self, agent: u32) -> bool {
        self.agents[agent as usize].awaited || !self.agents.iter().any(|agent| agent.awaited)
    }

    /// Offer a packet to its next link, or hand it over where it has passed all of them.
    fn forward(&mut self, id: PacketId) {
        let packet = self.packets.get_mut(id);
        let Some(&number) = self.routes[packet.route as usize].get(usize::from(packet.hop)) else {
            self.arrive(id);
            return;
        };
        packet.hop += 1;
        let pipe = &mut self.pipes[usize::from(number)];
        let idle = pipe.in_flight.is_empty();
        let fate = pipe.link.offer(self.now, id, packet, self.first_media);
        self.packet_events += u64::from(pipe.link.has_queue());
        if pipe.link.decides_later() {
            self.settle_all(number);
        }
        if let Some(fate) = fate {
            self.settle(number, fate);
        }
        if idle {
            self.await_next(number);
        }
    }

    /// Do what a link's discipline has decided.
    fn settle_all(&mut self, number: u16) {
        let mut fates = std::mem::take(&mut self.pipes[usize::from(number)].link.fates);
        fates.drain(..).for_each(|fate| self.settle(number, fate));
        self.pipes[usize::from(number)].link.fates = fates;
    }

    #[inline(always)] // a third of a hop's own work
    fn settle(&mut self, number: u16, fate: Fate) {
        match fate {
            Fate::Dropped { id, reason } => {
                self.record.dropped(&self.packets.take(id), number, reason);
            }
            Fate::Passes { id, at, queueing_ns, overtaken, marked } => {
                let pipe = &mut self.pipes[usize::from(number)];
                self.packet_events += u64::from(pipe.link.has_queue());
                let packet = self.packets.get_mut(id);
                if queueing_ns > 0 {
                    self.record.waited(packet.row, queueing_ns);
                }
                if marked {
                    packet.ecn = Ecn::Marked;
                }
                if overtaken {
                    self.events.push(at, Event::Overtaken { packet: id });
                } else {
                    pipe.in_flight.push_back((at, id));
                }
            }
        }
    }

    /// Come back to a link when its first packet has come through, or else when its line is free.
    #[inline]
    fn await_next(&mut self, number: u16) {
        let pipe = &mut self.pipes[usize::from(number)];
        if let Some((at, _)) = pipe.in_flight.front() {
            self.events.push(*at, Event::PipeHead { link: number });
        } else if let Some(at) = pipe.link.next_decision().filter(|at| *at != pipe.looked_at) {
            pipe.looked_at = at;
            self.events.push(at, Event::LineFree { link: number });
        }
    }

    /// The first packet of a pipe has come through.
    pub fn pipe_head(&mut self, link: u16) {
        let Some((_, id)) = self.pipes[usize::from(link)].in_flight.pop_front() else { return };
        self.decide(link);
        self.await_next(link);
        self.forward(id);
    }

    /// The line of a link is free: it takes what waits.
    pub fn line_free(&mut self, link: u16) {
        let pipe = &mut self.pipes[usize::from(link)];
        if pipe.looked_at != self.now {
            return;
        }
        pipe.looked_at = NEVER;
        if pipe.in_flight.is_empty() {
            self.decide(link);
            self.await_next(link);
        }
    }

    /// Let a link's discipline decide what it can by now.
    fn decide(&mut self, number: u16) {
        let link = &mut self.pipes[usize::from(number)].link;
        if link.decides_later() {
            link.serve(self.now);
            self.settle_all(number);
        }
    }

    /// A packet that was overtaken has come through.
    pub fn overtaken(&mut self, id: PacketId) {
        self.forward(id);
    }

    fn arrive(&mut self, id: PacketId) {
        self.packet_events += 1;
        let packet = self.packets.take(id);
        self.record.arrived(&packet, self.now);
        let flow = &self.flows[packet.flow as usize];
        if let (Some(series), End::Server) = (flow.series, packet.from) {
            self.series.add(series, self.now, packet.ip_bytes);
        }
        if self.closed {
            return;
        }
        let at = packet.from.peer();
        match packet.content {
            Content::Datagram { tag } => {
                let Packet { flow: number, payload_bytes, ip_bytes, sent_ns, .. } = packet;
                let datagram = Datagram { flow: number, tag, payload_bytes, ip_bytes, sent_ns };
                self.notices.push_back((flow.agent, Notice::Datagram(at, datagram)));
            }
            Content::Segment(mut segment) => {
                segment.marked = packet.ecn == Ecn::Marked;
                let Some(connection) = flow.connection else { return };
                self.with_endpoint(connection, at, |endpoint, now, out| {
                    if let Endpoint::Tcp(tcp) = endpoint {
                        tcp.on_segment(now, &segment, &mut out.segments);
                    }
                });
                self.after_segment(connection, at);
            }
            Content::Quic(mut content) => {
                content.marked = packet.ecn == Ecn::Marked;
                let Some(connection) = flow.connection else { return };
                self.with_endpoint(connection, at, |endpoint, now, out| {
                    if let Endpoint::Quic(quic) = endpoint {
                        quic.on_packet(now, &content, &mut out.packets);
                    }
                });
                self.after_segment(connection, at);
            }
        }
    }
}
