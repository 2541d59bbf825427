//! Cross traffic of queueing theory: packets at the times of a Poisson process, of one size or of
//! exponential sizes.

use rand_distr::{Distribution, Exp1};

use super::parameters::positive;
use crate::des::{ns, Agent, End, FlowId, FlowSpec, Io, Label, Media, Phase, SessionEvent, Time};

const NEXT: u32 = 0;
const HEADER_BYTES: u32 = 28;

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sizes {
    Constant,
    /// Exponential above the headers, to whole bytes.
    Exponential,
}

#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Mean IP bytes x 8 / s.
    pub rate_bps: f64,
    /// Mean IP bytes of a packet.
    pub packet_bytes: f64,
    pub sizes: Sizes,
    /// Length; none: until it is stopped.
    pub duration_s: Option<f64>,
}

#[derive(Debug)]
pub struct Poisson {
    parameters: Parameters,
    mean_gap_s: f64,
    flow: FlowId,
    ends: Option<Time>,
    sent: u64,
}

impl Poisson {
    pub fn new(parameters: Parameters) -> Result<Self, String> {
        positive("rate_bps", parameters.rate_bps)?;
        if !parameters.packet_bytes.is_finite()
            || parameters.packet_bytes <= f64::from(HEADER_BYTES)
        {
            return Err(format!(
                "packet_bytes must be above {HEADER_BYTES}, not {}",
                parameters.packet_bytes
            ));
        }
        let mean_gap_s = parameters.packet_bytes * 8.0 / parameters.rate_bps;
        Ok(Self { parameters, mean_gap_s, flow: 0, ends: None, sent: 0 })
    }

    fn payload_bytes(&self, io: &mut Io) -> u32 {
        let mean = self.parameters.packet_bytes - f64::from(HEADER_BYTES);
        match self.parameters.sizes {
            Sizes::Constant => mean.round() as u32,
            Sizes::Exponential => {
                let draw: f64 = Exp1.sample(io.rng());
                (mean * draw).round() as u32
            }
        }
    }

    fn wait(&self, io: &mut Io) {
        let draw: f64 = Exp1.sample(io.rng());
        io.set_timer_in(NEXT, ns(self.mean_gap_s * draw));
    }

    fn end(&self, io: &mut Io) {
        io.clear_timer(NEXT);
        io.log(SessionEvent::End);
        io.finish();
    }
}

impl Agent for Poisson {
    fn start(&mut self, io: &mut Io) {
        self.flow = io.open_udp(FlowSpec::new("poisson", Media::Unknown, 9, 40_009));
        self.ends = self.parameters.duration_s.map(|duration_s| io.now() + ns(duration_s));
        self.wait(io);
    }

    fn on_timer(&mut self, io: &mut Io, _timer: u32) {
        if self.ends.is_some_and(|end| io.now() >= end) {
            self.end(io);
            return;
        }
        let payload_bytes = self.payload_bytes(io);
        io.send(self.flow, End::Server, payload_bytes, self.sent, Label::of(Phase::Playout));
        self.sent += 1;
        self.wait(io);
    }

    fn on_stop(&mut self, io: &mut Io) {
        self.end(io);
    }
}
