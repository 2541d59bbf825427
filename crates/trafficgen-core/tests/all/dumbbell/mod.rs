//! A small network for tests of TCP: many connections over one lossy, delayed, possibly narrow
//! direction.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use trafficgen_core::transport::{Endpoint, Segment, TcpConfig, Time};

pub const MS: Time = 1_000_000;
pub const SECOND: Time = 1_000 * MS;

/// Which data segments get lost before the bottleneck.
#[derive(Clone, Debug)]
pub enum Loss {
    Never,
    Bernoulli(f64),
    /// Every n-th data segment that is not a retransmission.
    Every(u64),
    /// By their number among all data segments of the flow, from 0.
    These(Vec<u64>),
}

#[derive(Clone, Debug)]
pub struct Path {
    pub delay_ns: Time,
    /// Bytes per second of the bottleneck, if there is one, and its queue.
    pub rate: Option<(f64, usize)>,
    pub loss: Loss,
    pub acknowledgement_loss: f64,
    /// Up to this much more delay for each segment, so that they overtake one another.
    pub jitter_ns: Time,
}

impl Path {
    pub fn of(delay_ns: Time) -> Self {
        Self { delay_ns, rate: None, loss: Loss::Never, acknowledgement_loss: 0.0, jitter_ns: 0 }
    }
}

/// What the application at the receiving end does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reader {
    Eager,
    /// Reads nothing before that time.
    From(Time),
}

pub struct Flow {
    pub server: Endpoint,
    pub client: Endpoint,
    pub to_send: u64,
    pub reader: Reader,
    data_segments: u64,
    fresh_segments: u64,
    next_timer: [Time; 2],
    /// (time, segment) as they left the server.
    pub log: Vec<(Time, Segment)>,
    pub keep_log: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Timer,
    Arrive(Segment),
    Leave,
}

struct Event {
    time: Time,
    number: u64,
    flow: usize,
    at_server: bool,
    kind: Kind,
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        (self.time, self.number) == (other.time, other.number)
    }
}
impl Eq for Event {}
impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Event {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.time, self.number).cmp(&(other.time, other.number))
    }
}

pub struct Network {
    pub now: Time,
    pub flows: Vec<Flow>,
    pub path: Path,
    /// Data segments that came to the path and that it dropped.
    pub offered: u64,
    pub dropped: u64,
    queue: VecDeque<(usize, Segment)>,
    events: BinaryHeap<Reverse<Event>>,
    number: u64,
    rng: SmallRng,
    out: Vec<Segment>,
}

impl Network {
    pub fn new(path: Path, seed: u64) -> Self {
        Self {
            now: 0,
            flows: Vec::new(),
            path,
            offered: 0,
            dropped: 0,
            queue: VecDeque::new(),
            events: BinaryHeap::new(),
            number: 0,
            rng: SmallRng::seed_from_u64(seed),
            out: Vec::new(),
        }
    }

    /// A connection whose server sends `to_send` bytes and closes.
    pub fn add(
        &mut self,
        server: &TcpConfig,
        client: &TcpConfig,
        to_send: u64,
        reader: Reader,
    ) -> usize {
        let mut flow = Flow {
            server: Endpoint::new(server),
            client: Endpoint::new(client),
            to_send,
            reader,
            data_segments: 0,
            fresh_segments: 0,
            next_timer: [Time::MAX; 2],
            log: Vec::new(),
            keep_log: false,
        };
        flow.server.listen();
        self.flows.push(flow);
        let index = self.flows.len() - 1;
        let mut out = Vec::new();
        self.flows[index].client.connect(self.now, &mut out);
        self.out = out;
        self.carry(index, false);
        index
    }

    /// One connection of equal ends with endless data.
    pub fn greedy(path: Path, config: &TcpConfig, seed: u64) -> Self {
        let mut network = Self::new(path, seed);
        network.add(config, config, u64::MAX / 4, Reader::Eager);
        network
    }

    fn push(&mut self, time: Time, flow: usize, at_server: bool, kind: Kind) {
        self.number += 1;
        self.events.push(Reverse(Event { time, number: self.number, flow, at_server, kind }));
    }

    fn lost(&mut self, flow: usize, segment: &Segment) -> bool {
        let flow = &mut self.flows[flow];
        let number = flow.data_segments;
        flow.data_segments += 1;
        flow.fresh_segments += u64::from(!segment.retransmission);
        match &self.path.loss {
            Loss::Never => false,
            Loss::Bernoulli(probability) => self.rng.random::<f64>() < *probability,
            Loss::Every(count) => !segment.retransmission && flow.fresh_segments % count == 0,
            Loss::These(numbers) => numbers.contains(&number),
        }
    }

    /// Puts what an end has sent on its way, and its timer.
    fn carry(&mut self, flow: usize, from_server: bool) {
        let mut out = std::mem::take(&mut self.out);
        for segment in out.drain(..) {
            if from_server {
                self.forward(flow, segment);
            } else if self.rng.random::<f64>() >= self.path.acknowledgement_loss {
                let time = self.now + self.delay();
                self.push(time, flow, true, Kind::Arrive(segment));
            }
        }
        self.out = out;
        let state = &mut self.flows[flow];
        let end = if from_server { &state.server } else { &state.client };
        let timer = end.next_timer().unwrap_or(Time::MAX);
        let scheduled = &mut state.next_timer[usize::from(from_server)];
        if timer < *scheduled {
            *scheduled = timer;
            self.push(timer, flow, from_server, Kind::Timer);
        }
    }

    fn delay(&mut self) -> Time {
        self.path.delay_ns + (self.path.jitter_ns as f64 * self.rng.random::<f64>()) as Time
    }

    fn forward(&mut self, flow: usize, segment: Segment) {
        if self.flows[flow].keep_log {
            self.flows[flow].log.push((self.now, segment));
        }
        if segment.payload_bytes > 0 {
            self.offered += 1;
            if self.lost(flow, &segment) {
                self.dropped += 1;
                return;
            }
        }
        let Some((rate, limit)) = self.path.rate else {
            let time = self.now + self.delay();
            self.push(time, flow, false, Kind::Arrive(segment));
            return;
        };
        if self.queue.len() >= limit {
            self.dropped += u64::from(segment.payload_bytes > 0);
            return;
        }
        self.queue.push_back((flow, segment));
        if self.queue.len() == 1 {
            self.start_service(rate);
        }
    }

    fn start_service(&mut self, rate: f64) {
        if let Some((_, segment)) = self.queue.front() {
            let bytes = f64::from(segment.payload_bytes) + f64::from(segment.header_bytes) + 20.0;
            let time = self.now + (bytes / rate * 1e9) as Time;
            self.push(time, 0, false, Kind::Leave);
        }
    }

    fn leave(&mut self) {
        if let Some((flow, segment)) = self.queue.pop_front() {
            let time = self.now + self.delay();
            self.push(time, flow, false, Kind::Arrive(segment));
        }
        if let Some((rate, _)) = self.path.rate {
            self.start_service(rate);
        }
    }

    fn applications(&mut self, flow: usize, at_server: bool) {
        let now = self.now;
        let state = &mut self.flows[flow];
        if at_server {
            if state.to_send > 0 && state.server.is_established() {
                state.to_send -= state.server.write(now, state.to_send, &mut self.out);
                if state.to_send == 0 {
                    state.server.close(now, &mut self.out);
                }
            }
            return;
        }
        if state.reader == Reader::Eager
            || matches!(state.reader, Reader::From(start) if now >= start)
        {
            state.client.read(now, u64::MAX, &mut self.out);
        }
        if state.client.peer_has_closed() {
            state.client.close(now, &mut self.out);
        }
    }

    /// Runs until `end` or until nothing is left to happen.
    pub fn run_until(&mut self, end: Time) {
        while let Some(Reverse(event)) = self.events.pop() {
            if event.time > end {
                self.events.push(Reverse(event));
                break;
            }
            self.now = event.time;
            self.handle(event);
        }
        self.now = self.now.max(end);
    }

    fn handle(&mut self, event: Event) {
        let state = &mut self.flows[event.flow];
        let end = if event.at_server { &mut state.server } else { &mut state.client };
        match event.kind {
            Kind::Leave => return self.leave(),
            Kind::Arrive(segment) => end.on_segment(self.now, &segment, &mut self.out),
            Kind::Timer => {
                let armed = &mut state.next_timer[usize::from(event.at_server)];
                if *armed != event.time {
                    return; // it was armed anew since
                }
                *armed = Time::MAX;
                end.on_timer(self.now, &mut self.out);
            }
        }
        self.applications(event.flow, event.at_server);
        self.carry(event.flow, event.at_server);
    }

    /// Mean bytes per second that the first flow's receiver got between two times.
    pub fn goodput(&mut self, from: Time, to: Time) -> f64 {
        self.run_until(from);
        let before = self.flows[0].client.received_bytes();
        self.run_until(to);
        (self.flows[0].client.received_bytes() - before) as f64 / ((to - from) as f64 / 1e9)
    }
}
