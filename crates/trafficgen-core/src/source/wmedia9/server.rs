//! The server: bursts of media at the rate that the player asked for, resendings, and one response
//! to loss.

use std::collections::VecDeque;

use rand::RngExt;

use super::clip::{Clip, Rendition};
use super::parameters::{Bursts, Parameters};
use super::wire::{Header, PlayRequest, Report, Wire, ALONG, AUDIO, PROBE_TAG, STREAMS, VIDEO};
use crate::des::{ns, seconds, End, FlowId, Io, Label, Phase, Rtp, SessionEvent, Time};

/// Timers of the server.
pub const BURST: u32 = 0;
pub const PACKET: u32 = 1;
pub const RESPONSE: u32 = 2;

const RTP_HEADER_BYTES: u32 = 12;
/// RTP time stamps of ASF packets count milliseconds.
pub const CLOCK_HZ: u32 = 1000;

/// How much of the video is sent (NIC-P4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    Full,
    HalfFrames,
    KeyFrames,
    AudioOnly,
}

/// One stream at the sender.
#[derive(Debug, Default)]
struct Stream {
    rate_bps: f64,
    /// Bytes that are due, below a whole packet once they have been cut.
    pending_bytes: f64,
    /// Numbers of its packets, by sequence number.
    sent: Vec<usize>,
}

#[derive(Debug)]
pub struct Server {
    parameters: Parameters,
    clip: Clip,
    flows: [FlowId; STREAMS],
    play: Option<PlayRequest>,
    level: usize,
    detail: Detail,
    buffering: bool,
    streams: [Stream; STREAMS],
    /// Playing time that has been cut into packets, s.
    position_s: f64,
    first_media: Option<Time>,
    last_burst: Option<Time>,
    /// Packets of the present burst that are still to be sent.
    burst: VecDeque<(usize, bool)>,
    resendings: VecDeque<usize>,
    /// Packets that may be sent again with the present burst, with fractions.
    resend_credit: f64,
    /// Frames that are due, sent or dropped, with fractions.
    frames: (f64, f64),
    threshold: f64,
    loss: Option<f64>,
    ended: bool,
}

impl Server {
    pub fn new(parameters: Parameters, clip: Clip) -> Self {
        Self {
            parameters,
            clip,
            flows: [0; STREAMS],
            play: None,
            level: 0,
            detail: Detail::Full,
            buffering: true,
            streams: Default::default(),
            position_s: 0.0,
            first_media: None,
            last_burst: None,
            burst: VecDeque::new(),
            resendings: VecDeque::new(),
            resend_credit: 0.0,
            frames: (0.0, 0.0),
            threshold: 0.0,
            loss: None,
            ended: false,
        }
    }

    pub fn open(&mut self, io: &mut Io, flows: [FlowId; STREAMS]) {
        self.flows = flows;
        let (low, high) = (self.parameters.verdict_loss_low, self.parameters.verdict_loss_high);
        self.threshold = low + (high - low) * io.rng().random::<f64>();
    }

    /// The packet pair, sent back to back on the video flow.
    pub fn send_probe(&self, io: &mut Io) {
        let payload_bytes = self.parameters.probe_packet_bytes - 28;
        for number in 0..u64::from(self.parameters.probe_packets) {
            io.send(
                self.flows[VIDEO],
                End::Server,
                payload_bytes,
                PROBE_TAG + number,
                Label::of(Phase::Probe),
            );
        }
    }

    pub fn play(&mut self, io: &mut Io, request: PlayRequest, wire: &mut Wire) {
        self.play = Some(request);
        self.level = request.level;
        self.set_rates();
        io.log(SessionEvent::Phase(Phase::Buffering));
        io.log(SessionEvent::Encoding { bps: self.encoding_bps(), level: self.level as i16 });
        self.first_media = Some(io.now());
        io.set_timer_in(RESPONSE, ns(self.parameters.response_s));
        self.on_burst(io, wire);
    }

    fn rendition(&self) -> Rendition {
        self.clip.levels[self.level]
    }

    fn frames_per_s(&self) -> f64 {
        let full = self.rendition().frames_per_s;
        match self.detail {
            Detail::Full => full,
            Detail::HalfFrames => full / 2.0,
            Detail::KeyFrames => 1.0 / self.parameters.key_frame_interval_s,
            Detail::AudioOnly => 0.0,
        }
    }

    fn video_bps(&self, detail: Detail) -> f64 {
        let full = self.rendition().video_bps;
        match detail {
            Detail::Full => full,
            Detail::HalfFrames => full * self.parameters.half_frames_share,
            Detail::KeyFrames => full * self.parameters.key_frames_share,
            Detail::AudioOnly => 0.0,
        }
    }

    fn encoding_bps(&self) -> f64 {
        self.clip.audio_bps() + self.video_bps(self.detail)
    }

    fn set_rates(&mut self) {
        let along = self.play.filter(|_| self.buffering).map_or(0.0, |play| play.along_bps);
        self.streams[AUDIO].rate_bps = self.clip.audio_bps();
        self.streams[VIDEO].rate_bps = self.video_bps(self.detail);
        self.streams[ALONG].rate_bps = along;
    }

    /// The player's buffer is full: from now on media is sent as fast as it is played.
    pub fn on_buffer_full(&mut self, io: &mut Io) {
        self.buffering = false;
        self.set_rates();
        if self.detail == Detail::Full {
            io.log(SessionEvent::Phase(Phase::Playout));
        }
    }

    fn pace(&self) -> (f64, Bursts) {
        match self.play {
            Some(play) if self.buffering && play.accelerated => {
                (play.multiple, self.parameters.bursts_accelerated)
            }
            _ => (1.0, self.parameters.bursts_normal),
        }
    }

    /// Begin a burst: what has become due since the last one began, and what was asked for again.
    pub fn on_burst(&mut self, io: &mut Io, wire: &mut Wire) {
        let (multiple, bursts) = self.pace();
        let elapsed_s = self.last_burst.map_or(bursts.idle_s, |last| seconds(io.now() - last));
        self.last_burst = Some(io.now());
        let media_s = (multiple * elapsed_s).min(self.parameters.clip_s - self.position_s);
        self.position_s += media_s;
        self.count_frames(io, media_s);
        for stream in &mut self.streams {
            stream.pending_bytes += stream.rate_bps * media_s / 8.0;
        }
        self.cut(wire, self.position_s >= self.parameters.clip_s);
        self.add_resendings();
        self.on_packet(io, wire);
    }

    /// Answer what was asked for, as far as its share of the stream goes; the player must ask again
    /// for the rest.
    fn add_resendings(&mut self) {
        let share = self.parameters.resend_share * self.burst.len() as f64;
        self.resend_credit = (self.resend_credit + share).min(share + 1.0);
        let answered = self.resendings.len().min(self.resend_credit as usize);
        self.resend_credit -= answered as f64;
        self.burst.extend(self.resendings.drain(..answered).map(|packet| (packet, true)));
        self.resendings.clear();
    }

    fn count_frames(&mut self, io: &mut Io, media_s: f64) {
        let due = self.rendition().frames_per_s * media_s;
        let sent = self.frames_per_s() * media_s;
        self.frames = (self.frames.0 + sent, self.frames.1 + due - sent);
        let log = io.session();
        log.frames_sent = self.frames.0 as u64;
        log.frames_dropped_at_sender = self.frames.1 as u64;
    }

    /// Cut what is due into packets of full size, the stream that is furthest behind first; at the
    /// end also the rest.
    fn cut(&mut self, wire: &mut Wire, last: bool) {
        let full = f64::from(self.parameters.packet_payload_bytes);
        let behind = |stream: &Stream| stream.pending_bytes / stream.rate_bps;
        loop {
            let ready = (0..STREAMS).filter(|number| {
                self.streams[*number].pending_bytes >= if last { 1.0 } else { full }
            });
            let next = ready.max_by(|one, other| {
                behind(&self.streams[*one])
                    .total_cmp(&behind(&self.streams[*other]))
                    .then(other.cmp(one))
            });
            let Some(number) = next else { return };
            self.cut_packet(wire, number, full);
        }
    }

    fn cut_packet(&mut self, wire: &mut Wire, number: usize, full: f64) {
        let total_bps = self.encoding_bps();
        let (position_s, encoding_bps, frames_per_s) =
            (self.position_s, self.encoding_bps(), self.frames_per_s());
        let stream = &mut self.streams[number];
        let bytes = stream.pending_bytes.min(full);
        stream.pending_bytes -= bytes;
        let media_s = if number == ALONG { 0.0 } else { bytes * 8.0 / total_bps };
        let behind_s =
            if stream.rate_bps > 0.0 { stream.pending_bytes * 8.0 / stream.rate_bps } else { 0.0 };
        let header = Header {
            stream: number,
            sequence: stream.sent.len(),
            payload_bytes: bytes as u32,
            position_s: position_s - behind_s,
            media_s,
            encoding_bps,
            frames_per_s,
        };
        stream.sent.push(wire.packets.len());
        self.burst.push_back((wire.packets.len(), false));
        wire.packets.push(header);
    }

    /// Send the next packet of the burst, or wait for the next burst.
    pub fn on_packet(&mut self, io: &mut Io, wire: &Wire) {
        let (_, bursts) = self.pace();
        if let Some((packet, again)) = self.burst.pop_front() {
            self.send(io, &wire.packets[packet], packet, again);
        }
        if !self.burst.is_empty() {
            io.set_timer_in(PACKET, ns(bursts.gap_s));
            return;
        }
        self.ended |= self.position_s >= self.parameters.clip_s;
        io.set_timer_in(BURST, ns(bursts.idle_s));
    }

    fn send(&self, io: &mut Io, header: &Header, packet: usize, again: bool) {
        let phase = match self.detail {
            Detail::AudioOnly => Phase::AudioOnly,
            Detail::HalfFrames | Detail::KeyFrames => Phase::Thinned,
            Detail::Full if self.buffering => Phase::Buffering,
            Detail::Full => Phase::Playout,
        };
        let timestamp = (header.position_s * f64::from(CLOCK_HZ)).round() as u32;
        let rtp = Some(Rtp { sequence: header.sequence as u16, timestamp, marker: false });
        let label = Label { phase, level: self.level as i16, retransmission: again, rtp };
        let payload_bytes = header.payload_bytes + RTP_HEADER_BYTES;
        io.send(self.flows[header.stream], End::Server, payload_bytes, packet as u64, label);
    }

    /// Whether the whole clip has been sent.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// A report of the player: what it asks for goes with the next burst.
    pub fn on_report(&mut self, report: &Report, wire: &Wire) {
        self.loss = report.loss.or(self.loss);
        for (stream, sequence) in &wire.asked[report.first..report.end] {
            if let Some(packet) = self.streams[*stream].sent.get(*sequence) {
                self.resendings.push_back(*packet);
            }
        }
    }

    /// The one moment at which the server answers the loss that was measured near the start (NIC-L1
    /// to L3).
    pub fn on_response(&mut self, io: &mut Io) {
        io.log(SessionEvent::Fact { name: "verdict_loss", value: self.loss.unwrap_or(f64::NAN) });
        if !self.loss.is_some_and(|loss| loss > self.threshold) {
            return;
        }
        // Without an estimate the server goes one step down.
        let capacity_bps = self.play.and_then(|play| play.capacity_bps);
        let share = self.parameters.response_share_of_capacity;
        let limit_bps =
            capacity_bps.map_or(self.encoding_bps(), |capacity_bps| share * capacity_bps);
        let lower = self.clip.highest_within(limit_bps).filter(|level| *level < self.level);
        match lower {
            Some(level) => self.level = level,
            None => self.thin(io, limit_bps),
        }
        self.set_rates();
        io.log(SessionEvent::Encoding { bps: self.encoding_bps(), level: self.level as i16 });
    }

    /// Leave out frames: the first detail that is below the limit, else all video.
    fn thin(&mut self, io: &mut Io, limit_bps: f64) {
        let audio_bps = self.clip.audio_bps();
        let fits = |detail: &&Detail| audio_bps + self.video_bps(**detail) < limit_bps;
        let detail = [Detail::HalfFrames, Detail::KeyFrames].iter().find(fits).copied();
        self.detail = detail.unwrap_or(Detail::AudioOnly);
        io.log(SessionEvent::Thinned);
        if self.detail == Detail::AudioOnly {
            io.log(SessionEvent::AudioOnly);
            io.log(SessionEvent::Phase(Phase::AudioOnly));
        } else {
            io.log(SessionEvent::Phase(Phase::Thinned));
        }
    }
}
