//! The record of all packets: a row when it is sent, completed when it arrives or is dropped.

use super::agent::{End, FlowId};
use super::label::{Label, Phase, Rtp};
use super::link::Drop;
use super::packet::Packet;
use super::sums::FlowSums;
use super::time::Time;

/// Arrival of a packet that did not arrive.
pub const LOST: Time = i64::MIN;

/// More packets than this are not simulated: a mistyped rate or time would else fill the memory of
/// the machine.
pub const MOST_PACKETS: usize = 50_000_000;

/// Room that is asked for early, so that one event does not meet the end of it.
const SPARE_ROWS: usize = 1 << 16;

/// TCP header fields, as on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpHeader {
    pub sequence: u32,
    pub acknowledgement: u32,
    pub window_bytes: u32,
    pub flags: u8,
}

#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub time_ns: Time,
    /// [`LOST`] where it was dropped or is still under way.
    pub arrival_ns: Time,
    /// Sum of the waits in all queues, ns.
    pub queueing_ns: Time,
    pub flow: FlowId,
    pub ip_bytes: u32,
    pub payload_bytes: u32,
    pub to_client: bool,
    pub phase: Phase,
    pub level: i16,
    pub retransmission: bool,
    pub rtp: Option<Rtp>,
    pub tcp: Option<TcpHeader>,
    pub drop: Option<Drop>,
    /// Link that dropped it.
    pub link: u16,
}

/// What is kept of the packets.
#[derive(Debug)]
pub struct Record {
    pub rows: Vec<Row>,
    /// In place of rows.
    pub sums: Option<FlowSums>,
    most_packets: usize,
}

impl Default for Record {
    fn default() -> Self {
        Self::up_to(MOST_PACKETS)
    }
}

impl Record {
    pub fn up_to(most_packets: usize) -> Self {
        Self { rows: Vec::new(), sums: None, most_packets }
    }

    /// A record that keeps sums over each flow, and no row; so many packets may be under way.
    pub fn of_sums(most_packets: usize) -> Self {
        Self { sums: Some(FlowSums::default()), ..Self::up_to(most_packets) }
    }

    /// Whether there is room for the packets of the next event next to those under way.
    pub fn has_room(&mut self, under_way: usize) -> bool {
        if self.sums.is_some() {
            return under_way < self.most_packets;
        }
        let rows = self.rows.len();
        let spare = self.rows.capacity() - rows >= SPARE_ROWS;
        rows < self.most_packets && (spare || self.rows.try_reserve(SPARE_ROWS).is_ok())
    }

    pub fn sent(
        &mut self,
        time: Time,
        flow: FlowId,
        from: End,
        bytes: (u32, u32),
        label: Label,
        tcp: Option<TcpHeader>,
    ) -> u32 {
        if let Some(sums) = &mut self.sums {
            sums.sent(flow, from, bytes.0, label.retransmission);
            return 0;
        }
        self.rows.push(Row {
            time_ns: time,
            arrival_ns: LOST,
            queueing_ns: 0,
            flow,
            ip_bytes: bytes.0,
            payload_bytes: bytes.1,
            to_client: from == End::Server,
            phase: label.phase,
            level: label.level,
            retransmission: label.retransmission,
            rtp: label.rtp,
            tcp,
            drop: None,
            link: 0,
        });
        (self.rows.len() - 1) as u32
    }

    pub fn waited(&mut self, row: u32, queueing_ns: Time) {
        if let Some(row) = self.rows.get_mut(row as usize) {
            row.queueing_ns += queueing_ns;
        }
    }

    pub fn arrived(&mut self, packet: &Packet, at: Time) {
        match &mut self.sums {
            Some(sums) => sums.arrived(packet, at),
            None => self.rows[packet.row as usize].arrival_ns = at,
        }
    }

    pub fn dropped(&mut self, packet: &Packet, link: u16, reason: Drop) {
        if let Some(sums) = &mut self.sums {
            sums.dropped(packet);
            return;
        }
        let row = &mut self.rows[packet.row as usize];
        row.drop = Some(reason);
        row.link = link;
    }
}
