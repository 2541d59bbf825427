//! Where segments get what both directions put into a header.

use super::receiver::Receiver;
use super::{flag, Segment, TcpStatistics, Time, Timestamps};

/// One call's way out: what the sender sends carries the receiver's acknowledgement.
pub(super) struct Outbox<'a> {
    pub now: Time,
    pub receiver: &'a mut Receiver,
    pub statistics: &'a mut TcpStatistics,
    pub timestamps: bool,
    pub out: &'a mut Vec<Segment>,
}

impl Outbox<'_> {
    /// Sends `payload_bytes` from `sequence` on; ACK is set.
    pub fn send(&mut self, sequence: u64, payload_bytes: u32, flags: u8, retransmission: bool) {
        let mut segment = Segment {
            sequence,
            payload_bytes,
            flags: flags | flag::ACK,
            retransmission,
            ..Segment::default()
        };
        self.receiver.acknowledge(&mut segment);
        if self.timestamps {
            segment.timestamps = Some(Timestamps { value: self.now, echo: self.receiver.echo() });
        }
        segment.measure_header();
        self.statistics.segments_sent += 1;
        if retransmission {
            self.statistics.retransmissions += 1;
            self.statistics.retransmitted_bytes += u64::from(payload_bytes);
        }
        self.out.push(segment);
    }

    /// Sends a bare acknowledgement if one is due.
    pub fn acknowledge(&mut self, sequence: u64) {
        if self.receiver.wants_ack() {
            self.send(sequence, 0, 0, false);
        }
    }
}
