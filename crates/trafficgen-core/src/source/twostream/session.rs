//! The session: clocks of audio and video, packets both ways, and the log.

use rand::RngExt;

use super::controller::{Change, Controller, State};
use super::monitor::Monitor;
use super::parameters::{Control, Parameters, Transport};
use super::trend::Trend;
use crate::des::{
    ns, seconds, Agent, ConnectionId, Datagram, End, FlowId, FlowSpec, Io, Label, Media, Phase,
    Sample,
};
use crate::des::{SessionEvent, Time};

const TICK: u32 = 0;
const END: u32 = 1;

/// A verdict as a packet carries it, and as it stands in the log: 1, -1, 0, and one half for what
/// is ambiguous.
const VERDICTS: [(Trend, f64); 5] = [
    (Trend::Increasing, 1.0),
    (Trend::Decreasing, -1.0),
    (Trend::Steady, 0.0),
    (Trend::Ambiguous { up: true }, 0.5),
    (Trend::Ambiguous { up: false }, -0.5),
];

/// Sending end.
#[derive(Debug)]
struct Server {
    controller: Controller,
    audio_packets: u64,
    /// Ticks of the clock of both streams, one each frame interval.
    ticks: u64,
    /// Frames that were sent: when, and at which rate (its epoch). A frame carries both.
    frames: Vec<(Time, u32)>,
    paused_at: Time,
}

/// Receiving end.
#[derive(Debug)]
struct Player {
    monitor: Monitor,
    all: FrameDelays,
    /// Delays of the frames at the last rate.
    last_rate: FrameDelays,
    rate_epoch: u32,
}

#[derive(Clone, Copy, Debug)]
struct FrameDelays {
    count: u64,
    sum_s: f64,
    min_s: f64,
}

impl FrameDelays {
    const NONE: Self = Self { count: 0, sum_s: 0.0, min_s: f64::INFINITY };

    fn add(&mut self, delay_s: f64) {
        self.count += 1;
        self.sum_s += delay_s;
        self.min_s = self.min_s.min(delay_s);
    }

    fn mean_s(&self) -> f64 {
        self.sum_s / self.count as f64
    }
}

/// The carrier of the video.
#[derive(Clone, Copy, Debug)]
enum Video {
    Udp(FlowId),
    Tcp(ConnectionId),
}

#[derive(Debug)]
pub struct TwoStream {
    parameters: Parameters,
    audio: FlowId,
    feedback: FlowId,
    video: Video,
    began: Time,
    server: Server,
    player: Player,
}

impl TwoStream {
    pub fn new(parameters: Parameters) -> Result<Self, String> {
        parameters.validate()?;
        let server = Server {
            controller: Controller::new(parameters.search()),
            audio_packets: 0,
            ticks: 0,
            frames: Vec::new(),
            paused_at: 0,
        };
        let player = Player {
            monitor: Monitor::new(parameters.monitor()),
            all: FrameDelays::NONE,
            last_rate: FrameDelays::NONE,
            rate_epoch: 0,
        };
        Ok(Self {
            parameters,
            audio: 0,
            feedback: 0,
            video: Video::Udp(0),
            began: 0,
            server,
            player,
        })
    }

    fn controlled(&self) -> bool {
        self.parameters.control == Control::On
    }

    /// Whether the video clock runs.
    fn video_on(&self) -> bool {
        self.server.controller.state() != State::Off
    }

    fn sends_video(&self) -> bool {
        !matches!(self.server.controller.state(), State::Off | State::Pause)
    }

    fn label(&self) -> Label {
        Label::of(if self.sends_video() { Phase::Playout } else { Phase::AudioOnly })
    }

    /// The clock of both streams has ticked: audio goes first where both are due.
    fn tick(&mut self, io: &mut Io) {
        let tick = self.server.ticks;
        self.server.ticks += 1;
        if tick % self.parameters.ticks_per_audio_packet() == 0 {
            self.audio_packet(io);
        }
        let elapsed_s = self.parameters.frame_interval_s * tick as f64;
        let frame = elapsed_s - self.parameters.audio_before_s;
        if frame >= 0.0 && frame < self.parameters.video_s {
            self.frame_due(io);
        } else if self.video_on() {
            self.server.controller.end();
        }
        let due = self.began + ns(self.parameters.frame_interval_s * (tick + 1) as f64);
        let late = ns(self.parameters.send_delay_s * io.rng().random::<f64>());
        io.set_timer(TICK, due + late);
    }

    fn audio_packet(&mut self, io: &mut Io) {
        let tag = u64::from(self.server.controller.epoch()) << 32 | self.server.audio_packets;
        io.send(self.audio, End::Server, self.parameters.audio_payload_bytes, tag, self.label());
        self.server.audio_packets += 1;
    }

    fn frame_due(&mut self, io: &mut Io) {
        let now = io.now();
        if !self.video_on() {
            self.server.controller.begin(now);
            self.log_rate(io);
        } else if self.controlled() {
            let change = self.server.controller.on_time(now);
            self.log_change(io, change);
        }
        self.frame(io);
    }

    /// Rate of the video, kbps: what the control allows, or all.
    fn rate_kbps(&self) -> f64 {
        if self.controlled() {
            self.server.controller.rate_kbps()
        } else {
            self.parameters.video_kbps
        }
    }

    /// A frame was taken: it is sent, or dropped in a pause and where the send buffer is full.
    fn frame(&mut self, io: &mut Io) {
        let bytes = self.parameters.frame_bytes(self.rate_kbps());
        let number = self.server.frames.len() as u64;
        let sent = self.sends_video()
            && match self.video {
                Video::Udp(flow) => {
                    io.send(flow, End::Server, bytes, number, self.label());
                    true
                }
                Video::Tcp(connection) => {
                    io.write(connection, End::Server, bytes, number, self.label())
                }
            };
        if sent {
            self.server.frames.push((io.now(), self.server.controller.epoch()));
            io.session().frames_sent += 1;
        } else {
            io.session().frames_dropped_at_sender += 1;
        }
    }

    /// A frame has come; it carries when it was sent and at which rate.
    fn on_frame(&mut self, now: Time, number: u64) {
        let Some(&(sent_at, epoch)) = self.server.frames.get(number as usize) else { return };
        let player = &mut self.player;
        player.monitor.on_other_stream();
        if epoch > player.rate_epoch {
            player.rate_epoch = epoch;
            player.last_rate = FrameDelays::NONE;
        }
        let delay_s = seconds(now - sent_at);
        player.all.add(delay_s);
        if epoch == player.rate_epoch {
            player.last_rate.add(delay_s);
        }
    }

    fn on_audio(&mut self, io: &mut Io, datagram: &Datagram) {
        let epoch = (datagram.tag >> 32) as u32;
        let verdict = self.player.monitor.on_packet(epoch, seconds(io.now() - datagram.sent_ns));
        if let Some(trend) = verdict.filter(|_| self.controlled()) {
            let code = VERDICTS.iter().position(|(known, _)| *known == trend).unwrap_or(0) as u64;
            let tag = u64::from(self.player.monitor.epoch()) << 8 | code;
            let label = Label::of(Phase::Signalling);
            io.send(self.feedback, End::Client, self.parameters.verdict_payload_bytes, tag, label);
        }
    }

    fn on_verdict(&mut self, io: &mut Io, tag: u64) {
        let Some(&(trend, value)) = VERDICTS.get((tag & 0xFF) as usize) else { return };
        io.log(SessionEvent::Fact { name: "verdict", value });
        let change = self.server.controller.on_verdict(io.now(), (tag >> 8) as u32, trend);
        self.log_change(io, change);
    }

    fn log_rate(&self, io: &mut Io) {
        io.log(SessionEvent::Encoding { bps: 1000.0 * self.rate_kbps(), level: -1 });
    }

    fn log_change(&mut self, io: &mut Io, change: Option<Change>) {
        let Some(change) = change else { return };
        let value = self.server.controller.rate_kbps();
        let name = match change {
            Change::Paused => "paused_at_kbps",
            Change::Resumed => "resumed_at_kbps",
            Change::Raised => "raised_to_kbps",
            Change::Lowered => "lowered_to_kbps",
            Change::Held => "held_at_kbps",
        };
        io.log(SessionEvent::Fact { name, value });
        match change {
            Change::Paused => self.server.paused_at = io.now(),
            Change::Held => {}
            Change::Resumed | Change::Raised | Change::Lowered => self.log_rate(io),
        }
        if change == Change::Resumed {
            let value = seconds(io.now() - self.server.paused_at);
            io.log(SessionEvent::Fact { name: "pause_s", value });
        }
    }

    fn end(&mut self, io: &mut Io) {
        let Player { all, last_rate, .. } = &self.player;
        let facts = [
            ("frames_received", all.count as f64),
            ("frame_delay_mean_s", all.mean_s()),
            ("frame_delay_min_s", all.min_s),
            ("frame_delay_last_rate_mean_s", last_rate.mean_s()),
            ("frame_delay_last_rate_min_s", last_rate.min_s),
            ("epsilon_s", self.player.monitor.epsilon_s()),
        ];
        for (name, value) in facts {
            io.log(SessionEvent::Fact { name, value });
        }
        self.server.controller.end();
        io.log(SessionEvent::Phase(Phase::End));
        io.log(SessionEvent::End);
        io.finish();
    }
}

impl Agent for TwoStream {
    fn start(&mut self, io: &mut Io) {
        self.began = io.now();
        self.audio = io.open_udp(FlowSpec::new("audio", Media::Audio, 5004, 40_004));
        self.feedback = io.open_udp(FlowSpec::new("feedback", Media::Control, 5005, 40_005));
        let spec = FlowSpec::new("video", Media::Video, 5006, 40_006);
        self.video = match self.parameters.traffic_transport {
            Transport::Udp => Video::Udp(io.open_udp(spec)),
            Transport::Tcp => {
                Video::Tcp(io.open_tcp(spec, &self.parameters.sender_tcp(), &self.parameters.tcp))
            }
        };
        io.log(SessionEvent::Phase(Phase::Playout));
        self.tick(io);
        let Parameters { audio_before_s, video_s, audio_after_s, .. } = self.parameters;
        io.set_timer_in(END, ns(audio_before_s + video_s + audio_after_s));
    }

    fn on_timer(&mut self, io: &mut Io, timer: u32) {
        match timer {
            TICK => self.tick(io),
            _ => self.end(io),
        }
    }

    fn on_datagram(&mut self, io: &mut Io, at: End, datagram: &Datagram) {
        if at == End::Server {
            self.on_verdict(io, datagram.tag);
        } else if datagram.flow == self.audio {
            self.on_audio(io, datagram);
        } else {
            self.on_frame(io.now(), datagram.tag);
        }
    }

    fn on_message(&mut self, io: &mut Io, _connection: ConnectionId, at: End, tag: u64) {
        if at == End::Client {
            self.on_frame(io.now(), tag);
        }
    }

    fn on_stop(&mut self, io: &mut Io) {
        self.end(io);
    }

    fn sample(&self, _now: Time) -> Sample {
        if !self.video_on() {
            return Sample { frames_per_s: 0.0, ..Sample::NONE };
        }
        let frames_per_s =
            if self.sends_video() { 1.0 / self.parameters.frame_interval_s } else { 0.0 };
        Sample { encoding_bps: 1000.0 * self.rate_kbps(), frames_per_s, ..Sample::NONE }
    }
}
