//! Server and player as one agent: what each of them hears, and when they act.

use super::control::{Control, Message};
use super::pacing::wait_ns;
use super::packet::{Feedback, MediaPacket, RESENT};
use super::parameters::{Parameters, Programme};
use super::player::{Change, Player};
use super::response::Action;
use super::server::{Server, Shape, Stage};
use crate::des::{
    ns, seconds, Agent, ConnectionId, Datagram, End, FlowId, FlowSpec, Io, Label, Media, Phase,
};
use crate::des::{Sample, SessionEvent, Time};

const SEND: u32 = 0;
const REPORT: u32 = 1;
const PLAYBACK: u32 = 2;
/// RealNetworks' data transport.
const MEDIA_PORTS: (u16, u16) = (6970, 6970);

/// A RealVideo 10 session.
#[derive(Debug)]
pub struct Session {
    parameters: Parameters,
    programme: Programme,
    control: Control,
    flow: FlowId,
    server: Option<Server>,
    player: Option<Player>,
    playback_began: Option<Time>,
    /// Content of the packets and of the player's datagrams that are, or were, under way.
    sent: Vec<MediaPacket>,
    said: Vec<Feedback>,
}

impl Session {
    pub fn new(parameters: Parameters, programme: Programme) -> Self {
        let control = Control::default();
        let (sent, said) = (Vec::new(), Vec::new());
        Self {
            parameters,
            programme,
            control,
            flow: 0,
            server: None,
            player: None,
            playback_began: None,
            sent,
            said,
        }
    }

    fn hear_request(&mut self, io: &mut Io, message: Message) {
        match message {
            Message::Describe => self.control.say(io, End::Server, Message::Description),
            Message::SetUp => self.control.say(io, End::Server, Message::SetUpDone),
            Message::Play => {
                self.control.say(io, End::Server, Message::Playing);
                let now = io.now();
                self.server = Some(Server::new(&self.parameters, &self.programme, now, io.rng()));
                io.log(SessionEvent::Phase(Phase::Buffering));
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
                self.control.say(io, End::Client, Message::Play);
            }
            Message::EndOfStream => {
                if let Some(player) = self.player.as_mut() {
                    player.ended = true;
                }
                self.look_at_playback(io);
            }
            _ => {}
        }
    }

    fn send_media(&mut self, io: &mut Io) {
        let Some(server) = self.server.as_mut() else { return };
        let now = io.now();
        if server.stage == Stage::Quiet && now >= server.quiet_until() {
            server.begin(now);
        }
        if server.has_sent_ahead(now) {
            server.stage = Stage::Steady;
            io.log(SessionEvent::Phase(server.phase()));
        }
        let wait = match (server.stage, server.shape) {
            (Stage::Quiet, _) => self.send_header(io),
            (_, Shape::AudioOnly) => self.send_audio(io),
            (Stage::Measuring, _) if self.sent.is_empty() => self.send_train(io),
            _ => self.send_burst(io),
        };
        if self.server.as_ref().is_some_and(|server| server.ended) {
            io.log(SessionEvent::End);
            self.control.say(io, End::Server, Message::EndOfStream);
        } else {
            io.set_timer_in(SEND, wait);
        }
    }

    fn send_header(&mut self, io: &mut Io) -> Time {
        let Some(server) = self.server.as_ref() else { return 0 };
        let encoding_bps = server.media_bps();
        let packet = MediaPacket {
            payload_bytes: self.parameters.header_payload_bytes,
            level: server.shown_level(),
            encoding_bps,
            frames_per_s: server.frames_per_s(),
            end_s: 0.0,
        };
        let wait = ns(self.parameters.header_interval_s).min(server.quiet_until() - io.now());
        self.put(io, packet);
        wait
    }

    fn send_train(&mut self, io: &mut Io) -> Time {
        for _ in 0..self.parameters.train_packets {
            self.send_piece(io);
        }
        let now = io.now();
        self.server.as_mut().map_or(0, |server| {
            wait_ns(server.sending_s(now, server.encoding().payload_bytes, io.rng()))
        })
    }

    /// What two seconds of audio hold, back to back.
    fn send_audio(&mut self, io: &mut Io) -> Time {
        let interval_s = self.parameters.audio_burst_interval_s;
        let until_s = self.server.as_ref().map_or(0.0, |server| server.position_s + interval_s);
        while self
            .server
            .as_ref()
            .is_some_and(|server| !server.ended && server.position_s < until_s)
        {
            self.send_piece(io);
        }
        // What was sent beyond the interval is not due in the next one.
        let over_s = self.server.as_ref().map_or(0.0, |server| server.position_s - until_s);
        wait_ns(interval_s + over_s)
    }

    /// Packets for the time until the next burst; one at a time where the link's rate paces them.
    fn send_burst(&mut self, io: &mut Io) -> Time {
        let interval_s = self.parameters.burst_interval_s;
        let Some(server) = self.server.as_mut() else { return 0 };
        if server.is_link_paced() {
            server.owed_s = 0.0;
            return wait_ns(self.send_packet(io));
        }
        server.owed_s += interval_s;
        while self.server.as_ref().is_some_and(|server| server.owed_s > 0.0 && !server.ended) {
            let sending_s = self.send_packet(io);
            if let Some(server) = self.server.as_mut() {
                server.owed_s -= sending_s;
            }
        }
        wait_ns(interval_s)
    }

    /// The next piece of the clip, and one that was lost beside it; returns how long they take to
    /// send, s.
    fn send_packet(&mut self, io: &mut Io) -> f64 {
        let mut bytes = self.send_piece(io);
        let Some(server) = self.server.as_mut() else { return 0.0 };
        if let Some(sequence) = server.resend(&self.sent) {
            let again = self.sent[sequence as usize];
            let label =
                Label { level: again.level, retransmission: true, ..Label::of(server.phase()) };
            io.send(
                self.flow,
                End::Server,
                again.payload_bytes,
                u64::from(sequence) | RESENT,
                label,
            );
            // It takes the place of fresh media: added to the rate, it would turn a full queue into
            // an overrun one.
            bytes += again.payload_bytes;
        }
        server.sending_s(io.now(), bytes, io.rng())
    }

    /// Send the next piece of the clip; returns its payload.
    fn send_piece(&mut self, io: &mut Io) -> u32 {
        let Some(server) = self.server.as_mut() else { return 0 };
        let before_s = server.position_s;
        let packet = server.next_packet();
        let of = |rate: f64| (rate * packet.end_s) as u64 - (rate * before_s) as u64;
        let session = io.session();
        session.frames_sent += of(packet.frames_per_s);
        session.frames_dropped_at_sender +=
            of(server.encoding().frames_per_s - packet.frames_per_s);
        self.put(io, packet);
        packet.payload_bytes
    }

    fn put(&mut self, io: &mut Io, packet: MediaPacket) {
        let phase = self.server.as_ref().map_or(Phase::Buffering, Server::phase);
        let label = Label { level: packet.level, ..Label::of(phase) };
        io.send(self.flow, End::Server, packet.payload_bytes, self.sent.len() as u64, label);
        self.sent.push(packet);
    }

    fn hear_feedback(&mut self, io: &mut Io, number: u64) {
        let (Some(server), Some(said)) =
            (self.server.as_mut(), self.said.get(number as usize).copied())
        else {
            return;
        };
        let report = match said {
            Feedback::Missing { from, to } => return server.on_missing(from, to),
            Feedback::Report(report) => report,
        };
        let was = (server.phase(), server.shape, server.stage);
        let action = server.on_report(io.now(), &report);
        if server.phase() != was.0 {
            io.log(SessionEvent::Phase(server.phase()));
        }
        match action {
            Action::Thin | Action::Parts(_) if was.1 == Shape::Whole => {
                io.log(SessionEvent::Thinned)
            }
            Action::AudioOnly => io.log(SessionEvent::AudioOnly),
            _ => {}
        }
        if was.2 == Stage::Measuring && server.stage == Stage::Ahead {
            io.log(SessionEvent::Fact {
                name: "link_estimate_bps",
                value: report.link_bps.unwrap_or(f64::NAN),
            });
        }
    }

    /// The player begins to expect media with the first packet.
    fn hear_media(&mut self, io: &mut Io, datagram: &Datagram) {
        let sequence = (datagram.tag & !RESENT) as u32;
        let Some(packet) = self.sent.get(sequence as usize).copied() else { return };
        let now = io.now();
        let (parameters, programme) = (&self.parameters, &self.programme);
        let player = self.player.get_or_insert_with(|| {
            let first_s = if parameters.turboplay {
                parameters.train_report_s
            } else {
                parameters.report_interval_s
            };
            io.set_timer_in(REPORT, ns(first_s));
            Player::new(parameters, programme, now)
        });
        let before = player.present().map(|packet| (packet.level, packet.encoding_bps));
        let missing = player.on_packet(now, sequence, datagram.tag & RESENT != 0, &packet);
        let after = player.present().map(|packet| (packet.level, packet.encoding_bps));
        if let (true, Some((level, bps))) = (before != after, after) {
            io.log(SessionEvent::Encoding { bps, level });
        }
        if let Some((from, to)) = missing {
            self.say(io, Feedback::Missing { from, to });
        }
        self.look_at_playback(io);
    }

    fn look_at_playback(&mut self, io: &mut Io) {
        let Some(player) = self.player.as_mut() else { return };
        let now = io.now();
        let change = player.advance(now);
        if let Some(due) = player.due() {
            // A start that waits for media is looked at with the next packet.
            if due > now {
                io.set_timer(PLAYBACK, due);
            }
        }
        match change {
            Some(Change::Started) => {
                self.playback_began = Some(now);
                io.log(SessionEvent::PlaybackStart);
                self.send_report(io);
            }
            Some(Change::Stalled) => io.log(SessionEvent::StallStart),
            Some(Change::Resumed) => io.log(SessionEvent::StallEnd),
            Some(Change::Played) => self.leave(io),
            None => {}
        }
    }

    /// The player has played all that comes, or gives up.
    fn leave(&mut self, io: &mut Io) {
        if let Some(began) = self.playback_began {
            io.log(SessionEvent::Fact { name: "played_s", value: seconds(io.now() - began) });
        }
        io.finish();
    }

    fn say(&mut self, io: &mut Io, feedback: Feedback) {
        let tag = self.said.len() as u64;
        io.send(
            self.flow,
            End::Client,
            feedback.payload_bytes(),
            tag,
            Label::of(Phase::Signalling),
        );
        self.said.push(feedback);
    }

    fn send_report(&mut self, io: &mut Io) {
        let now = io.now();
        let Some(player) = self.player.as_mut() else { return };
        let report = player.report(now);
        let silent = now - player.last_arrival;
        self.say(io, Feedback::Report(report));
        io.set_timer_in(REPORT, ns(self.parameters.report_interval_s));
        if silent >= ns(self.parameters.silence_limit_s)
            && self.player.as_ref().is_some_and(|player| !player.ended)
        {
            io.log(SessionEvent::End);
            self.leave(io);
        }
    }
}

impl Agent for Session {
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
            End::Client => self.hear_media(io, datagram),
            End::Server => self.hear_feedback(io, datagram.tag),
        }
    }

    fn on_timer(&mut self, io: &mut Io, timer: u32) {
        match timer {
            SEND => self.send_media(io),
            REPORT => self.send_report(io),
            _ => self.look_at_playback(io),
        }
    }

    fn on_stop(&mut self, io: &mut Io) {
        io.log(SessionEvent::End);
        self.leave(io);
    }

    fn sample(&self, now: Time) -> Sample {
        self.player.as_ref().map_or(Sample::NONE, |player| player.sample(now))
    }
}
