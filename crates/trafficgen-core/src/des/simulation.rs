//! The event loop.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::agent::{Agent, End, Sample};
use super::event_queue::Event;
use super::io::Io;
use super::link::{Link, LinkCounters};
use super::record::{Record, Row, MOST_PACKETS};
use super::scenario::{Scenario, ScenarioError};
use super::session_log::SessionLog;
use super::sums::{ByteSeries, FlowSums};
use super::time::{ns, seconds, Time, INTERVAL_NS, NEVER};
use super::world::{Flow, Notice, World};
use crate::transport::TcpStatistics;

/// A few hundredths of a second: often enough for a person who wants it to stop.
const EVENTS_BETWEEN_QUESTIONS: u64 = 1 << 18;

/// More events than this for each agent are not handled, minutes of work: six hours at 50 Mbit/s
/// have fewer, and a mistyped rate or interval would else take days.
const EVENTS_PER_AGENT: u64 = 500_000_000;

/// Random streams of links are numbered from here, those of agents from 0.
const LINK_STREAMS: u64 = 1 << 32;
/// Random stream of the handovers of all links.
const HANDOVER_STREAM: u64 = u64::MAX;

/// What an agent left behind.
#[derive(Clone, Debug)]
pub struct AgentOutcome {
    pub name: String,
    pub log: SessionLog,
    /// State every 0.5 s, from the first media packet of the simulation on; with sums only, the
    /// first state that knows a buffer, else the last.
    pub samples: Vec<Sample>,
    pub finished: bool,
}

/// What a simulation brought.
#[derive(Debug)]
pub struct Outcome {
    pub rows: Vec<Row>,
    /// Sums over each flow, where they were asked for in place of rows.
    pub sums: Option<FlowSums>,
    /// What arrived over time, of the series that agents name.
    pub series: ByteSeries,
    pub flows: Vec<Flow>,
    /// State of the server's transport of each flow at the end; None for plain UDP.
    pub tcp: Vec<Option<TcpStatistics>>,
    pub agents: Vec<AgentOutcome>,
    pub links: Vec<LinkCounters>,
    /// When the first media packet was sent.
    pub first_media: Option<Time>,
    pub end: Time,
    /// Arrivals at and departures from sources, queues and endpoints.
    pub packet_events: u64,
    /// Packets whose fate is not known: those that could never reach the far end.
    pub under_way: usize,
}

struct Simulation {
    world: World,
    agents: Vec<Box<dyn Agent>>,
    run_on: Time,
    end: Time,
}

/// Run a scenario to its end.
///
/// # Errors
/// If a link, a route or a parameter is not valid.
pub fn simulate(scenario: &Scenario) -> Result<Outcome, ScenarioError> {
    simulate_while(scenario, &mut |_| true)
}

/// Run a scenario; `goes_on` is asked now and then, at a time of the simulation, and ends it early
/// by false.
///
/// # Errors
/// If a link, a route or a parameter is not valid, or more packets are sent than there is room for.
pub fn simulate_while(
    scenario: &Scenario,
    goes_on: &mut dyn FnMut(Time) -> bool,
) -> Result<Outcome, ScenarioError> {
    let mut simulation = Simulation::new(scenario)?;
    simulation.run(goes_on, EVENTS_PER_AGENT.saturating_mul(scenario.agents.len() as u64))?;
    let end = simulation.world.now;
    simulation.drain();
    Ok(simulation.outcome(scenario, end))
}

fn stream(seed: u64, number: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(number);
    rng
}

impl Simulation {
    fn new(scenario: &Scenario) -> Result<Self, ScenarioError> {
        scenario.validate()?;
        // Both directions go over to another station at the same time.
        let phase = stream(scenario.seed, HANDOVER_STREAM).random::<f64>();
        let links = scenario.links.iter().enumerate();
        let links = links
            .map(|(number, link)| {
                Link::new(link, stream(scenario.seed, LINK_STREAMS + number as u64), phase)
            })
            .collect();
        let mut world = World::new(links);
        let mut agents = Vec::new();
        for (number, config) in scenario.agents.iter().enumerate() {
            let agent =
                crate::source::build_with(&config.kind, &config.parameters, &scenario.schedules);
            agents.push(agent.map_err(|why| config.error(why))?);
            world.add_agent(stream(scenario.seed, number as u64), config);
        }
        world.ecn = scenario.links.iter().any(|link| link.aqm.is_some_and(|aqm| aqm.ecn));
        let most_packets = scenario.most_packets.unwrap_or(MOST_PACKETS).min(MOST_PACKETS);
        let make = if scenario.sums_only { Record::of_sums } else { Record::up_to };
        world.record = make(most_packets);
        for (agent, config) in scenario.agents.iter().enumerate() {
            let agent = agent as u32;
            world.events.push(ns(config.start_s), Event::Start { agent });
            if let Some(stop_s) = config.stop_s {
                world.events.push(ns(stop_s), Event::Stop { agent });
            }
        }
        Ok(Self { world, agents, run_on: ns(scenario.run_on_s), end: ns(scenario.end_s) })
    }

    fn run(
        &mut self,
        goes_on: &mut dyn FnMut(Time) -> bool,
        most_events: u64,
    ) -> Result<(), ScenarioError> {
        let mut handled: u64 = 0;
        let mut ends = if self.world.awaited == 0 { self.end } else { NEVER };
        while let Some((at, event)) = self.world.events.pop() {
            if at > ends.min(self.end) {
                self.world.events.push(at, event);
                self.world.now = ends.min(self.end);
                break;
            }
            handled += 1;
            if handled % EVENTS_BETWEEN_QUESTIONS == 0 && !goes_on(at) {
                break;
            }
            self.world.now = at;
            self.handle(event);
            self.deliver_notices();
            let under_way = self.world.under_way();
            if !self.world.record.has_room(under_way) {
                let packets = self.world.record.rows.len().max(under_way);
                return Err(ScenarioError::TooManyPackets { packets, at_s: seconds(at) });
            }
            if handled > most_events {
                return Err(ScenarioError::TooManyEvents { events: handled, at_s: seconds(at) });
            }
            if ends == NEVER && self.world.awaited == 0 {
                ends = at + self.run_on;
            }
        }
        Ok(())
    }

    /// Let what is under way arrive, so that the fate of every packet is known.
    fn drain(&mut self) {
        self.world.closed = true;
        while self.world.under_way() > 0 {
            let Some((at, event)) = self.world.events.pop() else { return };
            self.world.now = at;
            match event {
                Event::PipeHead { link } => self.world.pipe_head(link),
                Event::Overtaken { packet } => self.world.overtaken(packet),
                Event::LineFree { link } => self.world.line_free(link),
                _ => {}
            }
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::PipeHead { link } => self.world.pipe_head(link),
            Event::Overtaken { packet } => self.world.overtaken(packet),
            Event::LineFree { link } => self.world.line_free(link),
            Event::TcpTimer { connection, client } => {
                self.world.tcp_timer(connection, if client { End::Client } else { End::Server });
            }
            Event::Timer { agent, timer } => {
                let now = self.world.now;
                let state = &mut self.world.agents[agent as usize];
                if state.timer_due(timer, now) && !state.finished {
                    self.call(agent, |agent, io| agent.on_timer(io, timer));
                }
            }
            Event::Start { agent } => {
                self.world.agents[agent as usize].started = true;
                self.call(agent, |agent, io| agent.start(io));
            }
            Event::Stop { agent } => {
                if !self.world.agents[agent as usize].finished {
                    self.call(agent, |agent, io| agent.on_stop(io));
                }
            }
            Event::Sample => self.sample(),
        }
    }

    fn call(&mut self, number: u32, act: impl FnOnce(&mut dyn Agent, &mut Io)) {
        let agent = self.agents[number as usize].as_mut();
        act(agent, &mut Io { world: &mut self.world, agent: number });
    }

    fn deliver_notices(&mut self) {
        while let Some((agent, notice)) = self.world.notices.pop_front() {
            if self.world.agents[agent as usize].finished {
                continue;
            }
            self.call(agent, |agent, io| match notice {
                Notice::Datagram(at, datagram) => agent.on_datagram(io, at, &datagram),
                Notice::Connected(connection, at) => agent.on_connected(io, connection, at),
                Notice::Message(connection, at, tag) => agent.on_message(io, connection, at, tag),
                Notice::Writable(connection, at) => agent.on_writable(io, connection, at),
            });
        }
    }

    fn sample(&mut self) {
        let now = self.world.now;
        let keeps_all = self.world.record.sums.is_none();
        for (agent, state) in self.agents.iter().zip(&mut self.world.agents) {
            if !keeps_all {
                let known = state.samples.last().is_some_and(|last| !last.buffer_s.is_nan());
                if known || !state.awaited || !state.started || state.finished {
                    continue;
                }
                state.samples.clear();
            }
            let sample =
                if state.started && !state.finished { agent.sample(now) } else { Sample::NONE };
            if state.awaited {
                state.samples.push(sample);
            }
        }
        if self.world.awaited > 0 {
            self.world.events.push(now + INTERVAL_NS, Event::Sample);
        }
    }

    fn outcome(self, scenario: &Scenario, end: Time) -> Outcome {
        let under_way = self.world.under_way();
        let World {
            agents,
            flows,
            connections,
            pipes,
            record,
            first_media,
            packet_events,
            series,
            ..
        } = self.world;
        let names = scenario.agents.iter().map(|agent| agent.name.clone());
        let tcp = flows.iter().map(|flow| {
            flow.connection
                .map(|number| connections[number as usize].side(End::Server).endpoint.statistics())
        });
        Outcome {
            rows: record.rows,
            sums: record.sums,
            series,
            tcp: tcp.collect(),
            agents: names
                .zip(agents)
                .map(|(name, state)| AgentOutcome {
                    name,
                    log: state.log,
                    samples: state.samples,
                    finished: state.finished,
                })
                .collect(),
            links: pipes.into_iter().map(|pipe| pipe.link.counters).collect(),
            flows,
            first_media,
            end,
            packet_events,
            under_way,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sums::Sums;
    use super::*;

    #[test]
    fn a_simulation_ends_with_an_error_where_the_record_is_full() -> Result<(), ScenarioError> {
        let scenario = Scenario::from_json(
            r#"{"seed": 0, "links": [], "end_s": 100, "most_packets": 500, "agents": [
                {"name": "media", "kind": "cbr", "awaited": true, "parameters": {"rate_bps": 8e6,
                "packet_bytes": 1000, "duration_s": 10}}]}"#,
        )?;
        let mut simulation = Simulation::new(&scenario)?;
        let ended = simulation.run(&mut |_| true, u64::MAX);
        assert!(
            matches!(ended, Err(ScenarioError::TooManyPackets { packets: 500, .. })),
            "{ended:?}"
        );
        let mut simulation = Simulation::new(&Scenario { sums_only: true, ..scenario })?;
        let ended = simulation.run(&mut |_| true, 900);
        assert!(
            matches!(ended, Err(ScenarioError::TooManyEvents { events: 901, .. })),
            "{ended:?}"
        );
        Ok(())
    }

    #[test]
    fn sums_end_with_an_error_where_too_much_waits() -> Result<(), ScenarioError> {
        let scenario = Scenario::from_json(
            r#"{"seed": 0, "end_s": 100, "most_packets": 500, "sums_only": true, "links": [{"name":
                "link", "capacity": {"constant": {"rate_bps": 1e3}}, "queue": {"packets":
                1000000}}], "agents": [{"name": "media", "kind": "cbr", "awaited": true,
                "forward": [0], "parameters": {"rate_bps": 8e6, "packet_bytes": 1000,
                "duration_s": 10}}]}"#,
        )?;
        let ended = simulate(&scenario);
        assert!(
            matches!(ended, Err(ScenarioError::TooManyPackets { packets: 500, .. })),
            "{:?}",
            ended.err()
        );
        Ok(())
    }

    #[test]
    fn sums_are_those_of_the_packets() -> Result<(), ScenarioError> {
        let text = r#"{"seed": 3, "end_s": 100, "links": [{"name": "link", "delay_s": 0.01,
            "capacity": {"constant": {"rate_bps": 2e6}}, "queue": {"packets": 20}}], "agents": [
            {"name": "media", "kind": "cbr", "awaited": true, "forward": [0], "series": 1,
            "parameters": {"rate_bps": 1e6, "packet_bytes": 1000, "duration_s": 5}},
            {"name": "bulk", "kind": "bulk_tcp", "forward": [0], "series": 0}]}"#;
        let rows = simulate(&Scenario::from_json(text)?)?;
        let sums = simulate(&Scenario { sums_only: true, ..Scenario::from_json(text)? })?;
        assert!(sums.rows.is_empty());
        assert_eq!(sums.packet_events, rows.packet_events);
        let (kept, folded) = (sums.sums.unwrap_or_default(), FlowSums::from_rows(&rows.rows));
        for flow in 0..rows.flows.len() as u32 {
            for (one, other) in kept.get(flow).into_iter().zip(folded.get(flow)) {
                assert!((one.delay_s - other.delay_s).abs() < 1e-6);
                assert_eq!(Sums { delay_s: 0.0, ..one }, Sums { delay_s: 0.0, ..other });
            }
        }
        assert!(kept.get(1)[0].dropped_packets > 0 && kept.get(1)[0].retransmissions > 0);
        assert_eq!(sums.series.bytes, rows.series.bytes);
        for (flow, series) in [(0, 1), (1, 0)] {
            let counted: u64 = sums.series.bytes[series].iter().sum();
            assert_eq!(counted, kept.get(flow)[0].arrived_bytes);
        }
        let most_bytes = 2e6 / 8.0 * seconds(INTERVAL_NS); // what the link carries
        for place in 1..9 {
            let both = sums.series.bytes.iter().map(|bytes| bytes[place]).sum::<u64>() as f64;
            assert!(0.9 * most_bytes < both && both <= most_bytes + 1500.0, "{both}");
        }
        Ok(())
    }
}
