//! Quantiles and moments of laws that have no closed form of them, from the distribution function.

use super::special::integrate;

/// Width of a range of logarithms that counts as a point, and steps after which a search ends.
const NARROW: f64 = 1e-15;
const MOST_STEPS: usize = 100;
/// Logarithms of distances that a double holds.
const SMALLEST_LOG: f64 = -745.0;
const LARGEST_LOG: f64 = 709.0;
/// Quantiles of whole numbers are sought up to here; beyond, doubles no longer hold them all.
const LARGEST_WHOLE: f64 = 4_503_599_627_370_496.0;
/// A probability that was computed from a value leads back to it in spite of rounding.
const ROUNDING: f64 = 4e-16;
/// Logarithms of small probabilities between which a tail shows whether a moment is finite.
const FAR_TAIL: (f64, f64) = (200.0, 300.0);
/// Values beyond stand for larger ones, which no double holds.
const LARGEST: f64 = 1e300;
/// So many probabilities of whole numbers are summed one by one.
const SUMMED: usize = 4096;

/// Quantile of a continuous law between two ends, the lower of which may be infinite.
pub fn quantile(
    tail: impl Fn(f64, bool) -> f64,
    (low, high): (f64, f64),
    p: f64,
    upper: bool,
) -> f64 {
    // In logarithms of the distance from the end, in which laws of many scales are smooth.
    let place = |log: f64| {
        let from_end = if low.is_finite() { low + log.exp() } else { log.sinh() };
        from_end.min(high)
    };
    let log_p = p.ln();
    let ascending = |log: f64| {
        let excess = tail(place(log), upper).ln() - log_p;
        if upper {
            -excess
        } else {
            excess
        }
    };
    let (mut below, mut above) = (0.0, 0.0);
    if ascending(0.0) < 0.0 {
        let mut width = 1.0;
        while above < LARGEST_LOG {
            (below, above, width) = (above, above + width, 2.0 * width);
            if ascending(above) >= 0.0 {
                break;
            }
        }
    } else {
        let mut width = 1.0;
        let least = if low.is_finite() { SMALLEST_LOG } else { -LARGEST_LOG };
        while below > least {
            (below, above, width) = (below - width, below, 2.0 * width);
            if ascending(below) <= 0.0 {
                break;
            }
        }
    }
    place(find_root(ascending, below, above))
}

/// Smallest whole number from the first on with a probability: by doubling steps, then by halving.
pub fn whole_quantile(tail: impl Fn(f64, bool) -> f64, first: f64, p: f64, upper: bool) -> f64 {
    let is_reached = |k: f64| {
        if upper {
            tail(k, true) <= p * (1.0 + ROUNDING)
        } else {
            tail(k, false) >= p * (1.0 - ROUNDING)
        }
    };
    let (mut low, mut high, mut step) = (first - 1.0, first, 1.0);
    while !is_reached(high) && high <= LARGEST_WHOLE {
        (low, high, step) = (high, high + step, 2.0 * step);
    }
    while high - low > 1.0 {
        let middle = (0.5 * (low + high)).floor();
        if is_reached(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

/// E[Z^order; low < Z <= high] of a continuous law, by integrating over the logarithm of each tail.
pub fn partial_moment(
    tail: impl Fn(f64, bool) -> f64,
    ends: (f64, f64),
    order: i32,
    (low, high): (f64, f64),
) -> f64 {
    let of_tail = |upper: bool| {
        let (near, far) = if upper { (low, high) } else { (high, low) };
        let log = |z: f64| -tail(z, upper).max(1e-300).ln();
        let (start, end) = (log(near).max(std::f64::consts::LN_2), log(far));
        if end <= start {
            return 0.0;
        }
        let place = |t: f64| quantile(&tail, ends, (-t).exp(), upper);
        let value = |t: f64| place(t).powi(order);
        let mut rest = 0.0;
        if far.is_infinite() {
            let (one, other) = (value(FAR_TAIL.0), value(FAR_TAIL.1));
            let decay = 1.0 - (other / one).abs().ln() / (FAR_TAIL.1 - FAR_TAIL.0);
            if place(FAR_TAIL.1).abs() > LARGEST || other.is_infinite() || decay <= 0.0 {
                return other * f64::INFINITY;
            }
            rest = value(end) * (-end).exp() / decay;
        }
        integrate(|t| value(t) * (-t).exp(), start, end) + rest
    };
    of_tail(false) + of_tail(true)
}

/// E[K^order; K <= end] of whole numbers: a sum, and beyond a continuous law with the same tail.
pub fn whole_moment(tail: impl Fn(f64, bool) -> f64, first: f64, order: i32, end: f64) -> f64 {
    let (mut sum, mut above, mut k) = (0.0, 1.0, first);
    for _ in 0..SUMMED {
        if k > end || above == 0.0 {
            return sum;
        }
        let beyond = tail(k, true);
        sum += k.powi(order) * (above - beyond);
        (above, k) = (beyond, k + 1.0);
    }
    let smooth = |x: f64, upper: bool| tail(x - 0.5, upper);
    let between = (k - 0.5, end + 0.5);
    // A number is spread over a unit, which adds to its square.
    let spread = if order == 2 { (above - tail(end, true)) / 12.0 } else { 0.0 };
    sum + partial_moment(smooth, (first - 0.5, f64::INFINITY), order, between) - spread
}

/// Finds where an ascending function is 0 between two places (Chandrupatla, Advances in Engineering
/// Software 28, 1997): by inverse quadratic interpolation where it is safe, else by halving.
pub fn find_root(ascending: impl Fn(f64) -> f64, low: f64, high: f64) -> f64 {
    let (mut near, mut far) = ((low, ascending(low)), (high, ascending(high)));
    let mut share = 0.5;
    for _ in 0..MOST_STEPS {
        let place = near.0 + share * (far.0 - near.0);
        let middle = (place, ascending(place));
        let third;
        if (middle.1 < 0.0) == (near.1 < 0.0) {
            third = near;
        } else {
            (third, far) = (far, near);
        }
        near = middle;
        let least = NARROW * near.0.abs().max(1.0) / (far.0 - near.0).abs();
        if near.1 == 0.0 || least.is_nan() || least > 0.5 {
            break;
        }
        let xi = (near.0 - far.0) / (third.0 - far.0);
        let phi = (near.1 - far.1) / (third.1 - far.1);
        share = 0.5;
        if phi * phi < xi && (1.0 - phi) * (1.0 - phi) < 1.0 - xi {
            share = near.1 / (far.1 - near.1) * third.1 / (far.1 - third.1)
                + (third.0 - near.0) / (far.0 - near.0) * near.1 / (third.1 - near.1) * far.1
                    / (third.1 - far.1);
        }
        share = share.clamp(least, 1.0 - least);
    }
    if near.1.abs() <= far.1.abs() {
        near.0
    } else {
        far.0
    }
}
