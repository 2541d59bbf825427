//! Which active queue management a link has, and with which parameters.

use super::codel::{CodelQueue, Law};
use super::dualpi2::DualPi2;
use super::fq_codel::FqCodel;
use super::pie::Pie;
use super::priority::Priority;
use super::red::Red;
use super::Discipline;
use crate::des::time::{ns, Time};

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AqmKind {
    Red,
    Pie,
    Codel,
    FqCodel,
    Dualpi2,
    /// Urgent packets first; it has neither target nor interval.
    Priority,
}

impl AqmKind {
    /// Target and interval of the document that defines the law, ms.
    fn defaults_ms(self) -> (Time, Time) {
        match self {
            // Floyd, Gummadi and Shenker (2001), sections 4 and 5
            Self::Red => (5, 500),
            // RFC 8033 4.2 and 4.3: QDELAY_REF and T_UPDATE
            Self::Pie => (15, 15),
            // RFC 8289 4.2 and 4.3, RFC 8290 5.2
            Self::Codel | Self::FqCodel => (5, 100),
            // RFC 9332 A.1: target and RTT_max
            Self::Dualpi2 => (15, 100),
            Self::Priority => (0, 0),
        }
    }
}

/// Active queue management of a link.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AqmConfig {
    pub kind: AqmKind,
    /// Wait that it aims at, s; None: that of its document.
    pub target_s: Option<f64>,
    /// CoDel: how long waits may stay above the target; PIE and RED: time between two updates;
    /// DualPI2: largest round trip, s. None: that of its document.
    pub interval_s: Option<f64>,
    /// Packets that can be marked are marked instead of dropped (RFC 3168).
    #[serde(default)]
    pub ecn: bool,
}

impl AqmConfig {
    /// Check the numbers.
    ///
    /// # Errors
    /// A sentence that names the number and what it must be.
    pub fn validate(&self) -> Result<(), String> {
        for (name, value) in [("target_s", self.target_s), ("interval_s", self.interval_s)] {
            // Updates come this often, also while nothing happens.
            if value.is_some_and(|value| !(1e-4..=1e3).contains(&value)) {
                return Err(format!("aqm: {name} must be from 0.0001 to 1000"));
            }
        }
        Ok(())
    }

    /// An empty queue before a line of `rate_bps` on average.
    pub fn build(&self, rate_bps: f64) -> Box<dyn Discipline> {
        let (target_ms, interval_ms) = self.kind.defaults_ms();
        let target_ns = self.target_s.map_or(target_ms * 1_000_000, ns);
        let interval_ns = self.interval_s.map_or(interval_ms * 1_000_000, ns);
        let law = Law { target_ns, interval_ns };
        match self.kind {
            AqmKind::Red => Box::new(Red::new(target_ns, interval_ns, rate_bps)),
            AqmKind::Pie => Box::new(Pie::new(target_ns, interval_ns)),
            AqmKind::Codel => Box::new(CodelQueue::new(law)),
            AqmKind::FqCodel => Box::new(FqCodel::new(law)),
            AqmKind::Dualpi2 => Box::new(DualPi2::new(target_ns, interval_ns)),
            AqmKind::Priority => Box::new(Priority::default()),
        }
    }
}
