//! The player, and how it meets its server.

#[path = "requests.rs"]
mod requests;

use rand_distr::{Distribution, Normal};

use super::parameters::Parameters;
use super::playback::Playback;
use super::policy::{Decider, Download};
use super::server::{answered_by, Server, PIECE_BYTES};
use super::track::{Segment, Track};
use crate::des::{
    ns, seconds, Agent, ConnectionId, End, FlowSpec, Io, Label, Media, Phase, Sample, SessionEvent,
    Time,
};

const EMPTY: u32 = 0;
const NEXT: u32 = 1;
const NEXT_AUDIO: u32 = 2;
const SERVER_PORT: u16 = 443;
const FIRST_CLIENT_PORT: u16 = 40_100;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Manifest,
    Video,
    Audio,
}

/// A request as it travels to the server: what is wanted, on which connection.
#[derive(Clone, Copy, Debug)]
struct Request {
    bytes: u32,
    label: Label,
    part: Part,
}

#[derive(Debug)]
struct Player {
    decider: Decider,
    playback: Playback,
    manifest: ConnectionId,
    video: Track,
    /// Audio with a clock of its own; None where it comes with the video's segments.
    audio: Option<Track>,
    /// Connections of the media: those of the video, then that of the audio.
    connections: Vec<ConnectionId>,
    ready: u32,
    /// Sizes of the segments over their mean, as the manifest tells.
    sizes: Vec<f64>,
    /// Since when nothing is asked for because the buffer is full.
    waiting_since: Option<Time>,
    phase: Phase,
    has_been_full: bool,
    stalled: bool,
}

impl Player {
    /// How far all media have come, s.
    fn complete_s(&self) -> f64 {
        let audio_s = match &self.audio {
            Some(audio) if !audio.is_complete() => audio.fetched_s,
            _ => f64::INFINITY,
        };
        self.video.fetched_s.min(audio_s)
    }
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
            decider: Decider::new(parameters.policy_settings()),
            playback: Playback::NEW,
            manifest: 0,
            video: Track::new(parameters.segment_s, parameters.segments()),
            audio: parameters.audio_track(),
            connections: Vec::new(),
            ready: 0,
            sizes: Vec::new(),
            waiting_since: None,
            phase: Phase::Silence,
            has_been_full: false,
            stalled: false,
        };
        Ok(Self { parameters, requests: Vec::new(), server: Server::default(), player })
    }

    fn open(&self, io: &mut Io, spec: FlowSpec) -> ConnectionId {
        match &self.parameters.quic {
            Some(quic) => io.open_quic(spec, quic),
            None => io.open_tcp(spec, &self.parameters.tcp, &self.parameters.tcp),
        }
    }

    fn draw_sizes(&mut self, io: &mut Io) {
        let sigma = self.parameters.size_sigma;
        let count = self.parameters.segments() as usize;
        if let Some(factors) =
            self.parameters.content_factors.as_ref().filter(|all| !all.is_empty())
        {
            self.player.sizes = factors.iter().copied().cycle().take(count).collect();
            return;
        }
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

    /// The buffer holds what it may: from now on the source sends as fast as it plays.
    fn full(&mut self, io: &mut Io) {
        if !self.player.has_been_full {
            self.player.has_been_full = true;
            io.log(SessionEvent::BufferFull);
        }
        self.enter(io, Phase::Playout);
    }

    fn on_answer(&mut self, io: &mut Io, part: Part) {
        let track = match (part, self.player.audio.as_mut()) {
            (Part::Audio, Some(audio)) => audio,
            _ => &mut self.player.video,
        };
        let Some(segment) = track.answer() else { return };
        let now = io.now();
        self.player.playback.fetch_to(self.player.complete_s());
        if part == Part::Audio {
            self.play_if_enough(io);
            self.go_on(io, part);
            return;
        }
        let elapsed_s = seconds(now - segment.asked_at);
        self.observe(segment, now);
        self.play_if_enough(io);
        if self.player.phase == Phase::Buffering && elapsed_s >= self.parameters.segment_s {
            // Media come no faster than they play: the path is full, though the buffer is not.
            self.enter(io, Phase::Playout);
        }
        let pace_s = self.parameters.pace_share * self.parameters.segment_s;
        let paced_at = segment.asked_at + ns(pace_s);
        if paced_at > now {
            io.set_timer(NEXT, paced_at);
        } else {
            self.go_on(io, part);
        }
    }

    /// Tell the policy of a segment of the video that has come.
    fn observe(&mut self, segment: Segment, now: Time) {
        let elapsed_s = seconds(now - segment.asked_at);
        let (mut counted_bytes, mut counted_s) = (segment.bytes, elapsed_s);
        if let (true, Some((since, bytes))) =
            (self.parameters.throughput_without_latency.unwrap_or(false), segment.first)
        {
            // Of a few packets more there is no rate.
            if now > since && segment.bytes >= 2 * bytes {
                (counted_bytes, counted_s) = (segment.bytes - bytes, seconds(now - since));
            }
        }
        let buffer_s = self.player.playback.buffer_of(self.player.video.fetched_s, now);
        let bytes = segment.bytes;
        let download = Download { bytes, elapsed_s, counted_bytes, counted_s, buffer_s };
        self.player.decider.observe(&download);
    }

    fn is_complete(&self) -> bool {
        let Player { video, audio, .. } = &self.player;
        video.is_complete() && audio.as_ref().is_none_or(Track::is_complete)
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
        self.player.decider.stalled();
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
        self.player.manifest = self.open(io, spec);
    }

    fn on_connected(&mut self, io: &mut Io, connection: ConnectionId, at: End) {
        if at == End::Server {
            return;
        }
        if connection == self.player.manifest {
            let bytes = u64::from(self.parameters.manifest_bytes);
            self.ask(io, connection, Part::Manifest, bytes, Label::of(Phase::Signalling));
            return;
        }
        self.player.ready += 1;
        if self.player.ready as usize == self.player.connections.len() {
            io.log(SessionEvent::Play);
            self.enter(io, Phase::Buffering);
            self.go_on(io, Part::Video);
            if !self.parameters.asks_in_turn() {
                self.next_audio(io);
            }
        }
    }

    fn on_message(&mut self, io: &mut Io, connection: ConnectionId, at: End, tag: u64) {
        if at == End::Server {
            if let Some(Request { bytes, label, .. }) = self.requests.get(tag as usize).copied() {
                self.server.answer(io, connection, tag as usize, bytes, label);
            }
            return;
        }
        let (request, is_last) = answered_by(tag);
        let Some(Request { part, .. }) = self.requests.get(request).copied() else { return };
        match part {
            Part::Manifest if is_last => self.open_media(io),
            Part::Video | Part::Audio if is_last => self.on_answer(io, part),
            Part::Video => self.player.video.begin(io.now(), u64::from(PIECE_BYTES)),
            Part::Manifest | Part::Audio => {}
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
            NEXT_AUDIO => self.go_on(io, Part::Audio),
            _ => self.go_on(io, Part::Video),
        }
    }

    fn on_stop(&mut self, io: &mut Io) {
        self.end(io);
    }

    fn sample(&self, now: Time) -> Sample {
        let encoding_bps = 1000.0 * self.parameters.ladder_kbps[self.player.decider.level()];
        Sample { encoding_bps, buffer_s: self.player.playback.buffer_s(now), ..Sample::NONE }
    }
}
