//! Pings at a steady interval: their round-trip time and loss are those that measurements on hosts
//! report (CCZ-S4).

use super::parameters::positive;
use crate::des::{
    ns, seconds, Agent, Datagram, End, FlowId, FlowSpec, Io, Label, Media, Phase, SessionEvent,
    Time,
};

const NEXT: u32 = 0;
const HEADER_BYTES: u32 = 28;

#[derive(Clone, Debug, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    pub interval_s: f64,
    /// IP bytes of request and answer.
    pub packet_bytes: u32,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { interval_s: 1.0, packet_bytes: 64 }
    }
}

#[derive(Debug)]
pub struct Ping {
    parameters: Parameters,
    flow: FlowId,
    sent_at: Vec<Time>,
}

impl Ping {
    pub fn new(parameters: Parameters) -> Result<Self, String> {
        positive("interval_s", parameters.interval_s)?;
        if !(HEADER_BYTES..=1500).contains(&parameters.packet_bytes) {
            return Err(format!(
                "packet_bytes must be from 28 to 1500, not {}",
                parameters.packet_bytes
            ));
        }
        Ok(Self { parameters, flow: 0, sent_at: Vec::new() })
    }
}

impl Agent for Ping {
    fn start(&mut self, io: &mut Io) {
        self.flow = io.open_udp(FlowSpec::new("ping", Media::Control, 7, 40_007));
        self.on_timer(io, NEXT);
    }

    fn on_timer(&mut self, io: &mut Io, _timer: u32) {
        let number = self.sent_at.len() as u64;
        self.sent_at.push(io.now());
        let payload = self.parameters.packet_bytes - HEADER_BYTES;
        io.send(self.flow, End::Client, payload, number, Label::of(Phase::Signalling));
        io.set_timer_in(NEXT, ns(self.parameters.interval_s));
    }

    fn on_datagram(&mut self, io: &mut Io, at: End, datagram: &Datagram) {
        if at == End::Server {
            io.send(
                self.flow,
                End::Server,
                datagram.payload_bytes,
                datagram.tag,
                Label::of(Phase::Signalling),
            );
        } else if let Some(sent) = self.sent_at.get(datagram.tag as usize) {
            let value = seconds(io.now() - *sent);
            io.log(SessionEvent::Fact { name: "rtt_s", value });
        }
    }

    fn on_stop(&mut self, io: &mut Io) {
        io.finish();
    }
}
