//! The sending half: what is sent next, whether now, and in which packet.

use std::collections::VecDeque;

use super::super::congestion::{control, Control};
use super::super::pacing::Pacer;
use super::super::ranges::Ranges;
use super::super::rates::{DeliveryRates, Sums};
use super::super::receiver::NEVER;
use super::super::rto::RetransmissionTimeout;
use super::super::{TcpStatistics, Time};
use super::packet::{header_bytes, integer_bytes, Packet, StreamFrame};
use super::receiver::Receiver;
use super::streams::SendStreams;
use super::{QuicConfig, StreamId, CRYPTO};

/// A client's first packet is at least so long (RFC 9000 14.1).
const LEAST_INITIAL_BYTES: u32 = 1200;
/// RFC 9002 7.7.
const PACING_GAIN: f64 = 1.25;
/// What leaves at once where a window is paced: a millisecond of data, or so many packets.
const LEAST_BURST_PACKETS: u64 = 2;
const BURST_S: f64 = 0.001;
/// Less than this of a window is not filled by a packet of its own.
const LEAST_FILL_BYTES: u64 = 48;
/// Packets without a wish to be acknowledged before one has it, so that what was acknowledged can
/// be forgotten (RFC 9000 13.2.4).
const MOST_ACKS_IN_ROW: u32 = 20;
const PING_BYTES: u32 = 1;
/// Type, error code, type of the frame at fault, length of the reason (RFC 9000 19.19).
const CLOSE_BYTES: u32 = 4;

/// A packet that was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub number: u64,
    pub at: Time,
    /// Offset of its first byte among all bytes that were sent and count.
    pub start: u64,
    pub bytes: u32,
    pub frames: [StreamFrame; Packet::MOST_FRAMES],
    pub frame_count: u8,
    /// Whether it wants to be acknowledged: only such packets count.
    pub is_eliciting: bool,
    /// It was acknowledged, or wants nothing.
    pub is_settled: bool,
    pub raises_limit: bool,
    /// The largest number that it acknowledged.
    pub acknowledged: Option<u64>,
}

impl Sent {
    pub fn end(&self) -> u64 {
        self.start + u64::from(self.bytes)
    }

    pub fn frames(&self) -> &[StreamFrame] {
        &self.frames[..usize::from(self.frame_count)]
    }
}

#[derive(Debug)]
pub(super) struct Sender {
    pub streams: SendStreams,
    pub(super) next_number: u64,
    /// Packets from the first that is neither acknowledged nor lost.
    pub(super) sent: VecDeque<Sent>,
    /// Numbers of those that are acknowledged.
    pub(super) arrived: Ranges,
    pub(super) largest_acknowledged: Option<u64>,
    /// Bytes of all packets that count: the next one starts here.
    pub(super) nxt: u64,
    pub(super) in_flight_bytes: u64,
    pub(super) lost_ever_bytes: u64,
    pub(super) lost_below: u64,
    /// Where the first packet began that was under way when the control heard last.
    pub(super) told_una: u64,
    /// Packets sent until then belong to a loss that was answered.
    pub(super) recovery_start: Time,
    pub(super) recovery_end: u64,
    /// Packets that came with a mark, as far as is known.
    pub(super) marked: u32,
    /// Since when all packets are lost.
    pub(super) lost_since: Option<Time>,
    pub(super) latest_rtt_ns: Time,
    pub(super) minimum_rtt_ns: Time,
    pub(super) rto: RetransmissionTimeout,
    pub(super) timeouts_in_row: u32,
    pub(super) loss_timer: Time,
    pub(super) last_eliciting_at: Time,
    pub(super) congestion: Box<dyn Control>,
    pub(super) rates: Option<Box<DeliveryRates>>,
    pub(super) pacer: Pacer,
    pub(super) window_limited: bool,
    pub(super) limited_at: u64,
    pub(super) datagram_bytes: u64,
    pub(super) most_ack_delay_ns: Time,
    /// Data may be sent.
    is_open: bool,
    /// Packets of the handshake have long headers.
    is_shaking: bool,
    /// Packets that may leave whatever the window.
    probes: u32,
    acks_in_row: u32,
    credit_bytes: u64,
    buffer_bytes: u64,
    fills_window: bool,
}

impl Sender {
    pub fn new(config: &QuicConfig) -> Self {
        let shared = config.shared();
        let datagram_bytes = u64::from(config.datagram_bytes);
        let congestion = control(&shared, datagram_bytes);
        Self {
            streams: SendStreams::default(),
            next_number: 0,
            sent: VecDeque::new(),
            arrived: Ranges::default(),
            largest_acknowledged: None,
            nxt: 0,
            in_flight_bytes: 0,
            lost_ever_bytes: 0,
            lost_below: 0,
            told_una: 0,
            recovery_start: Time::MIN,
            recovery_end: 0,
            marked: 0,
            lost_since: None,
            latest_rtt_ns: 0,
            minimum_rtt_ns: Time::MAX,
            rto: RetransmissionTimeout::new(&shared),
            timeouts_in_row: 0,
            loss_timer: NEVER,
            last_eliciting_at: 0,
            rates: congestion.goes_by_samples().then(Box::default),
            congestion,
            pacer: Pacer::default(),
            window_limited: false,
            limited_at: 0,
            datagram_bytes,
            most_ack_delay_ns: config.most_ack_delay_ns(),
            is_open: false,
            is_shaking: true,
            probes: 0,
            acks_in_row: 0,
            credit_bytes: config.receive_buffer_bytes,
            buffer_bytes: config.send_buffer_bytes,
            fills_window: config.fills_window,
        }
    }

    /// Data may be sent from now on.
    pub fn open(&mut self) {
        self.is_open = true;
    }

    /// Packets have short headers from now on.
    pub fn end_handshake(&mut self) {
        self.is_shaking = false;
    }

    /// The other end takes so much in all.
    pub fn raise_credit(&mut self, most_data: u64) {
        self.credit_bytes = self.credit_bytes.max(most_data);
    }

    /// Accepts what fits of `bytes` into the buffer.
    pub fn write(&mut self, stream: StreamId, bytes: u64) -> u64 {
        self.note_shortage();
        let accepted = bytes.min(self.space_bytes());
        self.streams.write(stream, accepted);
        accepted
    }

    pub fn write_handshake(&mut self, bytes: u32) {
        self.streams.write(CRYPTO, u64::from(bytes));
    }

    pub fn space_bytes(&self) -> u64 {
        self.buffer_bytes.saturating_sub(self.streams.outstanding_bytes())
    }

    /// Where the first packet begins that is neither acknowledged nor lost.
    pub fn una(&self) -> u64 {
        self.sent.front().map_or(self.nxt, |sent| sent.start)
    }

    pub fn timer(&self) -> Time {
        let probe = if self.loss_timer == NEVER && self.in_flight_bytes > 0 {
            self.last_eliciting_at + self.probe_timeout_ns()
        } else {
            self.loss_timer
        };
        probe.min(self.pacer.timer())
    }

    pub fn window_bytes(&self) -> u64 {
        self.congestion.window_bytes().max(2 * self.datagram_bytes) // RFC 9002 7.2
    }

    /// The next packets may leave whatever the window.
    pub fn probe(&mut self, packets: u32) {
        self.probes = packets;
    }

    /// The application is about to write while all else has left and the window has room.
    fn note_shortage(&mut self) {
        let is_short = self.streams.waiting_bytes() < self.datagram_bytes
            && self.in_flight_bytes < self.window_bytes();
        if let Some(rates) = self.rates.as_deref_mut().filter(|_| is_short) {
            rates.note_shortage(self.in_flight_bytes);
        }
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.congestion.pacing_rate().or_else(|| {
            let smoothed_ns = self.rto.smoothed_ns();
            let rate = self.window_bytes() as f64 * 1e9 / smoothed_ns as f64;
            (smoothed_ns > 0).then_some(PACING_GAIN * rate)
        })
    }

    fn is_let_go(&mut self, now: Time) -> bool {
        if self.congestion.pacing_rate().is_some() {
            return self.pacer.lets_go(now, self.congestion.as_ref());
        }
        let Some(rate) = self.pacing_rate() else { return true };
        let least_bytes = LEAST_BURST_PACKETS * self.datagram_bytes;
        self.pacer.lets_burst_go(now, || least_bytes.max((rate * BURST_S) as u64))
    }

    /// Sends all that windows and data allow, and an acknowledgement if none of it carried one that
    /// is due.
    pub fn transmit(
        &mut self,
        now: Time,
        receiver: &mut Receiver,
        statistics: &mut TcpStatistics,
        out: &mut Vec<Packet>,
    ) {
        self.pacer.start();
        let mut limited = false;
        while self.streams.waiting_bytes() > 0 || self.probes > 0 || receiver.wants_to_raise() {
            let mut room = self.datagram_bytes;
            if self.probes == 0 {
                let left = self.window_bytes().saturating_sub(self.in_flight_bytes);
                let wanted = room
                    .min(u64::from(header_bytes(self.is_shaking)) + self.streams.waiting_bytes());
                if wanted > left && self.fills_window && left >= LEAST_FILL_BYTES {
                    room = left;
                } else if wanted > left {
                    limited = true;
                    break;
                }
                if !self.is_let_go(now) {
                    limited = true; // RFC 9002 7.8: pacing is no shortage of data
                    break;
                }
            }
            let Some(packet) = self.next_packet(now, room as u32, receiver) else {
                limited |= room < self.datagram_bytes;
                break;
            };
            self.probes = self.probes.saturating_sub(1);
            self.send(now, packet, receiver, statistics, out);
        }
        self.probes = 0;
        if limited {
            self.window_limited = true;
            self.limited_at = self.nxt;
        }
        if receiver.wants_ack() {
            let mut packet = self.begin(now, receiver);
            self.acks_in_row += 1;
            if self.acks_in_row >= MOST_ACKS_IN_ROW {
                packet.bytes += PING_BYTES;
                packet.is_eliciting = true;
            }
            self.send(now, packet, receiver, statistics, out);
        }
    }

    /// A packet with an acknowledgement if there is one to give.
    fn begin(&self, now: Time, receiver: &Receiver) -> Packet {
        let ack = receiver.ack(now);
        let bytes = header_bytes(self.is_shaking) + ack.map_or(0, |ack| ack.wire_bytes());
        Packet { number: self.next_number, ack, bytes, ..Packet::default() }
    }

    /// The next packet of up to `room` bytes that carries more than an acknowledgement.
    fn next_packet(&mut self, now: Time, room: u32, receiver: &mut Receiver) -> Option<Packet> {
        let credit = if self.is_open {
            self.credit_bytes.saturating_sub(self.streams.sent_bytes())
        } else {
            0
        };
        let mut packet = self.begin(now, receiver);
        packet.is_eliciting = true;
        if receiver.wants_to_raise() {
            packet.most_data = receiver.raise();
            packet.bytes += 1 + integer_bytes(packet.most_data);
        }
        let left = |packet: &Packet| u64::from(room.saturating_sub(packet.bytes));
        let first = self.streams.next_frame(left(&packet), credit);
        if first.is_none() && self.probes == 0 && packet.most_data == 0 {
            return None;
        }
        if let Some(frame) = first {
            packet.add(frame);
            let credit = credit.saturating_sub(u64::from(frame.bytes));
            if let Some(second) = self.streams.next_frame(left(&packet), credit) {
                packet.add(second);
            }
        } else if packet.most_data == 0 {
            // A probe repeats what is outstanding, or else is a PING (RFC 9002 6.2.4).
            match self.sent.iter().find(|sent| !sent.is_settled && sent.frame_count > 0) {
                Some(oldest) => {
                    packet.ack = None; // there may be no room for both
                    packet.bytes = header_bytes(self.is_shaking);
                    let frames = oldest.frames().iter();
                    frames.for_each(|frame| packet.add(StreamFrame { again: true, ..*frame }));
                }
                None => packet.bytes += PING_BYTES,
            }
        }
        if packet.number == 0 && packet.frames().iter().any(StreamFrame::is_crypto) {
            packet.bytes = packet.bytes.max(LEAST_INITIAL_BYTES);
        }
        Some(packet)
    }

    /// Sends the last packet of this end.
    pub fn send_close(
        &mut self,
        now: Time,
        receiver: &mut Receiver,
        statistics: &mut TcpStatistics,
        out: &mut Vec<Packet>,
    ) {
        let mut packet = self.begin(now, receiver);
        packet.bytes += CLOSE_BYTES;
        packet.closes = true;
        self.send(now, packet, receiver, statistics, out);
    }

    fn send(
        &mut self,
        now: Time,
        packet: Packet,
        receiver: &mut Receiver,
        statistics: &mut TcpStatistics,
        out: &mut Vec<Packet>,
    ) {
        if packet.ack.is_some() {
            receiver.note_acknowledged();
        }
        self.next_number += 1;
        statistics.segments_sent += 1;
        let again = packet.frames().iter().filter(|frame| frame.again);
        let again_bytes: u64 = again.map(|frame| u64::from(frame.bytes)).sum();
        statistics.retransmissions += u64::from(again_bytes > 0);
        statistics.retransmitted_bytes += again_bytes;
        let bytes = if packet.is_eliciting { packet.bytes } else { 0 };
        if packet.is_eliciting {
            self.acks_in_row = 0;
            self.note_departure(now, u64::from(bytes));
            self.last_eliciting_at = now;
        }
        if packet.is_eliciting || !self.sent.is_empty() {
            let mut frames = [StreamFrame::default(); Packet::MOST_FRAMES];
            frames[..packet.frames().len()].copy_from_slice(packet.frames());
            self.sent.push_back(Sent {
                number: packet.number,
                at: now,
                start: self.nxt,
                bytes,
                frames,
                frame_count: packet.frames().len() as u8,
                is_eliciting: packet.is_eliciting,
                is_settled: !packet.is_eliciting,
                raises_limit: packet.most_data > 0,
                acknowledged: packet.ack.map(|ack| ack.largest),
            });
        }
        self.nxt += u64::from(bytes);
        self.in_flight_bytes += u64::from(bytes);
        out.push(packet);
    }

    /// Notes that a packet of `bytes` leaves now, for pacing and for samples of the rate.
    fn note_departure(&mut self, now: Time, bytes: u64) {
        if let Some(rates) = &mut self.rates {
            let starts = self.in_flight_bytes == 0;
            if starts {
                self.congestion.on_start_after_idle(now, rates.is_application_limited());
            }
            let sums = Sums {
                flight_bytes: self.in_flight_bytes + bytes,
                lost_ever_bytes: self.lost_ever_bytes,
            };
            rates.note_sent(now, (self.nxt, self.nxt + bytes), starts, sums);
        }
        if let Some(rate) = self.pacing_rate() {
            self.pacer.note_departure(now, bytes, rate);
        }
    }

    pub fn report(&self, statistics: &mut TcpStatistics) {
        statistics.srtt_ns = self.rto.smoothed_ns();
        statistics.rto_ns = self.probe_timeout_ns();
        statistics.cwnd_bytes = self.window_bytes();
        statistics.ssthresh_bytes = self.congestion.threshold_bytes();
        statistics.acknowledged_bytes = self.streams.acknowledged_bytes();
        statistics.pipe_bytes = self.in_flight_bytes;
    }
}
