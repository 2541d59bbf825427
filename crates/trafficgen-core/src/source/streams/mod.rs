//! A source of streams in both directions, as standards describe them: packets, frames and files at
//! times that laws give, and exchanges in which one follows the arrival of another.
//!
//! What is assumed: a size of the document is payload of UDP or TCP. A frame over UDP leaves at one
//! instant, cut to datagrams. Nothing answers the path but TCP and exchanges.

mod budget;
mod connection;
mod exchange;
mod law;
mod parameters;
mod process;
#[cfg(test)]
mod tests;

use self::budget::Budget;
use self::connection::Connection;
use self::exchange::{Exchange, Move};
use self::parameters::{FlowParameters, Parameters};
use self::process::{Process, Sending};
use super::fitted::Protocol;
use crate::des::{
    ns, Agent, ConnectionId, Datagram, End, FlowId, FlowSpec, Io, Label, Phase, SessionEvent,
};
use crate::transport::TcpConfig;

const FIRST_SERVER_PORT: u16 = 5004;
const FIRST_CLIENT_PORT: u16 = 40_000;
const END: u32 = 0;

#[derive(Debug)]
pub struct Streams {
    duration_s: Option<f64>,
    tcp: TcpConfig,
    flows: Vec<(FlowParameters, Option<FlowId>)>,
    /// Of each flow; those without a delay budget judge nothing.
    budgets: Vec<Budget>,
    processes: Vec<Process>,
    exchanges: Vec<Exchange>,
    connections: Vec<Connection>,
}

impl Streams {
    /// # Errors
    /// If a parameter makes no sense.
    pub fn new(parameters: Parameters) -> Result<Self, String> {
        parameters.validate()?;
        let processes = parameters.processes.iter();
        let exchanges = parameters.exchanges.iter();
        Ok(Self {
            duration_s: parameters.duration_s,
            processes: processes.map(|one| Process::new(one.clone(), &parameters)).collect(),
            exchanges: exchanges
                .map(|one| Ok(Exchange::new(one.clone(), parameters.flow(&one.flow)?)))
                .collect::<Result<_, String>>()?,
            tcp: parameters.tcp,
            budgets: parameters.flows.iter().map(Budget::new).collect(),
            flows: parameters.flows.into_iter().map(|flow| (flow, None)).collect(),
            connections: Vec::new(),
        })
    }

    fn process_timer(number: usize) -> u32 {
        1 + number as u32
    }

    fn exchange_timer(&self, number: usize) -> u32 {
        (1 + self.processes.len() + number) as u32
    }

    fn spec(&self, number: usize) -> FlowSpec {
        let flow = &self.flows[number].0;
        let place = 2 * number as u16;
        let opened = self.connections.len() as u16;
        let (server, client) = (FIRST_SERVER_PORT + place, FIRST_CLIENT_PORT + place);
        FlowSpec::new(&flow.name, flow.media.media(), server, client.wrapping_add(2 * opened))
    }

    /// Open a connection for a flow; returns its place.
    fn connect(&mut self, io: &mut Io, flow: usize) -> usize {
        let id = io.open_tcp(self.spec(flow), &self.tcp, &self.tcp);
        let parameters = &self.flows[flow].0;
        let closes = parameters.new_connections;
        self.connections.push(Connection::new(id, flow, parameters.direction.sender(), closes));
        self.connections.len() - 1
    }

    /// Send what is due of a process, and wait for what comes next.
    fn play(&mut self, io: &mut Io, number: usize) {
        let now = io.now();
        while let Some(sending) = self.processes[number].take(now, io.rng()) {
            self.send(io, sending);
        }
        match self.processes[number].due(io.rng()) {
            Some(due) => io.set_timer(Self::process_timer(number), due),
            None => self.end_if_over(io),
        }
    }

    fn send(&mut self, io: &mut Io, sending: Sending) {
        let (flow, bytes) = (sending.flow, sending.bytes);
        let parameters = &self.flows[flow].0;
        if parameters.protocol == Protocol::Udp {
            let Some(id) = self.flows[flow].1 else { return };
            let (from, largest) = (parameters.direction.sender(), parameters.packet_bytes);
            let parts = bytes.div_ceil(largest).max(1);
            let tag = self.budgets[flow].sent(io.now(), parts);
            for part in 0..parts {
                let payload = largest.min(bytes - part * largest);
                io.send(id, from, payload, tag, Label::of(Phase::Playout));
            }
            io.session().frames_sent += 1;
            return;
        }
        let open = self.connections.iter().position(|one| one.flow == flow && !one.closes);
        let place = open.unwrap_or_else(|| self.connect(io, flow));
        self.connections[place].put(bytes);
        self.connections[place].flush(io);
        io.session().frames_sent += 1;
    }

    /// Do what an exchange does next.
    fn go_on(&mut self, io: &mut Io, number: usize, next: Move) {
        let exchange = &self.exchanges[number];
        let Some(place) = self.connections.iter().position(|one| one.flow == exchange.flow) else {
            return;
        };
        match next {
            Move::Wait(wait) => io.set_timer_in(self.exchange_timer(number), wait),
            Move::Ask(bytes) => self.connections[place].ask(io, bytes),
            Move::Send(bytes) => {
                self.connections[place].put(bytes);
                self.connections[place].flush(io);
                io.session().frames_sent += 1;
            }
        }
    }

    fn end_if_over(&mut self, io: &mut Io) {
        if self.duration_s.is_none()
            && self.exchanges.is_empty()
            && self.processes.iter_mut().all(|one| one.due(io.rng()).is_none())
            && self.connections.iter().all(Connection::is_over)
        {
            self.end(io);
        }
    }

    fn end(&mut self, io: &mut Io) {
        let now = io.now();
        for number in 0..self.processes.len() {
            io.clear_timer(Self::process_timer(number));
            for sending in self.processes[number].last(now, io.rng()) {
                self.send(io, sending);
            }
        }
        for connection in &self.connections {
            io.abort(connection.id);
        }
        for budget in &self.budgets {
            budget.log(io);
        }
        io.log(SessionEvent::End);
        io.finish();
    }

    fn place_of(&self, connection: ConnectionId) -> Option<usize> {
        self.connections.iter().position(|one| one.id == connection)
    }
}

impl Agent for Streams {
    fn start(&mut self, io: &mut Io) {
        io.log(SessionEvent::Phase(Phase::Playout));
        for number in 0..self.flows.len() {
            let flow = &self.flows[number].0;
            match (flow.protocol, flow.new_connections) {
                (Protocol::Udp, _) => self.flows[number].1 = Some(io.open_udp(self.spec(number))),
                (Protocol::Tcp, false) => {
                    self.connect(io, number);
                }
                (Protocol::Tcp, true) | (Protocol::Quic, _) => {}
            }
        }
        if let Some(duration_s) = self.duration_s {
            io.set_timer_in(END, ns(duration_s));
        }
        let now = io.now();
        for number in 0..self.processes.len() {
            self.processes[number].begin(now, io.rng());
            self.play(io, number);
        }
        for number in 0..self.exchanges.len() {
            let start = self.exchanges[number].begin(io.rng());
            self.go_on(io, number, start);
        }
    }

    fn on_timer(&mut self, io: &mut Io, timer: u32) {
        let Some(number) = timer.checked_sub(1).map(|number| number as usize) else {
            self.end(io);
            return;
        };
        if number < self.processes.len() {
            self.play(io, number);
            return;
        }
        let number = number - self.processes.len();
        let next = self.exchanges[number].next(io.rng());
        self.go_on(io, number, next);
    }

    fn on_datagram(&mut self, io: &mut Io, _at: End, datagram: &Datagram) {
        let place = self.flows.iter().position(|(_, id)| *id == Some(datagram.flow));
        if let Some(place) = place {
            self.budgets[place].arrived(io.now(), datagram.tag);
        }
    }

    fn on_connected(&mut self, io: &mut Io, connection: ConnectionId, at: End) {
        if let Some(place) = self.place_of(connection) {
            self.connections[place].connected(io, at);
        }
    }

    fn on_writable(&mut self, io: &mut Io, connection: ConnectionId, _at: End) {
        if let Some(place) = self.place_of(connection) {
            self.connections[place].flush(io);
        }
    }

    fn on_message(&mut self, io: &mut Io, connection: ConnectionId, at: End, tag: u64) {
        let Some(place) = self.place_of(connection) else { return };
        let flow = self.connections[place].flow;
        let number = self.exchanges.iter().position(|one| one.flow == flow);
        if at == self.connections[place].sender {
            if let Some(number) = number {
                let next = self.exchanges[number].answer(io.rng());
                self.go_on(io, number, next);
            }
        } else if tag == connection::LAST {
            self.connections[place].delivered(io);
            match number {
                Some(number) => {
                    let next = self.exchanges[number].arrived(io.rng());
                    self.go_on(io, number, next);
                }
                None => self.end_if_over(io),
            }
        }
    }

    fn on_stop(&mut self, io: &mut Io) {
        self.end(io);
    }
}
