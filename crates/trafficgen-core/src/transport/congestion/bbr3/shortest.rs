//! The shortest round trip: of ten seconds for the model, of five to know when to look again.

use super::Time;

const SECOND_NS: Time = 1_000_000_000;
const MODEL_NS: Time = 10 * SECOND_NS;
const PROBE_NS: Time = 5 * SECOND_NS;

#[derive(Clone, Copy, Debug, Default)]
struct Shortest {
    ns: Option<Time>,
    at: Time,
}

#[derive(Clone, Debug, Default)]
pub(super) struct ShortestRtt {
    model: Shortest,
    probe: Shortest,
}

impl ShortestRtt {
    pub fn start(&mut self, now: Time, rtt_ns: Option<Time>) {
        let first = Shortest { ns: rtt_ns, at: now };
        *self = Self { model: first, probe: first };
    }

    pub fn known_ns(&self) -> Option<Time> {
        self.model.ns
    }

    /// Takes a sample; whether the shortest has not been seen for so long that it must be sought.
    pub fn take(&mut self, now: Time, rtt_ns: Option<Time>) -> bool {
        let expired = now > self.probe.at + PROBE_NS;
        if let Some(rtt_ns) = rtt_ns {
            if expired || self.probe.ns.is_none_or(|shortest_ns| rtt_ns < shortest_ns) {
                self.probe = Shortest { ns: Some(rtt_ns), at: now };
            }
        }
        let shorter = self
            .model
            .ns
            .is_none_or(|known_ns| self.probe.ns.is_some_and(|shortest_ns| shortest_ns < known_ns));
        if shorter || now > self.model.at + MODEL_NS {
            self.model = self.probe;
        }
        expired
    }

    /// It was sought, and nothing shorter was found.
    pub fn renew(&mut self, now: Time) {
        self.probe.at = now;
    }
}
