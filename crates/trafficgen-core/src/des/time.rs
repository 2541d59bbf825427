//! Times of a simulation: whole nanoseconds, zero where the first session starts.

/// Nanoseconds from the simulation's zero; negative before it.
pub type Time = i64;

pub const NS_PER_S: f64 = 1e9;
/// Later than anything that happens: 73 years.
pub const NEVER: Time = i64::MAX / 4;
/// Players are asked for their state, and series count bytes, in intervals of this length.
pub const INTERVAL_NS: Time = 500_000_000;

/// Seconds to nanoseconds, rounded; what is beyond 73 years becomes [`NEVER`].
pub fn ns(seconds: f64) -> Time {
    let nanoseconds = (seconds * NS_PER_S).round();
    if nanoseconds >= NEVER as f64 {
        NEVER
    } else {
        nanoseconds as Time
    }
}

/// Nanoseconds to seconds.
pub fn seconds(time: Time) -> f64 {
    time as f64 / NS_PER_S
}

/// How long a link of `rate_bps` takes to send `bytes`, in ns.
pub fn sending_ns(bytes: u32, rate_bps: f64) -> Time {
    ns(f64::from(bytes) * 8.0 / rate_bps)
}
