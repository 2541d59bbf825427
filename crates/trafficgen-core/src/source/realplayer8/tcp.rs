//! A session with its media over TCP.

use super::control::{Control, Message, Status};
use super::packetiser::{MediaPacket, Packetiser};
use super::parameters::{Parameters, Programme};
use super::playback::{Change, Playback};
use super::tcp_player::TcpPlayer;
use super::tcp_server::TcpServer;
use crate::des::{ns, seconds, Agent, ConnectionId, End, FlowSpec, Io, Label, Media, Phase};
use crate::des::{Sample, SessionEvent, Time};

const WRITE: u32 = 0;
const TICK: u32 = 1;
const PLAYBACK: u32 = 2;

/// The player renews its estimates this often.
const TICK_NS: Time = 1_000_000_000;
const MEDIA_PORTS: (u16, u16) = (554, 40_001);
/// Tags of the messages that measure the path before media begins.
const PROBE: u64 = 1 << 63;
/// A probe fills the segments of Ethernet.
const PROBE_MESSAGE_BYTES: u32 = 1460;

/// A RealPlayer 8 session over TCP.
#[derive(Debug)]
pub struct TcpSession {
    parameters: Parameters,
    programme: Programme,
    control: Control,
    media: ConnectionId,
    packetiser: Packetiser,
    server: Option<TcpServer>,
    player: Option<TcpPlayer>,
    /// Content of the media packets.
    sent: Vec<MediaPacket>,
    probe: Probe,
}

/// What the player sees of the messages that measure the path.
#[derive(Clone, Copy, Debug, Default)]
struct Probe {
    last: Option<Time>,
    largest_bps: f64,
}

impl TcpSession {
    pub fn new(parameters: Parameters, programme: Programme) -> Self {
        let packetiser = Packetiser::new(&parameters);
        Self {
            parameters,
            programme,
            control: Control::default(),
            media: ConnectionId::MAX,
            packetiser,
            server: None,
            player: None,
            sent: Vec::new(),
            probe: Probe::default(),
        }
    }

    fn hear_request(&mut self, io: &mut Io, message: Message) {
        match message {
            Message::Describe => self.control.say(io, End::Server, Message::Description),
            Message::SetUp => self.control.say(io, End::Server, Message::SetUpDone),
            Message::Play { level } => {
                self.control.say(io, End::Server, Message::Playing);
                self.server = Some(TcpServer::new(&self.parameters, level, io.now()));
                let value = self.programme.ladder_bps[level];
                io.log(SessionEvent::Fact { name: "server_level_bps", value });
                io.log(SessionEvent::Phase(Phase::Buffering));
                self.write_media(io);
            }
            Message::Status(status) => self.hear_status(io, &status),
            _ => {}
        }
    }

    fn hear_answer(&mut self, io: &mut Io, message: Message) {
        match message {
            Message::Description => self.control.say(io, End::Client, Message::SetUp),
            Message::SetUpDone => {
                let spec = FlowSpec::new("media", Media::Mixed, MEDIA_PORTS.0, MEDIA_PORTS.1);
                self.media =
                    io.open_tcp(spec, &self.parameters.server_tcp, &self.parameters.client_tcp);
            }
            _ => {}
        }
    }

    fn hear_status(&mut self, io: &mut Io, status: &Status) {
        let Some(server) = self.server.as_mut() else { return };
        let changes = server.on_status(io.now(), status);
        if server.pace(io.now()) {
            io.log(SessionEvent::Phase(server.phase));
        }
        if !changes {
            return;
        }
        let value = self.programme.ladder_bps[server.level];
        io.log(SessionEvent::Fact { name: "server_level_bps", value });
        if self.programme.audio_only(server.level) {
            io.log(SessionEvent::AudioOnly);
        }
    }

    /// The media connection is open: measure the path where the clip wants it, else play from the
    /// top.
    fn media_connected(&mut self, io: &mut Io, at: End) {
        match (self.programme.preselect, at) {
            (true, End::Server) => {
                let messages = self.parameters.preselect_probe_bytes / PROBE_MESSAGE_BYTES;
                for number in 0..u64::from(messages) {
                    let last = if number + 1 == u64::from(messages) { 1 } else { 0 };
                    let label = Label::of(Phase::Probe);
                    io.write(self.media, End::Server, PROBE_MESSAGE_BYTES, PROBE | last, label);
                }
            }
            (false, End::Client) => self.play(io, self.programme.top()),
            _ => {}
        }
    }

    fn play(&mut self, io: &mut Io, level: usize) {
        io.log(SessionEvent::Play);
        self.control.say(io, End::Client, Message::Play { level });
        let Parameters { playback_start_s, stall_limit_s, .. } = self.parameters;
        let now = io.now();
        let playback = Playback::new(playback_start_s, stall_limit_s, self.programme.length_s, now);
        io.set_timer(PLAYBACK, playback.due());
        io.set_timer_in(TICK, TICK_NS);
        self.player = Some(TcpPlayer::new(&self.parameters, &self.programme, level, playback, now));
    }

    fn on_probe(&mut self, io: &mut Io, last: bool) {
        let now = io.now();
        if let Some(before) = self.probe.last.replace(now) {
            let rate_bps = f64::from(PROBE_MESSAGE_BYTES) * 8.0 / seconds(now - before).max(1e-4);
            self.probe.largest_bps = self.probe.largest_bps.max(rate_bps);
        }
        if last {
            io.log(SessionEvent::Fact { name: "probe_bps", value: self.probe.largest_bps });
            let level = self.programme.level_within(self.probe.largest_bps);
            self.play(io, level);
        }
    }

    /// Write one packet; the next one follows in its time, or when the send buffer has space.
    fn write_media(&mut self, io: &mut Io) {
        let Some(server) = self.server.as_mut() else { return };
        let programme = &self.programme;
        if server.pace(io.now()) {
            io.log(SessionEvent::Phase(server.phase));
        }
        let phase = server.phase;
        let packet = server.refused.take().unwrap_or_else(|| {
            let position_s = server.position_s;
            self.packetiser.next(io.rng(), programme, server.level, position_s)
        });
        let label = Label { level: packet.level as i16, ..Label::of(phase) };
        let tag = self.sent.len() as u64;
        if !io.write(self.media, End::Server, packet.payload_bytes, tag, label) {
            server.refused = Some(packet);
            return;
        }
        self.sent.push(packet);
        if !programme.audio_only(usize::from(packet.level)) {
            let frames_per_s = self.parameters.frames_per_s;
            let frames =
                (packet.end_s * frames_per_s) as u64 - (server.position_s * frames_per_s) as u64;
            io.session().frames_sent += frames;
        }
        let wait = server.wrote(&packet, programme);
        if server.ended {
            io.close(self.media, End::Server);
        } else {
            io.set_timer_in(WRITE, wait);
        }
    }

    fn on_media(&mut self, io: &mut Io, tag: u64) {
        let Some(packet) = self.sent.get(tag as usize).copied() else { return };
        let Some(player) = self.player.as_mut() else { return };
        let before = player.level;
        let change = player.on_packet(io.now(), &packet);
        if before != Some(packet.level) {
            let bps = self.programme.ladder_bps[usize::from(packet.level)];
            io.log(SessionEvent::Encoding { bps, level: packet.level as i16 });
        }
        self.note(io, change);
        if packet.end_s >= self.programme.length_s - 1e-9 {
            self.end(io);
        }
    }

    fn note(&mut self, io: &mut Io, change: Option<Change>) {
        let Some(player) = self.player.as_mut() else { return };
        let event = match change {
            Some(Change::Started) => SessionEvent::PlaybackStart,
            Some(Change::Stalled) => {
                player.begins_to_wait(io.now());
                SessionEvent::StallStart
            }
            Some(Change::Resumed) => SessionEvent::StallEnd,
            Some(Change::Played) | None => return,
        };
        io.log(event);
        io.set_timer(PLAYBACK, player.playback.due());
        self.tell_status(io);
    }

    /// Tell the server how far playback is, and which level is wanted.
    fn tell_status(&mut self, io: &mut Io) {
        let Some(player) = self.player.as_mut() else { return };
        let now = io.now();
        let status = Status {
            playhead_s: player.playback.playhead_s(now),
            playing: player.playback.is_playing(),
            level: player.wanted,
        };
        player.told = now;
        self.control.say(io, End::Client, Message::Status(status));
    }

    fn tick(&mut self, io: &mut Io) {
        let now = io.now();
        let Some(player) = self.player.as_mut() else { return };
        if now - player.last_arrival >= ns(self.parameters.silence_limit_s) {
            self.end(io);
            return;
        }
        let due = now - player.told >= ns(self.parameters.status_interval_s);
        if player.tick(now, &self.programme) || due {
            self.tell_status(io);
        }
        io.set_timer_in(TICK, TICK_NS);
    }

    fn playback_due(&mut self, io: &mut Io) {
        let now = io.now();
        let Some(player) = self.player.as_mut() else { return };
        let change = player.playback.on_due(now);
        io.set_timer(PLAYBACK, player.playback.due());
        if matches!(change, Some(Change::Started | Change::Resumed)) {
            player.waited_in_vain(now, &self.programme);
            if player.gives_up() {
                self.end(io);
                return;
            }
        }
        self.note(io, change);
    }

    fn end(&self, io: &mut Io) {
        io.log(SessionEvent::End);
        if self.media != ConnectionId::MAX {
            io.abort(self.media);
        }
        io.abort(self.control.connection);
        io.finish();
    }
}

impl Agent for TcpSession {
    fn start(&mut self, io: &mut Io) {
        io.log(SessionEvent::Request);
        self.control.open(io, &self.parameters.server_tcp, &self.parameters.client_tcp);
    }

    fn on_connected(&mut self, io: &mut Io, connection: ConnectionId, at: End) {
        if connection == self.media {
            self.media_connected(io, at);
        } else if at == End::Client {
            self.control.say(io, End::Client, Message::Describe);
        }
    }

    fn on_message(&mut self, io: &mut Io, connection: ConnectionId, at: End, tag: u64) {
        if connection == self.media {
            if tag & PROBE != 0 {
                self.on_probe(io, tag & !PROBE == 1);
            } else {
                self.on_media(io, tag);
            }
            return;
        }
        match (self.control.heard(tag), at) {
            (Some(message), End::Server) => self.hear_request(io, message),
            (Some(message), End::Client) => self.hear_answer(io, message),
            (None, _) => {}
        }
    }

    fn on_writable(&mut self, io: &mut Io, connection: ConnectionId, at: End) {
        if connection == self.media && at == End::Server {
            self.write_media(io);
        }
    }

    fn on_timer(&mut self, io: &mut Io, timer: u32) {
        match timer {
            WRITE => self.write_media(io),
            TICK => self.tick(io),
            _ => self.playback_due(io),
        }
    }

    fn on_stop(&mut self, io: &mut Io) {
        self.end(io);
    }

    fn sample(&self, now: Time) -> Sample {
        let Some(player) = self.player.as_ref() else { return Sample::NONE };
        super::player_sample(
            &self.programme,
            &player.playback,
            player.level,
            self.parameters.frames_per_s,
            now,
        )
    }
}
