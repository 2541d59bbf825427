//! The greatest of recent samples, kept in three slots as Linux does (lib/win_minmax.c).

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    at: u64,
    value: f64,
}

/// Maximum over a window of rounds.
#[derive(Clone, Debug, Default)]
pub(super) struct RecentMaximum {
    slots: [Slot; 3],
}

impl RecentMaximum {
    pub fn value(&self) -> f64 {
        self.slots[0].value
    }

    /// Takes a sample of round `at`, where the last `window` rounds count.
    pub fn take(&mut self, at: u64, window: u64, value: f64) {
        let slot = Slot { at, value };
        let [first, second, third] = &mut self.slots;
        if value >= first.value || at - third.at > window {
            self.slots = [slot; 3];
            return;
        }
        if value >= second.value {
            (*second, *third) = (slot, slot);
        } else if value >= third.value {
            *third = slot;
        }
        let age = at - first.at;
        if age > window {
            (*first, *second, *third) = (*second, *third, slot);
            if at - first.at > window {
                (*first, *second) = (*second, *third);
            }
        } else if second.at == first.at && age > window / 4 {
            (*second, *third) = (slot, slot);
        } else if third.at == second.at && age > window / 2 {
            *third = slot;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_maximum_is_forgotten_after_its_window() {
        let mut maximum = RecentMaximum::default();
        maximum.take(0, 10, 9.0);
        for round in 1..=10 {
            maximum.take(round, 10, 5.0);
            assert_eq!(maximum.value(), 9.0);
        }
        maximum.take(11, 10, 5.0);
        assert_eq!(maximum.value(), 5.0);
        maximum.take(12, 10, 7.0);
        assert_eq!(maximum.value(), 7.0);
    }
}
