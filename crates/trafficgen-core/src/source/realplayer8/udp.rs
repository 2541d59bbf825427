//! A session with its media over UDP.

use super::control::{Control, Message};
use super::packetiser::{MediaPacket, Packetiser};
use super::parameters::{Parameters, Programme};
use super::playback::{Change, Playback};
use super::udp_player::{Report, UdpPlayer};
use super::udp_server::{Decision, UdpServer};
use crate::des::{
    ns, Agent, ConnectionId, Datagram, End, FlowId, FlowSpec, Io, Label, Media, Phase,
};
use crate::des::{Sample, SessionEvent, Time};

const SEND: u32 = 0;
const REPORT: u32 = 1;
const PLAYBACK: u32 = 2;
const FINISH: u32 = 3;

/// Set in the tag of a packet that is sent again.
const RESENT: u64 = 1 << 63;
/// Payload of a report: counters and times, and two bytes for each packet asked for.
const REPORT_BYTES: u32 = 48;
/// The last packets and reports of a session have passed the path by then.
const LAST_WORDS_NS: Time = 2_000_000_000;
const MEDIA_PORTS: (u16, u16) = (6970, 6970);

/// A RealPlayer 8 session over UDP.
#[derive(Debug)]
pub struct UdpSession {
    parameters: Parameters,
    programme: Programme,
    control: Control,
    flow: FlowId,
    packetiser: Packetiser,
    server: Option<UdpServer>,
    player: Option<UdpPlayer>,
    /// Content of the packets and reports that are, or were, under way.
    sent: Vec<MediaPacket>,
    reports: Vec<Report>,
    missing: Vec<u32>,
}

impl UdpSession {
    pub fn new(parameters: Parameters, programme: Programme) -> Self {
        let packetiser = Packetiser::new(&parameters);
        let control = Control::default();
        let (sent, reports, missing) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            parameters,
            programme,
            control,
            flow: 0,
            packetiser,
            server: None,
            player: None,
            sent,
            reports,
            missing,
        }
    }

    fn hear_request(&mut self, io: &mut Io, message: Message) {
        match message {
            Message::Describe => self.control.say(io, End::Server, Message::Description),
            Message::SetUp => self.control.say(io, End::Server, Message::SetUpDone),
            Message::Play { .. } => {
                self.control.say(io, End::Server, Message::Playing);
                self.server = Some(UdpServer::new(&self.parameters, &self.programme, io.now()));
                let value = self.programme.ladder_bps[self.programme.top()];
                io.log(SessionEvent::Fact { name: "server_level_bps", value });
                let buffering = self.programme.multiple > 1.0;
                io.log(SessionEvent::Phase(if buffering {
                    Phase::Buffering
                } else {
                    Phase::Playout
                }));
                self.send_media(io);
            }
            _ => {}
        }
    }

    fn hear_answer(&mut self, io: &mut Io, message: Message) {
        match message {
            Message::Description => self.control.say(io, End::Client, Message::SetUp),
            Message::SetUpDone => {
                io.log(SessionEvent::Play);
                let level = self.programme.top();
                self.control.say(io, End::Client, Message::Play { level });
            }
            Message::Playing => {
                self.expect_media(io);
            }
            _ => {}
        }
    }

    /// The player waits for media from its arrival, or from the server's promise, on.
    fn expect_media(&mut self, io: &mut Io) -> &mut UdpPlayer {
        let now = io.now();
        let Parameters { playback_start_s, stall_limit_s, .. } = self.parameters;
        let length_s = self.programme.length_s;
        let first = if self.programme.preselect {
            self.parameters.preselect_report_s
        } else {
            self.parameters.report_interval_s
        };
        self.player.get_or_insert_with(|| {
            io.set_timer_in(REPORT, ns(first));
            let playback = Playback::new(playback_start_s, stall_limit_s, length_s, now);
            io.set_timer(PLAYBACK, playback.due());
            UdpPlayer::new(playback, now)
        })
    }

    fn send_media(&mut self, io: &mut Io) {
        let Some(server) = self.server.as_mut() else { return };
        let programme = &self.programme;
        if server.buffering && server.has_buffered(io.now()) {
            server.end_buffering();
            io.log(SessionEvent::Phase(Phase::Playout));
        }
        let phase = if server.buffering { Phase::Buffering } else { Phase::Playout };
        let rate_bps = programme.ladder_bps[server.level];
        let audio_only = programme.audio_only(server.level);
        let frames_before = (server.position_s * self.parameters.frames_per_s) as u64;
        let packet = self.packetiser.next(io.rng(), programme, server.level, server.position_s);
        let wait = server.sends(&packet, rate_bps, programme.length_s);
        let frames = (server.position_s * self.parameters.frames_per_s) as u64 - frames_before;
        io.session().frames_sent += if audio_only { 0 } else { frames };
        let label = Label { level: server.level as i16, ..Label::of(phase) };
        io.send(self.flow, End::Server, packet.payload_bytes, self.sent.len() as u64, label);
        self.sent.push(packet);
        if let Some(sequence) = server.resend(&self.sent) {
            let again = self.sent[sequence as usize];
            let label =
                Label { level: again.level as i16, retransmission: true, ..Label::of(phase) };
            io.send(
                self.flow,
                End::Server,
                again.payload_bytes,
                u64::from(sequence) | RESENT,
                label,
            );
        }
        if server.ended {
            io.log(SessionEvent::End);
            io.set_timer_in(FINISH, LAST_WORDS_NS);
        } else {
            io.set_timer_in(SEND, wait);
        }
    }

    fn on_report(&mut self, io: &mut Io, number: u64) {
        let Some(server) = self.server.as_mut() else { return };
        let Some(report) = self.reports.get(number as usize) else { return };
        let missing = &self.missing[report.missing.0..report.missing.1];
        let buffering = server.buffering;
        let decision = server.on_report(io.now(), report, missing, &self.programme);
        if decision == Decision::Level {
            let value = self.programme.ladder_bps[server.level];
            io.log(SessionEvent::Fact { name: "server_level_bps", value });
        }
        if buffering && !server.buffering {
            io.log(SessionEvent::Phase(Phase::Playout));
        }
        if decision == Decision::Level && self.programme.audio_only(server.level) {
            io.log(SessionEvent::AudioOnly);
        }
    }

    fn on_media(&mut self, io: &mut Io, datagram: &Datagram) {
        let sequence = (datagram.tag & !RESENT) as u32;
        let Some(packet) = self.sent.get(sequence as usize).copied() else { return };
        self.expect_media(io);
        let Some(player) = self.player.as_mut() else { return };
        let before = player.level;
        let resent = datagram.tag & RESENT != 0;
        let now = io.now();
        let change =
            player.on_packet(now, sequence, resent, datagram.sent_ns, &packet, &mut self.missing);
        if let (true, Some(level)) = (player.level != before, player.level) {
            let bps = self.programme.ladder_bps[usize::from(level)];
            io.log(SessionEvent::Encoding { bps, level: level as i16 });
        }
        self.note(io, change);
    }

    fn note(&self, io: &mut Io, change: Option<Change>) {
        let event = match change {
            Some(Change::Started) => SessionEvent::PlaybackStart,
            Some(Change::Stalled) => SessionEvent::StallStart,
            Some(Change::Resumed) => SessionEvent::StallEnd,
            Some(Change::Played) | None => return,
        };
        io.log(event);
        if let Some(player) = self.player.as_ref() {
            io.set_timer(PLAYBACK, player.playback.due());
        }
    }

    fn send_report(&mut self, io: &mut Io) {
        let now = io.now();
        let Some(player) = self.player.as_mut() else { return };
        if now - player.last_arrival >= ns(self.parameters.silence_limit_s) {
            io.log(SessionEvent::End);
            io.finish();
            return;
        }
        let report = player.report(now, &self.missing);
        let asked = (report.missing.1 - report.missing.0) as u32;
        let payload = REPORT_BYTES + 2 * asked.min(600);
        io.send(
            self.flow,
            End::Client,
            payload,
            self.reports.len() as u64,
            Label::of(Phase::Signalling),
        );
        self.reports.push(report);
        io.set_timer_in(REPORT, ns(self.parameters.report_interval_s));
    }
}

impl Agent for UdpSession {
    fn start(&mut self, io: &mut Io) {
        io.log(SessionEvent::Request);
        self.flow = io.open_udp(FlowSpec::new("media", Media::Mixed, MEDIA_PORTS.0, MEDIA_PORTS.1));
        self.control.open(io, &self.parameters.server_tcp, &self.parameters.client_tcp);
    }

    fn on_connected(&mut self, io: &mut Io, _connection: ConnectionId, at: End) {
        if at == End::Client {
            self.control.say(io, End::Client, Message::Describe);
        }
    }

    fn on_message(&mut self, io: &mut Io, _connection: ConnectionId, at: End, tag: u64) {
        match (self.control.heard(tag), at) {
            (Some(message), End::Server) => self.hear_request(io, message),
            (Some(message), End::Client) => self.hear_answer(io, message),
            (None, _) => {}
        }
    }

    fn on_datagram(&mut self, io: &mut Io, at: End, datagram: &Datagram) {
        match at {
            End::Client => self.on_media(io, datagram),
            End::Server => self.on_report(io, datagram.tag),
        }
    }

    fn on_timer(&mut self, io: &mut Io, timer: u32) {
        match timer {
            SEND => self.send_media(io),
            REPORT => self.send_report(io),
            PLAYBACK => {
                let now = io.now();
                let Some(player) = self.player.as_mut() else { return };
                let change = player.playback.on_due(now);
                io.set_timer(PLAYBACK, player.playback.due());
                self.note(io, change);
            }
            _ => io.finish(),
        }
    }

    fn on_stop(&mut self, io: &mut Io) {
        io.log(SessionEvent::End);
        io.finish();
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
