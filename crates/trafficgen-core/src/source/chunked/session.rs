//! The player, and how it meets its server.

use rand_distr::{Distribution, Normal};

use super::choice::Chooser;
use super::parameters::Parameters;
use super::playback::Playback;
use super::server::{answered_by, Server};
use crate::des::{
    ns, seconds, Agent, ConnectionId, End, FlowSpec, Io, Label, Media, Phase, Sample, SessionEvent,
    Time,
};

const EMPTY: u32 = 0;
const NEXT: u32 = 1;
const SERVER_PORT: u16 = 443;
const FIRST_CLIENT_PORT: u16 = 40_100;

/// A request as it travels to the server: what is wanted, on which connection.
#[derive(Clone, Copy, Debug)]
struct Request {
    bytes: u32,
    label: Label,
}

/// The segment that is on its way.
#[derive(Clone, Copy, Debug)]
struct Segment {
    asked_at: Time,
    video_bytes: u64,
    /// Answers that have not come.
    outstanding: u32,
}

#[derive(Debug)]
struct Player {
    chooser: Chooser,
    playback: Playback,
    manifest: ConnectionId,
    /// Connections of the media: those of the video, then that of the audio.
    connections: Vec<ConnectionId>,
    ready: u32,
    /// Sizes of the segments over their mean, as the manifest tells.
    sizes: Vec<f64>,
    next_segment: u32,
    segment: Option<Segment>,
    phase: Phase,
    has_been_full: bool,
    stalled: bool,
}

#[derive(Debug)]
pub struct Chunked {
    parameters: Parameters,
    /// Requests that were sent: a request carries its contents.
    requests: Vec<Request>,
    server: Server,
    player: Player,
}

impl Chunked {
    pub fn new(parameters: Parameters) -> Result<Self, String> {
        parameters.validate()?;
        let player = Player {
            chooser: Chooser::new(parameters.choice()),
            playback: Playback::NEW,
            manifest: 0,
            connections: Vec::new(),
            ready: 0,
            sizes: Vec::new(),
            next_segment: 0,
            segment: None,
            phase: Phase::Silence,
            has_been_full: false,
            stalled: false,
        };
        Ok(Self { parameters, requests: Vec::new(), server: Server::default(), player })
    }

    fn ask(&mut self, io: &mut Io, connection: ConnectionId, bytes: u32, label: Label) {
        let number = self.requests.len() as u64;
        self.requests.push(Request { bytes: bytes + self.parameters.response_header_bytes, label });
        io.write(
            connection,
            End::Client,
            self.parameters.request_bytes,
            number,
            Label::of(Phase::Signalling),
        );
    }

    /// The manifest is there: the connections of the media are opened.
    fn open_media(&mut self, io: &mut Io) {
        io.close(self.player.manifest, End::Client);
        io.close(self.player.manifest, End::Server);
        let separate = self.parameters.audio_kbps > 0.0;
        let media = if separate { Media::Video } else { Media::Mixed };
        for number in 0..self.parameters.connections {
            let name = if separate { "video" } else { "media" };
            let spec =
                FlowSpec::new(name, media, SERVER_PORT, FIRST_CLIENT_PORT + 1 + number as u16);
            self.player.connections.push(io.open_tcp(
                spec,
                &self.parameters.tcp,
                &self.parameters.tcp,
            ));
        }
        if separate {
            let spec = FlowSpec::new("audio", Media::Audio, SERVER_PORT, FIRST_CLIENT_PORT + 100);
            self.player.connections.push(io.open_tcp(
                spec,
                &self.parameters.tcp,
                &self.parameters.tcp,
            ));
        }
    }

    fn draw_sizes(&mut self, io: &mut Io) {
        let sigma = self.parameters.size_sigma;
        let count = self.parameters.segments() as usize;
        // Mean 1: the mean of a log-normal law is exp(mu + sigma^2 / 2).
        self.player.sizes = match Normal::new(-0.5 * sigma * sigma, sigma) {
            Ok(normal) => normal.sample_iter(io.rng()).take(count).map(f64::exp).collect(),
            Err(_) => vec![1.0; count],
        };
    }

    fn enter(&mut self, io: &mut Io, phase: Phase) {
        if self.player.phase != phase {
            self.player.phase = phase;
            io.log(SessionEvent::Phase(phase));
        }
    }

    /// Ask for the next segment, or wait until there is room for it.
    fn next_segment(&mut self, io: &mut Io) {
        if self.player.segment.is_some() || self.player.next_segment >= self.parameters.segments() {
            return;
        }
        let now = io.now();
        let excess_s = self.player.playback.buffer_s(now) + self.parameters.segment_s
            - self.parameters.buffer_s;
        if excess_s > 1e-9 {
            self.full(io);
            io.set_timer_in(NEXT, ns(excess_s));
            return;
        }
        let before = (self.player.next_segment > 0).then_some(self.player.chooser.level());
        let level = self.player.chooser.next(self.player.playback.buffer_s(now));
        if before != Some(level) {
            io.log(SessionEvent::Encoding {
                bps: 1000.0 * self.parameters.ladder_kbps[level],
                level: level as i16,
            });
        }
        self.ask_for_segment(io, level);
    }

    fn ask_for_segment(&mut self, io: &mut Io, level: usize) {
        let Parameters { segment_s, connections, audio_kbps, .. } = self.parameters;
        let bytes_of = |kbps: f64| kbps * 125.0 * segment_s;
        let size = self.player.sizes[self.player.next_segment as usize];
        let video_bytes =
            (bytes_of(self.parameters.ladder_kbps[level]) * size).round().max(1.0) as u64;
        let label = Label { level: level as i16, ..Label::of(self.player.phase) };
        for part in 0..u64::from(connections) {
            let share = |number: u64| video_bytes * number / u64::from(connections);
            let bytes = (share(part + 1) - share(part)).min(u64::from(u32::MAX / 2)) as u32;
            self.ask(io, self.player.connections[part as usize], bytes, label);
        }
        let mut outstanding = connections;
        if audio_kbps > 0.0 {
            let audio = self.player.connections[connections as usize];
            self.ask(io, audio, bytes_of(audio_kbps).round().max(1.0) as u32, label);
            outstanding += 1;
        }
        self.player.next_segment += 1;
        self.player.segment = Some(Segment { asked_at: io.now(), video_bytes, outstanding });
    }

    /// The buffer holds what it may: from now on the source sends as fast as it plays.
    fn full(&mut self, io: &mut Io) {
        if !self.player.has_been_full {
            self.player.has_been_full = true;
            io.log(SessionEvent::BufferFull);
        }
        self.enter(io, Phase::Playout);
    }

    fn on_answer(&mut self, io: &mut Io) {
        let Some(segment) = self.player.segment.as_mut() else { return };
        segment.outstanding -= 1;
        if segment.outstanding > 0 {
            return;
        }
        let Segment { asked_at, video_bytes, .. } = *segment;
        let now = io.now();
        self.player.segment = None;
        let elapsed_s = seconds(now - asked_at);
        self.player.chooser.observe(video_bytes, elapsed_s);
        self.player.playback.add(self.parameters.segment_s);
        self.play_if_enough(io);
        if self.player.phase == Phase::Buffering && elapsed_s >= self.parameters.segment_s {
            // Media come no faster than they play: the path is full, though the buffer is not.
            self.enter(io, Phase::Playout);
        }
        let paced_at = asked_at + ns(self.parameters.pace_share * self.parameters.segment_s);
        if paced_at > now {
            io.set_timer(NEXT, paced_at);
        } else {
            self.next_segment(io);
        }
    }

    fn is_complete(&self) -> bool {
        self.player.segment.is_none() && self.player.next_segment >= self.parameters.segments()
    }

    fn play_if_enough(&mut self, io: &mut Io) {
        let now = io.now();
        let enough_s =
            if self.player.stalled { self.parameters.resume_s } else { self.parameters.start_s };
        let playback = &mut self.player.playback;
        if !playback.is_playing()
            && (playback.buffer_s(now) >= enough_s - 1e-9 || self.is_complete())
        {
            self.player.playback.start(now);
            let stalled = std::mem::take(&mut self.player.stalled);
            io.log(if stalled { SessionEvent::StallEnd } else { SessionEvent::PlaybackStart });
            if stalled {
                self.enter(io, Phase::Playout);
            }
        }
        if let Some(empty_at) = self.player.playback.empty_at() {
            io.set_timer(EMPTY, empty_at);
        }
    }

    /// All media that has come was played: the end, or a halt.
    fn on_empty(&mut self, io: &mut Io) {
        if self.is_complete() {
            self.end(io);
            return;
        }
        self.player.playback.halt();
        self.player.stalled = true;
        io.log(SessionEvent::StallStart);
        self.enter(io, Phase::Rebuffering);
    }

    fn end(&mut self, io: &mut Io) {
        for connection in self.player.connections.clone() {
            io.abort(connection);
        }
        self.enter(io, Phase::End);
        io.log(SessionEvent::End);
        io.finish();
    }
}

impl Agent for Chunked {
    fn start(&mut self, io: &mut Io) {
        io.log(SessionEvent::Request);
        self.draw_sizes(io);
        let spec = FlowSpec::new("control", Media::Control, SERVER_PORT, FIRST_CLIENT_PORT);
        self.player.manifest = io.open_tcp(spec, &self.parameters.tcp, &self.parameters.tcp);
    }

    fn on_connected(&mut self, io: &mut Io, connection: ConnectionId, at: End) {
        if at == End::Server {
            return;
        }
        if connection == self.player.manifest {
            self.ask(io, connection, self.parameters.manifest_bytes, Label::of(Phase::Signalling));
            return;
        }
        self.player.ready += 1;
        if self.player.ready as usize == self.player.connections.len() {
            io.log(SessionEvent::Play);
            self.enter(io, Phase::Buffering);
            self.next_segment(io);
        }
    }

    fn on_message(&mut self, io: &mut Io, connection: ConnectionId, at: End, tag: u64) {
        if at == End::Server {
            if let Some(Request { bytes, label }) = self.requests.get(tag as usize).copied() {
                self.server.answer(io, connection, tag as usize, bytes, label);
            }
        } else if answered_by(tag).is_some() {
            if connection == self.player.manifest {
                self.open_media(io);
            } else {
                self.on_answer(io);
            }
        }
    }

    fn on_writable(&mut self, io: &mut Io, connection: ConnectionId, at: End) {
        if at == End::Server {
            self.server.write(io, connection);
        }
    }

    fn on_timer(&mut self, io: &mut Io, timer: u32) {
        match timer {
            EMPTY => self.on_empty(io),
            _ => self.next_segment(io),
        }
    }

    fn on_stop(&mut self, io: &mut Io) {
        self.end(io);
    }

    fn sample(&self, now: Time) -> Sample {
        let encoding_bps = 1000.0 * self.parameters.ladder_kbps[self.player.chooser.level()];
        Sample { encoding_bps, buffer_s: self.player.playback.buffer_s(now), ..Sample::NONE }
    }
}
