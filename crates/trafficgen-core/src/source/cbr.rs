//! The fire hose: packets of one size at one rate, whatever the path does.

use super::parameters::positive;
use crate::des::{
    ns, Agent, FlowSpec, Io, Label, Media, Phase, Rtp, RtpSpec, Sample, SessionEvent, Time,
};
use crate::des::{End, FlowId};

const NEXT: u32 = 0;
/// IPv4, UDP and RTP headers.
const HEADER_BYTES: u32 = 40;
const UDP_AND_IP_BYTES: u32 = 28;
const CLOCK_HZ: u32 = 90_000;

#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// IP bytes x 8 / s.
    pub rate_bps: f64,
    /// IP bytes of a packet.
    pub packet_bytes: u32,
    /// Length; none: until it is stopped.
    pub duration_s: Option<f64>,
}

#[derive(Debug)]
pub struct Cbr {
    parameters: Parameters,
    flow: FlowId,
    first: Time,
    sent: u64,
}

impl Cbr {
    pub fn new(parameters: Parameters) -> Result<Self, String> {
        positive("rate_bps", parameters.rate_bps)?;
        if !(HEADER_BYTES + 1..=65_535).contains(&parameters.packet_bytes) {
            return Err(format!(
                "packet_bytes must be from 41 to 65535, not {}",
                parameters.packet_bytes
            ));
        }
        if let Some(duration_s) = parameters.duration_s {
            positive("duration_s", duration_s)?;
        }
        Ok(Self { parameters, flow: 0, first: 0, sent: 0 })
    }

    fn due(&self) -> Time {
        let bits = 8.0 * f64::from(self.parameters.packet_bytes) * self.sent as f64;
        self.first + ns(bits / self.parameters.rate_bps)
    }

    fn payload_bps(&self) -> f64 {
        let share = f64::from(self.parameters.packet_bytes - HEADER_BYTES)
            / f64::from(self.parameters.packet_bytes);
        self.parameters.rate_bps * share
    }

    fn end(&self, io: &mut Io) {
        io.log(SessionEvent::End);
        io.finish();
    }
}

impl Agent for Cbr {
    fn start(&mut self, io: &mut Io) {
        let rtp = Some(RtpSpec { ssrc: 1, payload_type: 96, clock_hz: CLOCK_HZ });
        self.flow =
            io.open_udp(FlowSpec { rtp, ..FlowSpec::new("media", Media::Video, 5004, 40_000) });
        self.first = io.now();
        io.log(SessionEvent::Phase(Phase::Playout));
        io.log(SessionEvent::Encoding { bps: self.payload_bps(), level: 0 });
        self.on_timer(io, NEXT);
    }

    fn on_timer(&mut self, io: &mut Io, _timer: u32) {
        let elapsed = io.now() - self.first;
        if self.parameters.duration_s.is_some_and(|duration_s| elapsed >= ns(duration_s)) {
            self.end(io);
            return;
        }
        let ticks = (crate::des::seconds(elapsed) * f64::from(CLOCK_HZ)).round() as u64;
        let rtp = Rtp { sequence: self.sent as u16, timestamp: ticks as u32, marker: true };
        let label = Label { level: 0, rtp: Some(rtp), ..Label::of(Phase::Playout) };
        io.send(
            self.flow,
            End::Server,
            self.parameters.packet_bytes - UDP_AND_IP_BYTES,
            self.sent,
            label,
        );
        self.sent += 1;
        io.set_timer(NEXT, self.due());
    }

    fn on_stop(&mut self, io: &mut Io) {
        io.clear_timer(NEXT);
        self.end(io);
    }

    fn sample(&self, _now: Time) -> Sample {
        Sample { encoding_bps: self.payload_bps(), ..Sample::NONE }
    }
}
