//! The end of start-up: three rounds in a row have brought less than a quarter more bandwidth.

const GROWTH: f64 = 1.25;
const ROUNDS: u32 = 3;

#[derive(Clone, Debug, Default)]
pub(super) struct FullPipe {
    bandwidth: f64,
    rounds: u32,
    is_full: bool,
}

impl FullPipe {
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Takes the bandwidth after a round whose sender always had data.
    pub fn take(&mut self, bandwidth: f64) {
        if self.is_full {
            return;
        }
        if bandwidth >= self.bandwidth * GROWTH {
            self.bandwidth = bandwidth;
            self.rounds = 0;
            return;
        }
        self.rounds += 1;
        self.is_full = self.rounds >= ROUNDS;
    }

    /// A timeout: any bandwidth is growth.
    pub fn forget(&mut self) {
        self.bandwidth = 0.0;
    }
}
