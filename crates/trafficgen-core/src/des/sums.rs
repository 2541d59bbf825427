//! Sums over the packets of each flow, where the packets themselves would need too much room.

use super::agent::{End, FlowId};
use super::packet::Packet;
use super::record::{Row, LOST};
use super::time::{seconds, Time, INTERVAL_NS};

/// Sums over the packets of a flow in one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(64))] // one line of the processor's caches, which many flows do not fit into
pub struct Sums {
    pub sent_packets: u64,
    /// IP bytes, here and below.
    pub sent_bytes: u64,
    pub arrived_packets: u64,
    pub arrived_bytes: u64,
    pub dropped_packets: u64,
    /// Packets sent that repeat data.
    pub retransmissions: u64,
    /// One-way delays of those that arrived, s.
    pub delay_s: f64,
    /// [`LOST`] where none arrived.
    pub last_arrival_ns: Time,
}

impl Default for Sums {
    fn default() -> Self {
        Self {
            sent_packets: 0,
            sent_bytes: 0,
            arrived_packets: 0,
            arrived_bytes: 0,
            dropped_packets: 0,
            retransmissions: 0,
            delay_s: 0.0,
            last_arrival_ns: LOST,
        }
    }
}

impl Sums {
    fn arrive(&mut self, bytes: u32, sent_ns: Time, at: Time) {
        self.arrived_packets += 1;
        self.arrived_bytes += u64::from(bytes);
        self.delay_s += seconds(at - sent_ns);
        self.last_arrival_ns = self.last_arrival_ns.max(at);
    }
}

/// IP bytes that arrive in each [`INTERVAL_NS`], of several series.
#[derive(Clone, Debug, Default)]
pub struct ByteSeries {
    /// Bytes of each interval from the simulation's zero to the last arrival, by series.
    pub bytes: Vec<Vec<u64>>,
}

impl ByteSeries {
    /// Count a packet; one before the simulation's zero is left out.
    pub fn add(&mut self, series: u32, at: Time, ip_bytes: u32) {
        let Ok(place) = usize::try_from(at.div_euclid(INTERVAL_NS)) else { return };
        let series = series as usize;
        if series >= self.bytes.len() {
            self.bytes.resize(series + 1, Vec::new());
        }
        let bytes = &mut self.bytes[series];
        if place >= bytes.len() {
            bytes.resize(place + 1, 0);
        }
        bytes[place] += u64::from(ip_bytes);
    }
}

/// Sums of all flows, to the client and to the server.
#[derive(Clone, Debug, Default)]
pub struct FlowSums {
    flows: Vec<[Sums; 2]>,
}

impl FlowSums {
    /// Sums over a record of packets.
    pub fn from_rows(rows: &[Row]) -> Self {
        let mut sums = Self::default();
        for row in rows {
            let one = sums.of(row.flow, row.to_client);
            one.sent_packets += 1;
            one.sent_bytes += u64::from(row.ip_bytes);
            one.retransmissions += u64::from(row.retransmission);
            one.dropped_packets += u64::from(row.drop.is_some());
            if row.arrival_ns != LOST {
                one.arrive(row.ip_bytes, row.time_ns, row.arrival_ns);
            }
        }
        sums
    }

    /// Those of a flow; zeros of one that sent nothing.
    pub fn get(&self, flow: FlowId) -> [Sums; 2] {
        self.flows.get(flow as usize).copied().unwrap_or_default()
    }

    pub fn sent(&mut self, flow: FlowId, from: End, ip_bytes: u32, retransmission: bool) {
        let one = self.of(flow, from == End::Server);
        one.sent_packets += 1;
        one.sent_bytes += u64::from(ip_bytes);
        one.retransmissions += u64::from(retransmission);
    }

    pub fn arrived(&mut self, packet: &Packet, at: Time) {
        let one = self.of(packet.flow, packet.from == End::Server);
        one.arrive(packet.ip_bytes, packet.sent_ns, at);
    }

    pub fn dropped(&mut self, packet: &Packet) {
        self.of(packet.flow, packet.from == End::Server).dropped_packets += 1;
    }

    fn of(&mut self, flow: FlowId, to_client: bool) -> &mut Sums {
        let flow = flow as usize;
        if flow >= self.flows.len() {
            self.flows.resize(flow + 1, Default::default());
        }
        &mut self.flows[flow][usize::from(!to_client)]
    }
}
