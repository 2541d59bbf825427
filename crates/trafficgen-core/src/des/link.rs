//! A link: random loss, then a queue, then the line, then propagation.

use std::collections::VecDeque;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::capacity::{Capacity, CapacityConfig};
use super::loss::{Loss, LossConfig};
use super::packet::{Ecn, Packet, PacketId};
use super::queue::{AqmConfig, Discipline, Moment, Waiting};
use super::radio::{Radio, RadioConfig};
use super::time::{ns, seconds, Time};
use super::waits::Waits;

/// What a queue holds at most; the packet on the line counts.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum QueueLimit {
    Packets(u64),
    Bytes(u64),
}

/// Packets that are overtaken: a share of them propagates longer by `delay_s`.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReorderConfig {
    pub share: f64,
    pub delay_s: f64,
}

#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkConfig {
    pub name: String,
    /// None: packets leave at once.
    pub capacity: Option<CapacityConfig>,
    /// Propagation, one way.
    #[serde(default)]
    pub delay_s: f64,
    /// Mean of what each packet takes longer than that, exponential, in hosts and on the line;
    /// none overtakes another. Without it senders are in step as real ones are not, and the same
    /// flow finds a full queue again and again: the phase effects of Floyd and Jacobson 1991, On
    /// Traffic Phase Effects in Packet-Switched Gateways, ACM CCR 21(2).
    #[serde(default)]
    pub delay_jitter_s: f64,
    /// None: no limit.
    pub queue: Option<QueueLimit>,
    /// Packets in propagation fill the queue too, as in emulators that hold delayed packets there
    /// (NIC-R1).
    #[serde(default)]
    pub hold_in_flight: bool,
    /// Bytes of the link layer that the line and the queue count with each IP packet.
    #[serde(default)]
    pub overhead_bytes: u32,
    pub loss: Option<LossConfig>,
    pub reorder: Option<ReorderConfig>,
    /// Active queue management; None: drop-tail.
    pub aqm: Option<AqmConfig>,
    /// What the token bucket has no tokens for is dropped instead of queued.
    #[serde(default)]
    pub policer: bool,
    /// Fades, repetitions and handovers of a radio link.
    pub radio: Option<RadioConfig>,
}

impl LinkConfig {
    /// Check the numbers.
    ///
    /// # Errors
    /// A sentence that names the link, the number and what it must be.
    pub fn validate(&self) -> Result<(), String> {
        let named = |problem: String| format!("link {:?}: {problem}", self.name);
        if !(self.delay_s.is_finite() && self.delay_s >= 0.0) {
            return Err(named(format!("delay_s must be at least 0, not {}", self.delay_s)));
        }
        if !(self.delay_jitter_s.is_finite() && self.delay_jitter_s >= 0.0) {
            let jitter_s = self.delay_jitter_s;
            return Err(named(format!("delay_jitter_s must be at least 0, not {jitter_s}")));
        }
        self.capacity.as_ref().map_or(Ok(()), CapacityConfig::validate).map_err(named)?;
        self.loss.as_ref().map_or(Ok(()), LossConfig::validate).map_err(named)?;
        self.aqm.as_ref().map_or(Ok(()), AqmConfig::validate).map_err(named)?;
        self.radio.as_ref().map_or(Ok(()), RadioConfig::validate).map_err(named)?;
        if self.aqm.is_some() && self.capacity.is_none() {
            return Err(named("aqm needs a capacity".into()));
        }
        if self.policer && !matches!(self.capacity, Some(CapacityConfig::TokenBucket { .. })) {
            return Err(named("policer needs a token_bucket as its capacity".into()));
        }
        match self.reorder {
            Some(reorder)
                if !(0.0..=1.0).contains(&reorder.share)
                    || !reorder.delay_s.is_finite()
                    || reorder.delay_s < 0.0 =>
            {
                Err(named(format!(
                    "reorder needs a share from 0 to 1 and a delay_s of at least 0, not {reorder:?}"
                )))
            }
            _ => Ok(()),
        }
    }
}

/// Why a link dropped a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Drop {
    /// Random loss before the queue, or on a radio link.
    Random = 1,
    /// The queue was full.
    Queue = 2,
    /// It can never leave: larger than the token bucket, or the link is too slow for it to leave
    /// within 73 years.
    TooLarge = 3,
    /// Active queue management, to slow its sender down.
    Early = 4,
    /// A policer had no tokens for it.
    Policed = 5,
}

/// What a link did with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It reaches the far end at `at`, after having waited `queueing_ns` before its own sending
    /// began.
    Passes {
        id: PacketId,
        at: Time,
        queueing_ns: Time,
        overtaken: bool,
        marked: bool,
    },
    Dropped {
        id: PacketId,
        reason: Drop,
    },
}

/// Counters of a link; bytes are IP bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkCounters {
    pub packets_in: u64,
    pub bytes_in: u64,
    pub packets_out: u64,
    pub bytes_out: u64,
    pub dropped_random: u64,
    pub dropped_queue: u64,
    pub largest_queue_packets: u64,
    pub largest_queue_bytes: u64,
    /// Sum of the time that packets waited before their sending began, s.
    pub queueing_s: f64,
    /// The same wait, packet by packet.
    pub waits: Waits,
    /// Packets that its queue marked instead of dropping them.
    pub marked: u64,
}

/// A link in use.
///
/// A drop-tail queue sends in the order of arrivals, so a packet's departure is computed when it
/// arrives. Any other discipline is asked for a packet at the time at which the line is free. That
/// is computed when something happens at the link, at the latest when the packet that the line was
/// sending has come through, and needs no event of its own.
#[derive(Debug)]
pub struct Link {
    delay_ns: Time,
    /// Mean of the jitter; 0: none.
    delay_jitter_ns: f64,
    /// When the last packet came through.
    last_arrival: Time,
    capacity: Option<Capacity>,
    limit: Option<QueueLimit>,
    hold_in_flight: bool,
    overhead_bytes: u32,
    policer: bool,
    loss: Option<Loss>,
    reorder: Option<ReorderConfig>,
    radio: Option<Box<Radio>>,
    rng: ChaCha8Rng,
    /// None: drop-tail.
    discipline: Option<Box<dyn Discipline>>,
    marks: bool,
    /// When the line is free.
    free_at: Time,
    /// What has left the queue, or will at a known time, and still fills it: until when, and its
    /// bytes.
    held: VecDeque<(Time, u32)>,
    held_bytes: u64,
    /// What the discipline has dropped.
    dropped: Vec<Waiting>,
    /// What has happened to packets that waited, since it was last looked at.
    pub fates: Vec<Fate>,
    pub counters: LinkCounters,
}

impl Link {
    /// A link; `phase` says at which share of their intervals handovers come.
    pub fn new(config: &LinkConfig, rng: ChaCha8Rng, phase: f64) -> Self {
        let rate_bps = config.capacity.as_ref().map_or(f64::INFINITY, CapacityConfig::mean_bps);
        Self {
            delay_ns: ns(config.delay_s),
            delay_jitter_ns: config.delay_jitter_s * 1e9,
            last_arrival: Time::MIN,
            capacity: config.capacity.as_ref().map(Capacity::new),
            limit: config.queue,
            hold_in_flight: config.hold_in_flight,
            overhead_bytes: config.overhead_bytes,
            policer: config.policer,
            loss: config.loss.as_ref().map(Loss::new),
            reorder: config.reorder.filter(|reorder| reorder.share > 0.0),
            radio: config.radio.map(|radio| Box::new(Radio::new(radio, phase))),
            rng,
            discipline: config.aqm.map(|aqm| aqm.build(rate_bps)),
            marks: config.aqm.is_some_and(|aqm| aqm.ecn),
            free_at: Time::MIN / 4,
            held: VecDeque::new(),
            held_bytes: 0,
            dropped: Vec::new(),
            fates: Vec::new(),
            counters: LinkCounters::default(),
        }
    }

    /// Whether packets can wait here.
    pub fn has_queue(&self) -> bool {
        self.capacity.is_some()
    }

    /// Whether a discipline decides what goes when the line is free.
    pub fn decides_later(&self) -> bool {
        self.discipline.is_some()
    }

    /// When the line takes the next of the packets that wait for a decision; None where none waits.
    pub fn next_decision(&self) -> Option<Time> {
        self.discipline.as_ref().filter(|queue| queue.packets() > 0).map(|_| self.free_at)
    }

    /// Take a packet that arrives now; packets must come in order of time. None: it waits, and
    /// `fates` will hold what becomes of it.
    pub fn offer(
        &mut self,
        now: Time,
        id: PacketId,
        packet: &Packet,
        first_media: Option<Time>,
    ) -> Option<Fate> {
        self.counters.packets_in += 1;
        self.counters.bytes_in += u64::from(packet.ip_bytes);
        let rng = &mut self.rng;
        if self.loss.as_mut().is_some_and(|loss| loss.takes(now, first_media, rng))
            || self.radio.as_mut().is_some_and(|radio| radio.takes(now, rng))
        {
            self.counters.dropped_random += 1;
            return Some(Fate::Dropped { id, reason: Drop::Random });
        }
        let bytes = packet.ip_bytes + self.overhead_bytes;
        let (flow, ecn) = (packet.stream(), if self.marks { packet.ecn } else { Ecn::Incapable });
        let ip_bytes = packet.ip_bytes;
        let urgent = packet.urgent;
        let waiting =
            Waiting { id, flow, ip_bytes, bytes, arrived: now, ecn, urgent, marked: false };
        if self.capacity.is_none() {
            return Some(self.pass(&waiting, now, 0));
        }
        if self.decides_later() {
            self.serve(now);
        }
        self.free_at = self.free_at.max(now); // no decision is open where this changes it
        self.release(now);
        if self.policer && self.is_policed(bytes) {
            return Some(self.drop(id, Drop::Policed));
        }
        if self.is_full(bytes) && !self.makes_room(now, &waiting) {
            return Some(self.drop(id, Drop::Queue));
        }
        let fate = if self.discipline.is_none() {
            Some(self.send(&waiting))
        } else {
            self.enqueue(now, waiting);
            None
        };
        let counters = &mut self.counters;
        let (waiting, waiting_bytes) = waiting_in(self.discipline.as_deref());
        counters.largest_queue_packets =
            counters.largest_queue_packets.max(self.held.len() as u64 + waiting);
        counters.largest_queue_bytes =
            counters.largest_queue_bytes.max(self.held_bytes + waiting_bytes);
        fate
    }

    fn enqueue(&mut self, now: Time, packet: Waiting) {
        let Some(discipline) = self.discipline.as_mut() else { return };
        let moment = &mut Moment { now, rng: &mut self.rng, dropped: &mut self.dropped };
        discipline.enqueue(moment, packet);
        self.note_dropped(Drop::Early);
        self.serve(now);
    }

    /// Let the line take packets from the discipline whenever it is free, up to `until`.
    pub fn serve(&mut self, until: Time) {
        while let Some(discipline) = self.discipline.as_mut() {
            if self.free_at > until || discipline.packets() == 0 {
                return;
            }
            let moment =
                &mut Moment { now: self.free_at, rng: &mut self.rng, dropped: &mut self.dropped };
            let packet = discipline.dequeue(moment);
            self.note_dropped(Drop::Early);
            if let Some(packet) = packet {
                let fate = self.send(&packet);
                self.fates.push(fate);
            }
        }
    }

    fn note_dropped(&mut self, reason: Drop) {
        while let Some(packet) = self.dropped.pop() {
            let fate = self.drop(packet.id, reason);
            self.fates.push(fate);
        }
    }

    /// Put a packet on the line, which is free or will be when it is this packet's turn.
    #[inline]
    fn send(&mut self, packet: &Waiting) -> Fate {
        let leaves = self.capacity.as_mut().map(|line| line.departure(self.free_at, packet.bytes));
        let Some(leaves) = leaves.flatten() else { return self.drop(packet.id, Drop::TooLarge) };
        // A token bucket sends in no time: all of the wait is for tokens.
        let sends_at_once = matches!(self.capacity, Some(Capacity::TokenBucket(_)));
        let begins = if sends_at_once { leaves } else { self.free_at };
        self.free_at = leaves;
        let until = if self.hold_in_flight { leaves + self.delay_ns } else { leaves };
        self.held.push_back((until, packet.bytes));
        self.held_bytes += u64::from(packet.bytes);
        self.pass(packet, leaves, begins - packet.arrived)
    }

    #[inline]
    fn pass(&mut self, packet: &Waiting, leaves: Time, queueing_ns: Time) -> Fate {
        let mut arrives = leaves + self.delay_ns;
        if self.delay_jitter_ns > 0.0 {
            let exponential = -(1.0 - self.rng.random::<f64>()).ln();
            arrives += (self.delay_jitter_ns * exponential) as Time;
            arrives = arrives.max(self.last_arrival);
            self.last_arrival = arrives;
        }
        if let Some(radio) = &mut self.radio {
            let Some(later) = radio.arrival(arrives, &mut self.rng) else {
                self.counters.dropped_random += 1;
                return Fate::Dropped { id: packet.id, reason: Drop::Random };
            };
            arrives = later;
        }
        self.counters.packets_out += 1;
        self.counters.bytes_out += u64::from(packet.ip_bytes);
        self.counters.queueing_s += seconds(queueing_ns);
        self.counters.waits.add(queueing_ns);
        self.counters.marked += u64::from(packet.marked);
        let (later_ns, overtaken) = self.overtaking();
        let at = arrives + later_ns;
        Fate::Passes { id: packet.id, at, queueing_ns, overtaken, marked: packet.marked }
    }

    fn drop(&mut self, id: PacketId, reason: Drop) -> Fate {
        self.counters.dropped_queue += 1;
        Fate::Dropped { id, reason }
    }

    #[inline]
    fn overtaking(&mut self) -> (Time, bool) {
        match self.reorder {
            Some(reorder) if self.rng.random::<f64>() < reorder.share => {
                (ns(reorder.delay_s), true)
            }
            _ => (0, false),
        }
    }

    /// Forget what no longer fills the queue.
    #[inline]
    fn release(&mut self, now: Time) {
        while let Some((until, bytes)) = self.held.front().copied() {
            if until > now {
                break;
            }
            self.held.pop_front();
            self.held_bytes -= u64::from(bytes);
        }
    }

    #[inline]
    fn is_full(&self, bytes: u32) -> bool {
        let (waiting, waiting_bytes) = waiting_in(self.discipline.as_deref());
        match self.limit {
            Some(QueueLimit::Packets(most)) => self.held.len() as u64 + waiting >= most,
            Some(QueueLimit::Bytes(most)) => {
                self.held_bytes + waiting_bytes + u64::from(bytes) > most
            }
            None => false,
        }
    }

    /// Whether the discipline drops something else from a full queue.
    fn makes_room(&mut self, now: Time, arriving: &Waiting) -> bool {
        let Some(discipline) = self.discipline.as_mut() else { return false };
        let moment = &mut Moment { now, rng: &mut self.rng, dropped: &mut self.dropped };
        let makes = discipline.make_room(moment, arriving);
        self.note_dropped(Drop::Queue);
        makes
    }

    fn is_policed(&self, bytes: u32) -> bool {
        self.capacity.as_ref().is_some_and(|bucket| !bucket.passes_at(self.free_at, bytes))
    }
}

/// Packets and bytes that wait for a decision.
#[inline]
fn waiting_in(discipline: Option<&dyn Discipline>) -> (u64, u64) {
    discipline.map_or((0, 0), |queue| (queue.packets() as u64, queue.bytes()))
}
