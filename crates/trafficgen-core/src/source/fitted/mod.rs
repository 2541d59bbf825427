//! A fitted model in closed loop: it plays the schedule that was drawn from its laws, and answers
//! as calibration found.
//!
//! What is assumed: the schedule is what the source sends on a calm path. Over UDP the player
//! reports loss, delay and rate at the interval at which the response was measured, and the
//! server's rate follows the curve of the response. Over TCP and QUIC the application writes its
//! packets at their times into a real connection, which does the rest; a client that gets through
//! later than in the capture is served as much later.

mod parameters;
mod player;
mod response;
mod schedule;
mod stream;

use std::sync::Arc;

pub use parameters::Parameters;
pub use schedule::{Schedule, ScheduledPacket};

use crate::des::{
    ns, Agent, ConnectionId, Datagram, End, FlowId, FlowSpec, Io, Label, Media, Phase, Rtp, Sample,
    SessionEvent, Time,
};
pub(super) use parameters::{MediaName, Protocol};
use parameters::{ResponseKind, StreamParameters};
use player::Player;
use response::Response;
use stream::{Playing, Sending};

/// A player sends a little something first, so that address translators on the way let the media
/// in.
const OPENING_PAYLOAD_BYTES: u32 = 4;
const REQUEST_BYTES: u32 = 200;
/// Header and one block of a receiver report (RFC 3550 6.4.2).
const REPORT_BYTES: u32 = 32;
/// Tag of what is no media packet.
const OPENING: u64 = u64::MAX;

/// How a stream travels.
#[derive(Clone, Copy, Debug)]
enum Line {
    Unopened,
    Udp(FlowId),
    /// A connection, over TCP or QUIC.
    Reliable {
        connection: ConnectionId,
        asked: bool,
        blocked: bool,
    },
}

#[derive(Debug)]
struct Stream {
    parameters: StreamParameters,
    playing: Playing,
    line: Line,
    /// Added to the schedule: a client that asks late is served late.
    late: Time,
    sent: u64,
    delivered: bool,
}

/// A fitted source with its player.
#[derive(Debug)]
pub struct Fitted {
    streams: Vec<Stream>,
    response: Option<Response>,
    report_interval: Time,
    start: Time,
    nominal_bps: f64,
    phase: Option<Phase>,
    thinned: bool,
    player: Player,
    feedback: Option<FlowId>,
}

impl Fitted {
    /// # Errors
    /// If a parameter or a schedule makes no sense.
    pub fn new(parameters: Parameters, schedules: &[Arc<Schedule>]) -> Result<Self, String> {
        parameters.validate()?;
        let mut streams = Vec::new();
        for (place, stream) in parameters.streams.into_iter().enumerate() {
            let number = parameters.first_schedule + place;
            let schedule =
                schedules.get(number).ok_or_else(|| format!("there is no schedule {number}"))?;
            schedule.validate()?;
            streams.push(Stream {
                parameters: stream,
                playing: Playing::new(Arc::clone(schedule)),
                line: Line::Unopened,
                late: 0,
                sent: 0,
                delivered: false,
            });
        }
        let nominal_bps = streams.iter().map(|stream| stream.playing.schedule().mean_bps()).sum();
        let report_interval =
            parameters.response.as_ref().map_or(0, |response| ns(response.report_interval_s));
        Ok(Self {
            streams,
            response: parameters.response.map(Response::new),
            report_interval,
            start: 0,
            nominal_bps,
            phase: None,
            thinned: false,
            player: Player::default(),
            feedback: None,
        })
    }

    fn rate(&self) -> f64 {
        self.response.as_ref().map_or(1.0, Response::rate)
    }

    fn opening_timer(&self, stream: usize) -> u32 {
        (self.streams.len() + stream) as u32
    }

    fn report_timer(&self) -> u32 {
        2 * self.streams.len() as u32
    }

    fn open(&mut self, io: &mut Io, number: usize) {
        let stream = &mut self.streams[number];
        let parameters = &stream.parameters;
        let rtp = parameters.rtp.map(|rtp| rtp.spec());
        let spec = FlowSpec {
            rtp,
            ..FlowSpec::new(
                &parameters.name,
                parameters.media.media(),
                parameters.server_port,
                parameters.client_port,
            )
        };
        match parameters.protocol {
            Protocol::Udp => {
                let flow = io.open_udp(spec);
                stream.line = Line::Udp(flow);
                if parameters.opening_ns.is_some() {
                    let label = Label::of(Phase::Signalling);
                    io.send(flow, End::Client, OPENING_PAYLOAD_BYTES, OPENING, label);
                }
            }
            Protocol::Tcp | Protocol::Quic => {
                let connection = match parameters.protocol {
                    Protocol::Quic => io.open_quic(spec, &parameters.quic),
                    _ => io.open_tcp(spec, &parameters.tcp, &parameters.tcp),
                };
                stream.line = Line::Reliable { connection, asked: false, blocked: false };
            }
        }
        self.wait(io, number);
    }

    /// Set the timer of a stream to its next packet.
    fn wait(&self, io: &mut Io, number: usize) {
        let stream = &self.streams[number];
        if matches!(
            stream.line,
            Line::Reliable { asked: false, .. } | Line::Reliable { blocked: true, .. }
        ) {
            return;
        }
        if let Some(due) = stream.playing.due() {
            io.set_timer(number as u32, self.start + due + stream.late);
        }
    }

    /// Send what is due of a stream.
    fn play(&mut self, io: &mut Io, number: usize) {
        let rate = self.rate();
        let kind = self.response.as_ref().map(Response::kind);
        loop {
            let stream = &mut self.streams[number];
            let due = stream.playing.due().map(|due| self.start + due + stream.late);
            if due.is_none_or(|due| due > io.now()) {
                break;
            }
            // A connection answers the path by itself.
            let kind = if matches!(stream.line, Line::Udp(_)) { kind } else { None };
            let Some(sending) = stream.playing.sending(rate, kind) else { break };
            if !self.send(io, number, &sending) {
                return;
            }
        }
        self.wait(io, number);
        self.end_if_over(io);
    }

    /// Send one packet of the schedule. Returns false where the connection has no space for it.
    fn send(&mut self, io: &mut Io, number: usize, sending: &Sending) -> bool {
        let stream = &mut self.streams[number];
        let packet = stream.playing.schedule().packets[sending.place];
        if let Some(payload_bytes) = sending.payload_bytes {
            let rtp = stream.parameters.rtp.map(|rtp| Rtp {
                sequence: rtp.first_sequence.wrapping_add(stream.sent as u16),
                timestamp: packet.rtp_timestamp,
                marker: rtp.marks_frames && sending.ends_frame,
            });
            let level = self.response.as_ref().map_or(-1, |response| match response.kind() {
                ResponseKind::LevelSwitching => response.level() as i16,
                _ => -1,
            });
            let label = Label { level, rtp, ..Label::of(packet.phase) };
            match &mut stream.line {
                Line::Udp(flow) => io.send(*flow, End::Server, payload_bytes, stream.sent, label),
                Line::Reliable { connection, blocked, .. } => {
                    if !io.write(
                        *connection,
                        End::Server,
                        payload_bytes,
                        sending.place as u64,
                        label,
                    ) {
                        *blocked = true;
                        return false;
                    }
                }
                Line::Unopened => {}
            }
            stream.sent += 1;
        }
        stream.playing.advance(sending);
        self.note(io, packet.phase, sending.begins);
        true
    }

    fn note(&mut self, io: &mut Io, phase: Phase, frame: Option<bool>) {
        if self.phase.is_none() {
            io.log(SessionEvent::Encoding { bps: self.nominal_bps, level: 0 });
        }
        if self.phase != Some(phase) {
            self.phase = Some(phase);
            io.log(SessionEvent::Phase(phase));
        }
        match frame {
            Some(true) => io.session().frames_sent += 1,
            Some(false) => {
                io.session().frames_dropped_at_sender += 1;
                if !self.thinned {
                    self.thinned = true;
                    io.log(SessionEvent::Thinned);
                }
            }
            None => {}
        }
    }

    /// Streams over UDP are over when the last packet was sent, others when it has arrived.
    fn end_if_over(&self, io: &mut Io) {
        let over = |stream: &Stream| match stream.line {
            Line::Udp(_) => stream.playing.is_over(),
            Line::Reliable { .. } => stream.delivered,
            Line::Unopened => false,
        };
        if self.streams.iter().all(over) {
            io.log(SessionEvent::End);
            io.finish();
        }
    }

    fn stream_of(&self, flow: FlowId) -> Option<usize> {
        self.streams.iter().position(|stream| matches!(stream.line, Line::Udp(own) if own == flow))
    }

    fn stream_on(&self, connection: ConnectionId) -> Option<usize> {
        let on = |stream: &Stream| match stream.line {
            Line::Reliable { connection: own, .. } => own == connection,
            _ => false,
        };
        self.streams.iter().position(on)
    }

    /// The player's report of the last interval.
    fn report(&mut self, io: &mut Io) {
        if let (Some(flow), Some(number)) = (self.feedback, self.player.report(io.now())) {
            io.send(flow, End::Client, REPORT_BYTES, number, Label::of(Phase::Signalling));
        }
        io.set_timer_in(self.report_timer(), self.report_interval);
    }

    /// A report has reached the server.
    fn hear(&mut self, io: &mut Io, number: u64) {
        let Some(report) = self.player.reports.get(number as usize).copied() else { return };
        let Some(response) = self.response.as_mut() else { return };
        if response.hear(&report) {
            let bps = self.nominal_bps * response.rate();
            io.log(SessionEvent::Encoding { bps, level: response.level() as i16 });
        }
    }
}

impl Agent for Fitted {
    fn start(&mut self, io: &mut Io) {
        self.start = io.now();
        self.player = Player::new(self.streams.len(), io.now());
        io.log(SessionEvent::Request);
        let over_udp =
            self.streams.iter().find(|stream| stream.parameters.protocol == Protocol::Udp);
        if let (Some(stream), Some(_)) = (over_udp, &self.response) {
            // RTCP takes the port above (RFC 3550 section 11).
            let (server, client) = (stream.parameters.server_port, stream.parameters.client_port);
            let spec = FlowSpec::new(
                "feedback",
                Media::Control,
                server.wrapping_add(1),
                client.wrapping_add(1),
            );
            self.feedback = Some(io.open_udp(spec));
            io.set_timer_in(self.report_timer(), self.report_interval);
        }
        for number in 0..self.streams.len() {
            match self.streams[number].parameters.opening_ns {
                Some(opening) if opening > 0 => {
                    io.set_timer(self.opening_timer(number), self.start + opening)
                }
                _ => self.open(io, number),
            }
        }
    }

    fn on_timer(&mut self, io: &mut Io, timer: u32) {
        let (timer, streams) = (timer as usize, self.streams.len());
        if timer < streams {
            self.play(io, timer);
        } else if timer < 2 * streams {
            self.open(io, timer - streams);
        } else {
            self.report(io);
        }
    }

    fn on_datagram(&mut self, io: &mut Io, at: End, datagram: &Datagram) {
        match (at, self.stream_of(datagram.flow)) {
            (End::Client, Some(stream)) if self.feedback.is_some() => {
                self.player.receive(stream, datagram, io.now())
            }
            (End::Server, None) if self.feedback == Some(datagram.flow) => {
                self.hear(io, datagram.tag)
            }
            _ => {}
        }
    }

    fn on_connected(&mut self, io: &mut Io, connection: ConnectionId, at: End) {
        if at == End::Client {
            io.write(connection, End::Client, REQUEST_BYTES, OPENING, Label::of(Phase::Signalling));
        }
    }

    fn on_message(&mut self, io: &mut Io, connection: ConnectionId, at: End, tag: u64) {
        let Some(number) = self.stream_on(connection) else { return };
        let stream = &mut self.streams[number];
        if at == End::Server {
            stream.line = Line::Reliable { connection, asked: true, blocked: false };
            let first = stream.playing.due().unwrap_or(0);
            stream.late = (io.now() - self.start - first).max(0);
            self.play(io, number);
        } else if tag as usize + 1 == stream.playing.schedule().packets.len() {
            stream.delivered = true;
            io.close(connection, End::Server);
            self.end_if_over(io);
        }
    }

    fn on_writable(&mut self, io: &mut Io, connection: ConnectionId, at: End) {
        if let (End::Server, Some(number)) = (at, self.stream_on(connection)) {
            if let Line::Reliable { blocked, .. } = &mut self.streams[number].line {
                *blocked = false;
            }
            self.play(io, number);
        }
    }

    fn on_stop(&mut self, io: &mut Io) {
        for stream in &self.streams {
            if let Line::Reliable { connection, .. } = stream.line {
                io.abort(connection);
            }
        }
        io.log(SessionEvent::End);
        io.finish();
    }

    fn sample(&self, _now: Time) -> Sample {
        Sample { encoding_bps: self.nominal_bps * self.rate(), ..Sample::NONE }
    }
}
