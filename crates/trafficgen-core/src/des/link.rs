//! A link: random loss, then a drop-tail queue, then the line, then propagation.

use std::collections::VecDeque;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::capacity::{Capacity, CapacityConfig};
use super::loss::{Loss, LossConfig};
use super::time::{ns, Time};

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
        self.capacity.as_ref().map_or(Ok(()), CapacityConfig::validate).map_err(named)?;
        self.loss.as_ref().map_or(Ok(()), LossConfig::validate).map_err(named)?;
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
    /// Random loss before the queue.
    Random = 1,
    /// The queue was full.
    Queue = 2,
    /// It can never leave: larger than the token bucket, or the link is too slow for it to leave
    /// within 73 years.
    TooLarge = 3,
}

/// What a link did with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It reaches the far end at `at`, after having waited `queueing_ns` before its own sending
    /// began.
    Passes {
        at: Time,
        queueing_ns: Time,
        overtaken: bool,
    },
    Dropped(Drop),
}

/// Counters of a link; bytes are IP bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
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
}

/// A link in use.
#[derive(Debug)]
pub struct Link {
    delay_ns: Time,
    capacity: Option<Capacity>,
    limit: Option<QueueLimit>,
    hold_in_flight: bool,
    overhead_bytes: u32,
    loss: Option<Loss>,
    reorder: Option<ReorderConfig>,
    rng: ChaCha8Rng,
    /// When the line is free.
    free_at: Time,
    /// What fills the queue: when it leaves, and its bytes.
    held: VecDeque<(Time, u32)>,
    held_bytes: u64,
    pub counters: LinkCounters,
}

impl Link {
    pub fn new(config: &LinkConfig, rng: ChaCha8Rng) -> Self {
        Self {
            delay_ns: ns(config.delay_s),
            capacity: config.capacity.as_ref().map(Capacity::new),
            limit: config.queue,
            hold_in_flight: config.hold_in_flight,
            overhead_bytes: config.overhead_bytes,
            loss: config.loss.as_ref().map(Loss::new),
            reorder: config.reorder.filter(|reorder| reorder.share > 0.0),
            rng,
            free_at: Time::MIN / 4,
            held: VecDeque::new(),
            held_bytes: 0,
            counters: LinkCounters::default(),
        }
    }

    /// Whether packets can wait here.
    pub fn has_queue(&self) -> bool {
        self.capacity.is_some()
    }

    /// Take a packet that arrives now; packets must come in order of time.
    pub fn offer(&mut self, now: Time, ip_bytes: u32, first_media: Option<Time>) -> Verdict {
        self.counters.packets_in += 1;
        self.counters.bytes_in += u64::from(ip_bytes);
        if self.loss.as_mut().is_some_and(|loss| loss.takes(now, first_media, &mut self.rng)) {
            self.counters.dropped_random += 1;
            return Verdict::Dropped(Drop::Random);
        }
        let (leaves, queueing_ns) = match self.enqueue(now, ip_bytes) {
            Ok(times) => times,
            Err(reason) => {
                self.counters.dropped_queue += 1;
                return Verdict::Dropped(reason);
            }
        };
        self.counters.packets_out += 1;
        self.counters.bytes_out += u64::from(ip_bytes);
        self.counters.queueing_s += queueing_ns as f64 / 1e9;
        let (later_ns, overtaken) = self.overtaking();
        Verdict::Passes { at: leaves + self.delay_ns + later_ns, queueing_ns, overtaken }
    }

    fn overtaking(&mut self) -> (Time, bool) {
        match self.reorder {
            Some(reorder) if self.rng.random::<f64>() < reorder.share => {
                (ns(reorder.delay_s), true)
            }
            _ => (0, false),
        }
    }

    /// Place a packet in the queue: when it has left, and how long it waits before its sending
    /// begins.
    fn enqueue(&mut self, now: Time, ip_bytes: u32) -> Result<(Time, Time), Drop> {
        let bytes = ip_bytes + self.overhead_bytes;
        let Some(capacity) = self.capacity.as_mut() else { return Ok((now, 0)) };
        while let Some((leaves, size)) = self.held.front().copied() {
            if leaves > now {
                break;
            }
            self.held.pop_front();
            self.held_bytes -= u64::from(size);
        }
        let full = match self.limit {
            Some(QueueLimit::Packets(most)) => self.held.len() as u64 >= most,
            Some(QueueLimit::Bytes(most)) => self.held_bytes + u64::from(bytes) > most,
            None => false,
        };
        if full {
            return Err(Drop::Queue);
        }
        let starts = now.max(self.free_at);
        let Some(leaves) = capacity.departure(starts, bytes) else { return Err(Drop::TooLarge) };
        // A token bucket sends in no time: all of the wait is for tokens.
        let begins = if matches!(capacity, Capacity::TokenBucket(_)) { leaves } else { starts };
        self.free_at = leaves;
        self.held
            .push_back((if self.hold_in_flight { leaves + self.delay_ns } else { leaves }, bytes));
        self.held_bytes += u64::from(bytes);
        self.counters.largest_queue_packets =
            self.counters.largest_queue_packets.max(self.held.len() as u64);
        self.counters.largest_queue_bytes = self.counters.largest_queue_bytes.max(self.held_bytes);
        Ok((leaves, begins - now))
    }
}
