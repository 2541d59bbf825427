//! When slow start ends without loss.

use super::super::SlowStartExit;
use super::hystart::HyStart;
use super::hystart_plus::HyStartPlus;
use super::Acknowledged;

/// Watches the round trips of slow start.
#[derive(Clone, Debug)]
pub(super) enum Watch {
    Loss,
    HyStart(HyStart),
    HyStartPlus(HyStartPlus),
}

impl Watch {
    pub fn new(exit: SlowStartExit) -> Self {
        match exit {
            SlowStartExit::Loss => Self::Loss,
            SlowStartExit::Hystart => Self::HyStart(HyStart::default()),
            SlowStartExit::HystartPlusPlus => Self::HyStartPlus(HyStartPlus::default()),
        }
    }

    /// By how much this acknowledgement is to open a `window` of segments less; None: slow start is
    /// over.
    pub fn growth_divisor(&mut self, ack: &Acknowledged, window: f64) -> Option<f64> {
        match self {
            Self::Loss => Some(1.0),
            Self::HyStart(hystart) => (!hystart.ends_at(ack, window)).then_some(1.0),
            Self::HyStartPlus(hystart) => {
                let divisor = hystart.growth_divisor(ack);
                (!hystart.is_over()).then_some(divisor)
            }
        }
    }

    /// Loss was found.
    pub fn note_loss(&mut self, by_timeout: bool) {
        match self {
            // RFC 9406 4.3: for the first slow start only.
            Self::HyStartPlus(_) => *self = Self::Loss,
            Self::HyStart(hystart) if by_timeout => *hystart = HyStart::default(),
            Self::HyStart(_) | Self::Loss => {}
        }
    }
}
