//! DualPI2 (RFC 9332, appendix A): one queue for classic flows, one of low latency for scalable
//! ones, and a controller that couples the marking of both queues.

use super::{Discipline, Fifo, Moment, Waiting};
use crate::des::packet::Ecn;
use crate::des::time::{seconds, Time};

/// Coupling of the two shares, k (RFC 9332 A.1).
const COUPLING: f64 = 2.0;
/// Waits over which the low-latency queue's own marking rises from none to all.
const RAMP_START_NS: Time = 800_000;
const RAMP_NS: f64 = 400_000.0;
/// Of sixteen bytes, the classic queue gets one while both wait (RFC 9332 A.1, weighted round
/// robin).
const CLASSIC_WEIGHT: i64 = 1;
const LOW_LATENCY_WEIGHT: i64 = 15;

/// A queue and the sum of the shares since something was done to it.
#[derive(Debug, Default)]
struct Side {
    queue: Fifo,
    sum: f64,
}

impl Side {
    /// Whether to act on a packet, at even distances (RFC 9332, figure 5: `recur`).
    fn recurs(&mut self, share: f64) -> bool {
        self.sum += share;
        let acts = self.sum > 1.0;
        self.sum -= f64::from(u8::from(acts));
        acts
    }
}

#[derive(Debug)]
pub struct DualPi2 {
    target_s: f64,
    update_ns: Time,
    /// Gains of the controller, per second of wait.
    alpha: f64,
    beta: f64,
    low_latency: Side,
    classic: Side,
    /// The controller's base share, p'.
    base: f64,
    old_delay_s: f64,
    next_update: Option<Time>,
    /// Bytes that the classic queue may still send before the other, weighted.
    credit: i64,
}

impl DualPi2 {
    pub fn new(target_ns: Time, largest_round_trip_ns: Time) -> Self {
        let update_ns = target_ns.min(largest_round_trip_ns / 3).max(1);
        let round_trip_s = seconds(largest_round_trip_ns);
        Self {
            target_s: seconds(target_ns),
            update_ns,
            alpha: 0.1 * seconds(update_ns) / (round_trip_s * round_trip_s),
            beta: 0.3 / round_trip_s,
            low_latency: Side::default(),
            classic: Side::default(),
            base: 0.0,
            old_delay_s: 0.0,
            next_update: None,
            credit: 0,
        }
    }

    /// Share of classic packets that is dropped or marked: p_C.
    pub(super) fn classic_share(&self) -> f64 {
        (self.base * self.base).min(1.0 / (COUPLING * COUPLING))
    }

    /// Share of scalable packets that is marked because classic ones wait: p_CL.
    pub(super) fn coupled_share(&self) -> f64 {
        COUPLING * self.base
    }

    /// Make the updates that were due until now (RFC 9332, figure 6). Queues that stay empty, or
    /// whose line stands still, have them at once, however many they are.
    fn catch_up(&mut self, now: Time) {
        let mut due = *self.next_update.get_or_insert(now + self.update_ns);
        while due <= now {
            let more = (now - due) / self.update_ns;
            let delay_s = self.delay_s(due);
            if self.packets() == 0 && self.old_delay_s == 0.0 {
                let updates = (more + 1) as f64;
                self.base = (self.base - updates * self.alpha * self.target_s).max(0.0);
                due += more * self.update_ns;
            } else if self.base == 1.0 && delay_s >= self.target_s.max(self.old_delay_s) {
                due += more * self.update_ns;
                self.old_delay_s = self.delay_s(due);
            } else {
                self.base = (self.base + self.change(delay_s)).clamp(0.0, 1.0);
                self.old_delay_s = delay_s;
            }
            due += self.update_ns;
        }
        self.next_update = Some(due);
    }

    fn change(&self, delay_s: f64) -> f64 {
        self.alpha * (delay_s - self.target_s) + self.beta * (delay_s - self.old_delay_s)
    }

    /// The longer of the waits of both queues' first packets.
    fn delay_s(&self, now: Time) -> f64 {
        seconds(self.classic.queue.age_ns(now).max(self.low_latency.queue.age_ns(now)))
    }

    /// Whether the low-latency queue goes next.
    fn favours_low_latency(&self) -> bool {
        self.low_latency.queue.packets() > 0
            && (self.classic.queue.packets() == 0 || self.credit <= 0)
    }

    /// A scalable packet: marked by its own wait or by that of classic ones; None where overload
    /// drops it (RFC 9332 A.2).
    fn take_low_latency(&mut self, moment: &mut Moment) -> Option<Waiting> {
        let packet = self.low_latency.queue.pop()?;
        self.credit += CLASSIC_WEIGHT * i64::from(packet.bytes);
        let (classic, coupled) = (self.classic_share(), self.coupled_share());
        if coupled >= 1.0 && self.low_latency.recurs(classic) {
            moment.dropped.push(packet);
            return None;
        }
        let wait_ns = moment.now - packet.arrived;
        let own = if self.low_latency.queue.packets() > 0 {
            ((wait_ns - RAMP_START_NS) as f64 / RAMP_NS).clamp(0.0, 1.0)
        } else {
            0.0
        };
        if self.low_latency.recurs(own.max(coupled).min(1.0)) {
            return moment.mark_or_drop(packet);
        }
        Some(packet)
    }

    /// A classic packet; None where it is dropped.
    fn take_classic(&mut self, moment: &mut Moment) -> Option<Waiting> {
        let packet = self.classic.queue.pop()?;
        self.credit -= LOW_LATENCY_WEIGHT * i64::from(packet.bytes);
        if !self.classic.recurs(self.classic_share()) {
            return Some(packet);
        }
        // In overload, marks no longer help.
        if self.coupled_share() >= 1.0 {
            moment.dropped.push(packet);
            return None;
        }
        moment.mark_or_drop(packet)
    }
}

impl Discipline for DualPi2 {
    fn enqueue(&mut self, moment: &mut Moment, packet: Waiting) {
        self.catch_up(moment.now);
        match packet.ecn {
            Ecn::Scalable | Ecn::Marked => self.low_latency.queue.push(packet),
            Ecn::Incapable | Ecn::Classic => self.classic.queue.push(packet),
        }
    }

    fn dequeue(&mut self, moment: &mut Moment) -> Option<Waiting> {
        self.catch_up(moment.now);
        while self.packets() > 0 {
            let packet = if self.favours_low_latency() {
                self.take_low_latency(moment)
            } else {
                self.take_classic(moment)
            };
            if self.classic.queue.packets() == 0 || self.low_latency.queue.packets() == 0 {
                self.credit = 0; // turns begin anew when both wait again
            }
            if packet.is_some() {
                return packet;
            }
        }
        None
    }

    fn packets(&self) -> usize {
        self.classic.queue.packets() + self.low_latency.queue.packets()
    }

    fn bytes(&self) -> u64 {
        self.classic.queue.bytes() + self.low_latency.queue.bytes()
    }
}

#[cfg(test)]
mod unit_tests {
    use super::*;
    use crate::des::time::ns;

    const MANY: Time = 1_000_000_000;

    fn after(base: f64, target_s: f64, round_trip_s: f64) -> DualPi2 {
        DualPi2 { base, next_update: Some(0), ..DualPi2::new(ns(target_s), ns(round_trip_s)) }
    }

    #[test]
    fn an_idle_time_takes_what_its_updates_take_one_by_one() {
        let (mut at_once, mut stepped) = (after(0.9, 0.015, 0.1), after(0.9, 0.015, 0.1));
        let last = 299 * at_once.update_ns;
        at_once.catch_up(last);
        for _ in 0..300 {
            stepped.base = (stepped.base + stepped.change(0.0)).clamp(0.0, 1.0);
        }
        assert!((0.2..0.3).contains(&stepped.base), "{stepped:?}");
        assert!((at_once.base - stepped.base).abs() < 1e-9, "{at_once:?}");
        assert_eq!(at_once.next_update, Some(last + at_once.update_ns));
    }

    #[test]
    fn long_idle_times_cost_no_more_than_short_ones() {
        // Each update takes 0.1 x 0.1 ms x 0.1 ms / (1000 s)^2 = 1e-15.
        let mut queue = after(0.5, 1e-4, 1e3);
        queue.catch_up((MANY - 1) * queue.update_ns);
        assert!((queue.base - (0.5 - 1e-6)).abs() < 1e-9, "{queue:?}");
        queue.catch_up(2 * MANY * queue.update_ns);
        assert_eq!(queue.next_update, Some((2 * MANY + 1) * queue.update_ns));
    }

    #[test]
    fn a_line_that_stands_still_keeps_the_share_at_one() {
        let mut queue = after(0.5, 0.015, 0.1);
        let ecn = Ecn::Incapable;
        let waits = Waiting {
            id: 0,
            flow: 0,
            ip_bytes: 1,
            bytes: 1,
            arrived: 0,
            ecn,
            urgent: false,
            marked: false,
        };
        queue.classic.queue.push(waits);
        queue.catch_up(MANY * queue.update_ns);
        assert_eq!((queue.base, queue.old_delay_s), (1.0, seconds(MANY * queue.update_ns)));
    }
}
