//! When a packet has left a link: all capacities are known in advance, so a departure is computed
//! once, when the packet's turn is known.

use super::time::{ns, sending_ns, Time, NEVER, NS_PER_S};

/// How a link lets bytes through.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum CapacityConfig {
    /// A line of one rate.
    Constant { rate_bps: f64 },
    /// A rate that changes at given times; from the last one on it stays, or all repeats after
    /// `period_s`.
    Steps { times_s: Vec<f64>, rates_bps: Vec<f64>, period_s: Option<f64> },
    /// Moments at which up to `bytes` may leave, repeated after `period_s` (the traces of mahimahi:
    /// 1504 bytes a line).
    Opportunities { times_s: Vec<f64>, bytes: u32, period_s: f64 },
    /// Tokens at `rate_bps`, at most `burst_bytes` of them; a packet leaves as soon as there are
    /// tokens for all of it.
    TokenBucket { rate_bps: f64, burst_bytes: u32 },
}

impl CapacityConfig {
    /// Check the numbers.
    ///
    /// # Errors
    /// A sentence that names the number and what it must be.
    pub fn validate(&self) -> Result<(), String> {
        match self {
            Self::Constant { rate_bps } => positive("rate_bps", *rate_bps),
            Self::TokenBucket { rate_bps, burst_bytes } => {
                positive("rate_bps", *rate_bps)?;
                positive("burst_bytes", f64::from(*burst_bytes))
            }
            Self::Steps { times_s, rates_bps, period_s } => {
                if rates_bps.iter().any(|rate| !(rate.is_finite() && *rate >= 0.0)) {
                    return Err("rates_bps must be numbers of at least 0".into());
                }
                if times_s.len() != rates_bps.len() {
                    return Err(format!(
                        "{} times_s for {} rates_bps",
                        times_s.len(),
                        rates_bps.len()
                    ));
                }
                if !rates_bps.iter().any(|rate| *rate > 0.0) {
                    return Err("rates_bps must hold a rate above 0".into());
                }
                ascending(times_s, *period_s)
            }
            Self::Opportunities { times_s, bytes, period_s } => {
                positive("bytes", f64::from(*bytes))?;
                ascending(times_s, Some(*period_s))
            }
        }
    }

    /// Rate on average, bit/s; steps that do not repeat count from the first to the last.
    pub fn mean_bps(&self) -> f64 {
        match self {
            Self::Constant { rate_bps } | Self::TokenBucket { rate_bps, .. } => *rate_bps,
            Self::Opportunities { times_s, bytes, period_s } => {
                8.0 * f64::from(*bytes) * times_s.len() as f64 / period_s
            }
            Self::Steps { times_s, rates_bps, period_s } => {
                let end_s = period_s.unwrap_or(times_s[times_s.len() - 1]);
                let ends_s = times_s[1..].iter().chain([&end_s]);
                let bits: f64 = ends_s
                    .zip(times_s)
                    .zip(rates_bps)
                    .map(|((to_s, from_s), rate_bps)| (to_s - from_s) * rate_bps)
                    .sum();
                let spanned_s = end_s - times_s[0];
                if spanned_s > 0.0 && bits > 0.0 {
                    bits / spanned_s
                } else {
                    rates_bps.iter().copied().fold(0.0, f64::max)
                }
            }
        }
    }
}

fn positive(name: &str, value: f64) -> Result<(), String> {
    if value.is_finite() && value > 0.0 {
        Ok(())
    } else {
        Err(format!("{name} must be above 0, not {value}"))
    }
}

fn ascending(times_s: &[f64], period_s: Option<f64>) -> Result<(), String> {
    let Some(last) = times_s.last() else { return Err("times_s is empty".into()) };
    if times_s.iter().any(|time| !(time.is_finite() && *time >= 0.0)) {
        return Err("times_s must be numbers of at least 0".into());
    }
    if times_s.windows(2).any(|pair| pair[1] < pair[0]) {
        return Err("times_s must not fall".into());
    }
    match period_s {
        Some(period) if ns(period) < 1 => {
            Err(format!("period_s must be at least 1 ns, not {period}"))
        }
        Some(period) if !(period.is_finite() && period >= *last) => {
            Err(format!("period_s must not come before the last of times_s ({last}), not {period}"))
        }
        _ => Ok(()),
    }
}

/// A capacity with what is left of it.
#[derive(Clone, Debug)]
pub enum Capacity {
    Constant { rate_bps: f64 },
    Steps(Steps),
    Opportunities(Opportunities),
    TokenBucket(TokenBucket),
}

impl Capacity {
    pub fn new(config: &CapacityConfig) -> Self {
        match config {
            CapacityConfig::Constant { rate_bps } => Self::Constant { rate_bps: *rate_bps },
            CapacityConfig::Steps { times_s, rates_bps, period_s } => {
                let times_ns = times_s.iter().map(|time| ns(*time)).collect();
                Self::Steps(Steps::new(times_ns, rates_bps.clone(), period_s.map(ns)))
            }
            CapacityConfig::Opportunities { times_s, bytes, period_s } => {
                Self::Opportunities(Opportunities {
                    times_ns: times_s.iter().map(|time| ns(*time)).collect(),
                    period_ns: ns(*period_s),
                    bytes_each: *bytes,
                    next: 0,
                    left_bytes: *bytes,
                })
            }
            CapacityConfig::TokenBucket { rate_bps, burst_bytes } => {
                Self::TokenBucket(TokenBucket {
                    rate_bytes_per_ns: rate_bps / 8.0 / NS_PER_S,
                    burst_bytes: f64::from(*burst_bytes),
                    tokens: f64::from(*burst_bytes),
                    at: 0,
                    filled: false,
                })
            }
        }
    }

    /// Whether a token bucket lets a packet pass at `now` without a wait; a line always takes it.
    pub fn passes_at(&self, now: Time, bytes: u32) -> bool {
        match self {
            Self::TokenBucket(bucket) => bucket.tokens_at(now) >= f64::from(bytes),
            _ => true,
        }
    }

    /// When a packet of `bytes` that is next in line from `start` on has left; None where it can
    /// never leave.
    #[inline]
    pub fn departure(&mut self, start: Time, bytes: u32) -> Option<Time> {
        let leaves = match self {
            Self::Constant { rate_bps } => Some(start + sending_ns(bytes, *rate_bps)),
            Self::Steps(steps) => steps.departure(start, bytes),
            Self::Opportunities(opportunities) => opportunities.departure(start, bytes),
            Self::TokenBucket(bucket) => bucket.departure(start, bytes),
        };
        leaves.filter(|leaves| *leaves < NEVER)
    }
}

#[derive(Clone, Debug)]
pub struct Steps {
    times_ns: Vec<Time>,
    rates_bps: Vec<f64>,
    period_ns: Option<Time>,
    /// What a whole period lets through.
    period_bits: f64,
}

impl Steps {
    fn new(times_ns: Vec<Time>, rates_bps: Vec<f64>, period_ns: Option<Time>) -> Self {
        let mut steps = Self { times_ns, rates_bps, period_ns, period_bits: 0.0 };
        let mut now = 0;
        while now < period_ns.unwrap_or(0) {
            let (rate_bps, end) = steps.step(now);
            steps.period_bits += rate_bps * (end - now) as f64 / NS_PER_S;
            now = end;
        }
        steps
    }

    /// Pass the whole periods that `bits` need for sure, so that a slow link takes no longer to
    /// compute than a fast one.
    fn skip_periods(&self, start: Time, bits: f64) -> (Time, f64) {
        let Some(period) = self.period_ns else { return (start, bits) };
        // One less than fit, against rounding.
        let periods = (bits / self.period_bits).floor() - 1.0;
        if periods.is_nan() || periods < 1.0 {
            return (start, bits);
        }
        let passed = periods * period as f64;
        if passed >= (NEVER - start) as f64 {
            return (NEVER, bits);
        }
        (start + periods as Time * period, bits - periods * self.period_bits)
    }

    /// The step that holds at `time`, and when it ends. Before the first step its rate holds
    /// already.
    fn step(&self, time: Time) -> (f64, Time) {
        let (base, within) = match self.period_ns {
            Some(period) => (time.div_euclid(period) * period, time.rem_euclid(period)),
            None => (0, time),
        };
        let after = self.times_ns.partition_point(|start| *start <= within);
        let end = match (self.times_ns.get(after), self.period_ns) {
            (Some(next), _) => base + *next,
            (None, Some(period)) => base + period,
            (None, None) => NEVER,
        };
        (self.rates_bps[after.saturating_sub(1)], end)
    }

    fn departure(&self, start: Time, bytes: u32) -> Option<Time> {
        let (mut now, mut bits) = self.skip_periods(start, f64::from(bytes) * 8.0);
        while now < NEVER {
            let (rate_bps, end) = self.step(now);
            let possible = rate_bps * (end - now) as f64 / NS_PER_S;
            if possible >= bits {
                return Some(now + (bits / rate_bps * NS_PER_S).round() as Time);
            }
            bits -= possible;
            now = end;
        }
        None
    }
}

#[derive(Clone, Debug)]
pub struct Opportunities {
    times_ns: Vec<Time>,
    period_ns: Time,
    bytes_each: u32,
    /// Number of the opportunity in use since time zero, over all periods.
    next: i64,
    left_bytes: u32,
}

impl Opportunities {
    fn time(&self, number: i64) -> Time {
        let count = self.times_ns.len() as i64;
        let periods_ns = number.div_euclid(count).saturating_mul(self.period_ns);
        periods_ns.saturating_add(self.times_ns[number.rem_euclid(count) as usize])
    }

    /// Leave opportunities behind that were over before `start`.
    fn skip_to(&mut self, start: Time) {
        if self.time(self.next) >= start {
            return;
        }
        let within = start.rem_euclid(self.period_ns);
        let passed = self.times_ns.partition_point(|time| *time < within) as i64;
        let number = start.div_euclid(self.period_ns) * self.times_ns.len() as i64 + passed;
        if number > self.next {
            self.next = number;
            self.left_bytes = self.bytes_each;
        }
    }

    fn departure(&mut self, start: Time, bytes: u32) -> Option<Time> {
        self.skip_to(start);
        let mut wanted = bytes;
        while wanted > self.left_bytes {
            wanted -= self.left_bytes;
            self.next += 1;
            self.left_bytes = self.bytes_each;
        }
        self.left_bytes -= wanted;
        Some(self.time(self.next).max(start))
    }
}

#[derive(Clone, Debug)]
pub struct TokenBucket {
    rate_bytes_per_ns: f64,
    burst_bytes: f64,
    tokens: f64,
    at: Time,
    /// Whether anything has passed: the bucket is full before.
    filled: bool,
}

impl TokenBucket {
    fn tokens_at(&self, now: Time) -> f64 {
        if !self.filled {
            return self.tokens;
        }
        let refill = (now - self.at) as f64 * self.rate_bytes_per_ns;
        (self.tokens + refill).min(self.burst_bytes)
    }

    fn departure(&mut self, start: Time, bytes: u32) -> Option<Time> {
        let size = f64::from(bytes);
        if size > self.burst_bytes {
            return None;
        }
        let tokens = self.tokens_at(start);
        let wait = ((size - tokens) / self.rate_bytes_per_ns).ceil().max(0.0);
        if wait >= (NEVER - start) as f64 {
            return None;
        }
        self.filled = true;
        self.at = start + wait as Time;
        self.tokens = tokens + wait * self.rate_bytes_per_ns - size;
        Some(self.at)
    }
}
