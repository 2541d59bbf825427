//! What an acknowledgement tells a control that models its path.

use super::congestion::{Control, Lost, Repair, Sampled};
use super::rates::DeliveryRates;
use super::Time;

/// Sums before an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    pub flight_bytes: u64,
    pub delivered_bytes: u64,
    pub lost_ever_bytes: u64,
    pub lost_below: u64,
}

/// Where a sender stands after an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    pub now: Time,
    pub una: u64,
    pub flight_bytes: u64,
    pub lost_ever_bytes: u64,
    pub lost_below: u64,
    pub departs_in_ns: Time,
    pub smoothed_rtt_ns: Time,
    pub mss: u64,
    pub window_limited: bool,
    pub repair: Repair,
}

impl Position {
    /// Tells a control what has changed since `prior`.
    pub fn tell(&self, control: &mut dyn Control, rates: &mut DeliveryRates, prior: &Progress) {
        rates.forget_below(self.una);
        let mut lost_so_far = prior.lost_ever_bytes;
        for (bytes, sums, application_limited) in
            rates.stretches_in(prior.lost_below.max(self.una), self.lost_below)
        {
            lost_so_far += bytes;
            control.on_lost(&Lost {
                now: self.now,
                bytes,
                flight_bytes: sums.flight_bytes,
                lost_since_bytes: lost_so_far - sums.lost_ever_bytes,
                delivered_bytes: rates.delivered_bytes(),
                application_limited,
            });
        }
        let delivered_bytes = rates.delivered_bytes();
        let acknowledged_bytes = delivered_bytes - prior.delivered_bytes;
        control.on_sample(&Sampled {
            now: self.now,
            rate: rates.sample(self.now),
            acknowledged_bytes,
            delivered_bytes,
            lost_bytes: self.lost_ever_bytes - prior.lost_ever_bytes,
            lost_ever_bytes: self.lost_ever_bytes,
            prior_flight_bytes: prior.flight_bytes,
            flight_bytes: self.flight_bytes,
            departs_in_ns: self.departs_in_ns,
            smoothed_rtt_ns: self.smoothed_rtt_ns,
            is_delayed: acknowledged_bytes == prior.flight_bytes && prior.flight_bytes < self.mss,
            window_limited: self.window_limited,
            repair: self.repair,
        });
        if control.holds_back() {
            rates.note_shortage(self.flight_bytes);
        }
    }
}
