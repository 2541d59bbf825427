//! Needless repairs: what shows that nothing was lost gives the window back, as Linux does.
//!
//! Three things show it: an acknowledgement that echoes the time of an original although the
//! segment was retransmitted (Eifel, RFC 3522 and 4015), reports that every retransmission was a
//! duplicate (RFC 3708), and after a timeout an arrival of what was not retransmitted (F-RTO, RFC
//! 5682).

use super::super::{Segment, Time};
use super::{Phase, Sender};

/// What a reduction took, for the case that it was needless.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    window_bytes: u64,
    threshold_bytes: u64,
    first_resent_at: Option<Time>,
    /// Retransmitted segments of which no duplicate is reported.
    unexplained: u32,
    has_explained: bool,
}

/// Where F-RTO stands after a timeout (RFC 5682 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doubt {
    None,
    /// Only the first segment was retransmitted: its acknowledgement is waited for.
    First,
    /// It has come: new segments go out until the next answer decides.
    Second,
}

impl Sender {
    /// A reduction begins: notes what it takes.
    pub(super) fn note_reduction(&mut self) {
        let undo = Undo {
            window_bytes: self.congestion.window_bytes(),
            threshold_bytes: self.congestion.threshold_bytes(),
            first_resent_at: None,
            unexplained: 0,
            has_explained: false,
        };
        self.undo = self.undoes.then_some(undo);
    }

    pub(super) fn note_repetition(&mut self, now: Time) {
        if let Some(undo) = &mut self.undo {
            undo.first_resent_at.get_or_insert(now);
            undo.unexplained += 1;
        }
    }

    /// Gives the window back where an acknowledgement, in a repair or a later report of a
    /// duplicate, shows the repair to be needless.
    pub(super) fn consider_undo(&mut self, segment: &Segment, advanced: bool) {
        let doubt = std::mem::replace(&mut self.doubt, Doubt::None);
        let Some(undo) = &mut self.undo else { return };
        if segment.sack.reports_duplicate {
            undo.unexplained = undo.unexplained.saturating_sub(1);
            undo.has_explained = true;
        }
        let echoes_original = match (segment.timestamps, undo.first_resent_at) {
            (Some(stamp), Some(resent_at)) if self.timestamps && advanced => {
                stamp.echo > 0 && stamp.echo < resent_at
            }
            _ => false,
        };
        let all_duplicates = undo.has_explained && undo.unexplained == 0;
        let by_timeout = doubt != Doubt::None && self.original_came;
        if echoes_original || all_duplicates || by_timeout {
            self.take_back();
        } else if doubt == Doubt::First {
            self.doubt = if advanced { Doubt::Second } else { Doubt::First };
        }
    }

    fn take_back(&mut self) {
        let Some(undo) = self.undo.take() else { return };
        self.congestion.undo(undo.window_bytes, undo.threshold_bytes);
        if self.phase != Phase::Open {
            self.board.forget_losses(self.una);
            if let Some(rack) = &mut self.rack {
                rack.look_again(self.una);
            }
            self.leave_recovery();
        }
    }
}
