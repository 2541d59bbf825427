//! A Windows Media 9 session over RTSP and RTP/UDP as Nichols (2004) measured it: `docs/catalogue`
//! and the entry `wmedia9_nichols2004` say which number comes from where.
//!
//! [`server`] and [`player`] hold the state of the two ends; what they say to each other stands in
//! [`wire`].

mod clip;
mod parameters;
mod player;
mod reception;
mod server;
#[cfg(test)]
mod tests;
mod wire;

pub use parameters::Parameters;

use self::player::Player;
use self::server::{Server, CLOCK_HZ};
use self::wire::{Message, Wire, STREAMS};
use crate::des::{
    ns, Agent, ConnectionId, Datagram, End, FlowId, FlowSpec, Io, Label, Media, Phase, RtpSpec,
    Sample, SessionEvent, Time,
};
use crate::transport::{CongestionControl, TcpConfig};

const PROBE: u32 = 20;
const PLAY: u32 = 21;
const GIVE_UP_PROBE: u32 = 22;

#[derive(Debug)]
pub struct Wmedia9 {
    parameters: Parameters,
    server: Server,
    player: Player,
    wire: Wire,
    control: ConnectionId,
    flows: [FlowId; STREAMS],
    feedback: FlowId,
    /// What the player waits for before it plays: an answer to SETUP, the time, and the packet
    /// pair.
    set_up: bool,
    silence_over: bool,
    probe_given_up: bool,
    end_sent: bool,
}

/// TCP of a Windows host of 2004 for the control connection: no window scaling, no timestamps, two
/// segments at first.
fn control_tcp() -> TcpConfig {
    TcpConfig {
        congestion_control: CongestionControl::Reno,
        timestamps: false,
        initial_window_segments: 2,
        delayed_ack_timeout_ns: 200_000_000,
        initial_rto_ns: 3_000_000_000,
        minimum_rto_ns: 1_000_000_000,
        appropriate_byte_counting: false,
        proportional_rate_reduction: false,
        send_buffer_bytes: 65_535,
        receive_buffer_bytes: 17_520,
        ..TcpConfig::default()
    }
}

impl Wmedia9 {
    pub fn new(parameters: Parameters) -> Result<Self, String> {
        let clip = parameters.clip()?;
        Ok(Self {
            server: Server::new(parameters.clone(), clip.clone()),
            player: Player::new(parameters.clone(), clip),
            parameters,
            wire: Wire::default(),
            control: 0,
            flows: [0; STREAMS],
            feedback: 0,
            set_up: false,
            silence_over: false,
            probe_given_up: false,
            end_sent: false,
        })
    }

    fn write(&self, io: &mut Io, from: End, message: Message) {
        // The send buffer holds the whole conversation many times over: it never refuses.
        io.write(self.control, from, message.bytes(), message.tag(), Label::of(Phase::Signalling));
    }

    /// The player asks to play once SETUP was answered, the silence is over and the packet pair has
    /// come.
    fn play_when_ready(&mut self, io: &mut Io) {
        let probed = self.probe_given_up || self.player.has_probe(self.parameters.probe_packets);
        if self.set_up && self.silence_over && probed && self.wire.play.is_none() {
            self.wire.play = Some(self.player.request(io));
            io.log(SessionEvent::Play);
            self.write(io, End::Client, Message::Play);
        }
    }

    fn at_server(&mut self, io: &mut Io, message: Message) {
        match message {
            Message::Describe => self.write(io, End::Server, Message::Description),
            Message::Setup => {
                self.write(io, End::Server, Message::SetupReply);
                io.set_timer_in(PROBE, ns(self.parameters.probe_delay_s));
            }
            Message::Play => {
                self.write(io, End::Server, Message::PlayReply);
                if let Some(request) = self.wire.play {
                    self.server.play(io, request, &mut self.wire);
                }
            }
            Message::BufferFull => self.server.on_buffer_full(io),
            Message::Teardown => self.end(io),
            _ => {}
        }
    }

    fn at_player(&mut self, io: &mut Io, message: Message) {
        match message {
            Message::Description => self.write(io, End::Client, Message::Setup),
            Message::SetupReply => {
                self.set_up = true;
                self.play_when_ready(io);
            }
            Message::EndOfStream => self.player.on_end_of_stream(io),
            _ => {}
        }
    }

    fn end(&self, io: &mut Io) {
        io.log(SessionEvent::End);
        io.finish();
    }

    fn on_tick(&mut self, io: &mut Io) {
        if self.player.on_tick(io) {
            self.write(io, End::Client, Message::Teardown);
        }
    }

    fn tell_end(&mut self, io: &mut Io) {
        if self.server.has_ended() && !self.end_sent {
            self.end_sent = true;
            self.write(io, End::Server, Message::EndOfStream);
        }
    }
}

impl Agent for Wmedia9 {
    fn start(&mut self, io: &mut Io) {
        io.log(SessionEvent::Request);
        io.log(SessionEvent::Phase(Phase::Silence));
        self.control = io.open_tcp(
            FlowSpec::new("control", Media::Control, 554, 40_000),
            &control_tcp(),
            &control_tcp(),
        );
        let streams =
            [("audio", Media::Audio), ("video", Media::Video), ("video-low", Media::Video)];
        for (number, (name, media)) in streams.into_iter().enumerate() {
            let port = 5004 + 2 * number as u16;
            let rtp =
                Some(RtpSpec { ssrc: 1 + number as u32, payload_type: 96, clock_hz: CLOCK_HZ });
            self.flows[number] = io.open_udp(FlowSpec {
                rtp,
                ..FlowSpec::new(name, media, port, 40_002 + 2 * number as u16)
            });
        }
        self.feedback = io.open_udp(FlowSpec::new("feedback", Media::Control, 5005, 40_003));
        self.server.open(io, self.flows);
        self.player.open(self.feedback);
        io.set_timer_in(PLAY, ns(self.parameters.silence_s));
    }

    fn on_connected(&mut self, io: &mut Io, _connection: ConnectionId, at: End) {
        if at == End::Client {
            self.write(io, End::Client, Message::Describe);
        }
    }

    fn on_message(&mut self, io: &mut Io, _connection: ConnectionId, at: End, tag: u64) {
        let Some(message) = Message::from_tag(tag) else { return };
        match at {
            End::Server => self.at_server(io, message),
            End::Client => self.at_player(io, message),
        }
    }

    fn on_datagram(&mut self, io: &mut Io, at: End, datagram: &Datagram) {
        let tag = datagram.tag as usize;
        if at == End::Server {
            if let Some(report) = self.wire.reports.get(tag) {
                self.server.on_report(report, &self.wire);
            }
            return;
        }
        if let Some(number) = datagram.tag.checked_sub(wire::PROBE_TAG) {
            self.player.on_probe(io, number, datagram.ip_bytes);
            self.play_when_ready(io);
            return;
        }
        let Some(header) = self.wire.packets.get(tag).copied() else { return };
        if self.player.on_media(io, &header, &mut self.wire) {
            self.write(io, End::Client, Message::BufferFull);
        }
    }

    fn on_timer(&mut self, io: &mut Io, timer: u32) {
        match timer {
            server::BURST => self.server.on_burst(io, &mut self.wire),
            server::PACKET => self.server.on_packet(io, &self.wire),
            server::RESPONSE => self.server.on_response(io),
            player::REPORT => self.player.report(io, &mut self.wire),
            player::SECOND => self.player.on_second(io, &mut self.wire),
            player::TICK => self.on_tick(io),
            PROBE => self.server.send_probe(io),
            PLAY => {
                self.silence_over = true;
                io.set_timer_in(GIVE_UP_PROBE, ns(self.parameters.probe_wait_s));
                self.play_when_ready(io);
            }
            GIVE_UP_PROBE => {
                self.probe_given_up = true;
                self.play_when_ready(io);
            }
            _ => {}
        }
        self.tell_end(io);
    }

    fn on_stop(&mut self, io: &mut Io) {
        io.abort(self.control);
        self.end(io);
    }

    fn sample(&self, now: Time) -> Sample {
        self.player.sample(now)
    }
}
