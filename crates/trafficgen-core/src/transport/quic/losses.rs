//! What an acknowledgement and a timer tell: arrivals, losses, round-trip times (RFC 9002).

use super::super::congestion::{Acknowledged, Repair};
use super::super::feedback::{Position, Progress};
use super::super::receiver::NEVER;
use super::super::{TcpStatistics, Time};
use super::packet::Ack;
use super::receiver::Receiver;
use super::sender::{Sender, Sent};

/// Packets above one that have arrived before it counts as lost (RFC 9002 6.1.1).
const PACKET_THRESHOLD: u64 = 3;
const GRANULARITY_NS: Time = 1_000_000;
/// Probe timeouts whose length the lost packets of persistent congestion span (RFC 9002 7.6.1).
const PERSISTENT_TIMEOUTS: Time = 3;
/// Probe timeouts without an answer after which a connection is given up, as of TCP.
const MOST_TIMEOUTS: u32 = 15;
/// RFC 9002 6.2.4.
const PROBE_PACKETS: u32 = 2;

impl Sender {
    /// Takes an acknowledgement.
    pub fn acknowledge(
        &mut self,
        now: Time,
        ack: &Ack,
        receiver: &mut Receiver,
        statistics: &mut TcpStatistics,
    ) {
        if ack.largest >= self.next_number {
            return;
        }
        let prior = self.progress();
        let is_first = self.latest_rtt_ns == 0;
        let left_at = self.sent_of(ack.largest).map_or(Time::MIN, |sent| sent.at);
        let rtt_ns = self.sample_rtt(now, ack);
        if is_first && rtt_ns.is_some() {
            self.congestion.on_open(now, rtt_ns);
        }
        let flight_bytes = self.in_flight_bytes;
        let mut is_news = false;
        for (low, high) in ack.ranges() {
            let lowest = self.sent.front().map_or(self.next_number, |sent| sent.number);
            let mut from = low.max(lowest);
            while let Some((start, end)) = self.arrived.gap(from, high) {
                for number in start..end {
                    is_news |= self.note_arrival(now, number, flight_bytes, rtt_ns, receiver);
                }
                self.arrived.insert(start, end);
                from = end;
            }
        }
        self.largest_acknowledged =
            Some(self.largest_acknowledged.map_or(ack.largest, |largest| largest.max(ack.largest)));
        if !is_news {
            return;
        }
        self.timeouts_in_row = 0;
        self.rto.reset();
        self.find_losses(now, receiver, statistics);
        self.answer_marks(now, ack, left_at, flight_bytes);
        if self.una() >= self.limited_at && self.window_limited {
            self.window_limited = self.una() == self.limited_at;
        }
        self.tell(now, prior);
    }

    /// The round trip of the largest number, where it is new (RFC 9002 5.1), without what the other
    /// end held it back (5.3).
    fn sample_rtt(&mut self, now: Time, ack: &Ack) -> Option<Time> {
        if self.largest_acknowledged.is_some_and(|largest| largest >= ack.largest) {
            return None;
        }
        let sent = self.sent_of(ack.largest).filter(|sent| !sent.is_settled)?;
        let latest_ns = (now - sent.at).max(1);
        self.minimum_rtt_ns = self.minimum_rtt_ns.min(latest_ns);
        self.latest_rtt_ns = latest_ns;
        let delay_ns = Time::from(ack.delay_ns).min(self.most_ack_delay_ns);
        let is_plausible = latest_ns >= self.minimum_rtt_ns + delay_ns;
        self.rto.sample(if is_plausible { latest_ns - delay_ns } else { latest_ns });
        Some(latest_ns)
    }

    fn place_of(&self, number: u64) -> Option<usize> {
        let first = self.sent.front()?.number;
        number.checked_sub(first).map(|place| place as usize)
    }

    fn sent_of(&self, number: u64) -> Option<&Sent> {
        self.sent.get(self.place_of(number)?)
    }

    /// A packet has arrived; false where that was known, or it wanted no acknowledgement.
    fn note_arrival(
        &mut self,
        now: Time,
        number: u64,
        flight_bytes: u64,
        rtt_ns: Option<Time>,
        receiver: &mut Receiver,
    ) -> bool {
        let Some(place) = self.place_of(number) else { return false };
        let Some(sent) = self.sent.get_mut(place) else { return false };
        if let Some(known) = sent.acknowledged {
            receiver.forget_below(known);
        }
        if std::mem::replace(&mut sent.is_settled, true) {
            return false;
        }
        let sent = *sent;
        self.in_flight_bytes -= u64::from(sent.bytes);
        sent.frames().iter().for_each(|frame| self.streams.note_arrival(frame));
        match &mut self.rates {
            Some(rates) => rates.note_arrival(now, sent.start, sent.end()),
            None => self.grow(now, &sent, flight_bytes, rtt_ns),
        }
        true
    }

    /// Lets the window grow, as far as it was used (RFC 9002 7.8) and not in recovery (7.3.2).
    fn grow(&mut self, now: Time, sent: &Sent, flight_bytes: u64, rtt_ns: Option<Time>) {
        if sent.at <= self.recovery_start {
            return;
        }
        let in_use =
            self.congestion.in_slow_start() && self.congestion.window_bytes() < 2 * flight_bytes;
        self.congestion.on_ack(&Acknowledged {
            now,
            bytes: f64::from(sent.bytes),
            una: sent.end(),
            nxt: self.nxt,
            rtt_ns,
            smoothed_rtt_ns: self.rto.smoothed_ns(),
            shortest_rtt_ns: self.minimum_rtt_ns.min(self.rto.smoothed_ns().max(1)),
            in_use: self.window_limited || in_use,
            after_timeout: false,
        });
    }

    /// Finds the packets that are lost: what was sent well before one that has arrived.
    fn find_losses(&mut self, now: Time, receiver: &mut Receiver, statistics: &mut TcpStatistics) {
        self.loss_timer = NEVER;
        let Some(largest) = self.largest_acknowledged else { return };
        let rtt_ns = self.rto.smoothed_ns().max(self.latest_rtt_ns);
        let delay_ns = (rtt_ns * 9 / 8).max(GRANULARITY_NS);
        let flight_bytes = self.in_flight_bytes;
        let mut newest_lost = None;
        let mut is_persistent = false;
        while let Some(sent) = self.sent.front().copied() {
            if sent.is_settled {
                if sent.is_eliciting {
                    self.lost_since = None;
                }
                self.sent.pop_front();
                continue;
            }
            if sent.number > largest {
                break;
            }
            if sent.number + PACKET_THRESHOLD > largest && sent.at + delay_ns > now {
                self.loss_timer = sent.at + delay_ns;
                break;
            }
            self.sent.pop_front();
            self.lose(&sent, receiver);
            newest_lost = Some(sent.at);
            let since = *self.lost_since.get_or_insert(sent.at);
            is_persistent |= sent.at - since >= self.persistent_ns();
        }
        self.arrived.remove_below(self.sent.front().map_or(self.next_number, |sent| sent.number));
        let Some(newest_at) = newest_lost else { return };
        if newest_at > self.recovery_start {
            self.recovery_start = now;
            self.recovery_end = self.nxt;
            statistics.fast_retransmits += 1;
            self.congestion.on_loss(flight_bytes);
        }
        if is_persistent {
            self.lost_since = None;
            self.congestion.on_timeout(flight_bytes, true);
        }
    }

    /// More packets were marked: the window is reduced as for a loss, once a round trip (RFC 9002
    /// 7.1): the largest number acknowledged must have left at `left_at` after the last answer.
    /// A control that goes by samples does not.
    fn answer_marks(&mut self, now: Time, ack: &Ack, left_at: Time, flight_bytes: u64) {
        let is_more = ack.marked > self.marked;
        self.marked = self.marked.max(ack.marked);
        if is_more && left_at > self.recovery_start && self.rates.is_none() {
            self.recovery_start = now;
            self.recovery_end = self.nxt;
            self.congestion.on_loss(flight_bytes);
        }
    }

    fn lose(&mut self, sent: &Sent, receiver: &mut Receiver) {
        self.in_flight_bytes -= u64::from(sent.bytes);
        self.lost_ever_bytes += u64::from(sent.bytes);
        self.lost_below = sent.end();
        sent.frames().iter().for_each(|frame| self.streams.note_loss(frame));
        if sent.raises_limit {
            receiver.raise_again();
        }
    }

    fn persistent_ns(&self) -> Time {
        PERSISTENT_TIMEOUTS * self.rto.base_beyond_ns(self.most_ack_delay_ns)
    }

    pub fn probe_timeout_ns(&self) -> Time {
        self.rto.timeout_beyond_ns(self.most_ack_delay_ns)
    }

    /// Acts when a timer has come; false where the connection is given up.
    pub fn on_timer(
        &mut self,
        now: Time,
        receiver: &mut Receiver,
        statistics: &mut TcpStatistics,
    ) -> bool {
        if now >= self.loss_timer {
            let prior = self.progress();
            self.find_losses(now, receiver, statistics);
            self.tell(now, prior);
        } else if self.loss_timer == NEVER
            && self.in_flight_bytes > 0
            && now >= self.last_eliciting_at + self.probe_timeout_ns()
        {
            statistics.timeouts += 1;
            self.timeouts_in_row += 1;
            self.rto.back_off();
            self.probe(PROBE_PACKETS);
        }
        self.timeouts_in_row <= MOST_TIMEOUTS
    }

    /// What an acknowledgement is compared with, where the control goes by samples.
    fn progress(&self) -> Option<Progress> {
        let rates = self.rates.as_deref().filter(|_| self.in_flight_bytes > 0)?;
        Some(Progress {
            flight_bytes: self.in_flight_bytes,
            delivered_bytes: rates.delivered_bytes(),
            lost_ever_bytes: self.lost_ever_bytes,
            lost_below: self.lost_below,
        })
    }

    /// Tells the control what has changed since `prior`.
    fn tell(&mut self, now: Time, prior: Option<Progress>) {
        let una = self.una();
        let told_una = std::mem::replace(&mut self.told_una, una);
        let Some(prior) = prior else { return };
        let position = Position {
            now,
            una: told_una, // what is lost since then is still known

            flight_bytes: self.in_flight_bytes,
            lost_ever_bytes: self.lost_ever_bytes,
            lost_below: self.lost_below,
            departs_in_ns: self.pacer.departs_in_ns(now),
            smoothed_rtt_ns: self.rto.smoothed_ns(),
            mss: self.datagram_bytes,
            window_limited: self.window_limited,
            repair: if una < self.recovery_end { Repair::Recovery } else { Repair::None },
        };
        if let Some(rates) = self.rates.as_deref_mut() {
            position.tell(self.congestion.as_mut(), rates, &prior);
        }
    }
}
