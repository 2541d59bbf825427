//! Special functions of laws, for numbers with and without derivatives.
//!
//! Incomplete gamma and beta functions and the zeta function as in Press et al., "Numerical
//! recipes" (2007), chapter 6, and Loader, "Fast and accurate computation of binomial
//! probabilities" (2000); logarithms of the gamma function and error functions are those of
//! `libm`. Relative errors against `scipy.special` are below 1e-9, tails included.

use super::real::Real;

const MOST_TERMS: usize = 100_000;
/// Beyond this sum of its shapes a beta law is a point: its logarithms have no digits left.
const LARGEST_SUM: f64 = 1e15;
/// From this shape on the gamma law is close enough to a normal one to be integrated.
const LARGE_SHAPE: f64 = 200.0;
/// Points and weights of Gauss and Legendre's rule on [-1, 1], the positive half of 16.
const POINTS: [f64; 8] = [
    0.095_012_509_837_637_44,
    0.281_603_550_779_258_9,
    0.458_016_777_657_227_4,
    0.617_876_244_402_643_7,
    0.755_404_408_355_003,
    0.865_631_202_387_831_8,
    0.944_575_023_073_232_6,
    0.989_400_934_991_649_9,
];
const WEIGHTS: [f64; 8] = [
    0.189_450_610_455_068_5,
    0.182_603_415_044_923_6,
    0.169_156_519_395_002_54,
    0.149_595_988_816_576_73,
    0.124_628_971_255_533_87,
    0.095_158_511_682_492_78,
    0.062_253_523_938_647_89,
    0.027_152_459_411_754_09,
];

/// Numerators and denominators of Wichura's three parts of the normal quantile, by ascending power.
const NORMAL: [[f64; 8]; 6] = [
    [
        3.387_132_872_796_366_5,
        133.141_667_891_784_38,
        1_971.590_950_306_551_3,
        13_731.693_765_509_46,
        45_921.953_931_549_87,
        67_265.770_927_008_7,
        33_430.575_583_588_13,
        2_509.080_928_730_122_7,
    ],
    [
        1.0,
        42.313_330_701_600_91,
        687.187_007_492_057_9,
        5_394.196_021_424_751,
        21_213.794_301_586_597,
        39_307.895_800_092_71,
        28_729.085_735_721_943,
        5_226.495_278_852_854,
    ],
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        0.241_780_725_177_450_6,
        0.022_723_844_989_269_184,
        0.000_774_545_014_278_341_4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        0.689_767_334_985_1,
        0.148_103_976_427_480_08,
        0.015_198_666_563_616_457,
        0.000_547_593_808_499_534_5,
        1.050_750_071_644_416_9e-09,
    ],
    [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        0.296_560_571_828_504_87,
        0.026_532_189_526_576_124,
        0.001_242_660_947_388_078_4,
        2.711_555_568_743_487_6e-05,
        2.010_334_399_292_288_1e-07,
    ],
    [
        1.0,
        0.599_832_206_555_888,
        0.136_929_880_922_735_8,
        0.014_875_361_290_850_615,
        0.000_786_869_131_145_613_3,
        1.846_318_317_510_054_8e-05,
        1.421_511_758_316_446e-07,
        2.044_263_103_389_939_7e-15,
    ],
];
/// Share of an integral by which halving a panel may change it, above the rounding of values that
/// were searched for; and how often a panel is halved.
const INTEGRAL_ERROR: f64 = 1e-11;
const MOST_HALVINGS: u32 = 10;

/// Derivative of the logarithm of the gamma function, for x > 0.
pub fn digamma(x: f64) -> f64 {
    let (mut x, mut below) = (x, 0.0);
    while x < 12.0 {
        below += 1.0 / x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let terms =
        [-1.0 / 12.0, 1.0 / 120.0, -1.0 / 252.0, 1.0 / 240.0, -1.0 / 132.0, 691.0 / 32760.0];
    let series = terms.iter().rev().fold(0.0, |sum, term| (sum + term) * square);
    x.ln() - 0.5 / x + series - below
}

/// ln(1 + x) - x without loss of digits near 0.
pub fn ln_1p_less<T: Real>(x: T) -> T {
    if x.value().abs() > 0.1 {
        return x.ln_1p() - x;
    }
    // With y = x / (2 + x): ln(1 + x) = 2 (y + y^3 / 3 + ...), and 2 y - x = -x y.
    let y = x / x.plus(2.0);
    let square = y * y;
    let mut sum = T::constant(0.0);
    for odd in (3..=23).rev().step_by(2) {
        sum = (sum + T::constant(1.0 / f64::from(odd))) * square;
    }
    y * (sum.times(2.0) - x)
}

/// ln gamma(x + 1) less Stirling's (x + 1/2) ln x - x + ln(2 pi) / 2, for large x.
fn stirling_error<T: Real>(x: T) -> T {
    let square = T::constant(1.0) / (x * x);
    let terms = [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0];
    let start = T::constant(0.0);
    let series = terms.iter().rev().fold(start, |sum, term| sum * square + T::constant(*term));
    series / x
}

/// exp(-x) x^a / gamma(a + 1).
fn poisson_term<T: Real>(a: T, x: T) -> T {
    if a.value() < 20.0 {
        return (a * x.ln() - x - a.plus(1.0).ln_gamma()).exp();
    }
    let exponent = a * ln_1p_less((x - a) / a) - stirling_error(a);
    exponent.exp() / a.times(2.0 * std::f64::consts::PI).sqrt()
}

/// Regularised lower and upper incomplete gamma functions of shape a > 0 and x >= 0.
pub fn gamma_tails<T: Real>(a: T, x: T) -> (T, T) {
    let (zero, one) = (T::constant(0.0), T::constant(1.0));
    if x.value() <= 0.0 {
        return (zero, one);
    }
    if x.value() == f64::INFINITY {
        return (one, zero);
    }
    let term = poisson_term(a, x);
    let near = (x.value() - a.value()).abs() < 0.3 * a.value();
    if a.value() > LARGE_SHAPE && near {
        let inside = term * a / x * gamma_integral(a, x);
        return if x.value() < a.value() { (inside, one - inside) } else { (one - inside, inside) };
    }
    if x.value() < a.value() + 1.0 {
        let lower = term * gamma_series(a, x);
        return (lower, one - lower);
    }
    let upper = term * a * gamma_fraction(a, x);
    (one - upper, upper)
}

/// Integral of the gamma density from x to the nearer end, over the density at x.
fn gamma_integral<T: Real>(a: T, x: T) -> T {
    let sign = if x.value() < a.value() { -1.0 } else { 1.0 };
    let sd = a.value().sqrt();
    let distance = (x.value() - a.value()).abs() / sd;
    // Beyond, the density of a normal law has fallen by exp(-40); the gamma law's right side falls
    // more slowly, the deeper in the tail the more.
    let end = 1.4 * ((distance * distance + 80.0).sqrt() - distance);
    let end = if sign < 0.0 { end.min(0.999 * x.value() / sd) } else { end };
    let (panels, mut sum) = (4, T::constant(0.0));
    let half = 0.5 * end * sd / f64::from(panels);
    for panel in 0..panels {
        let middle = half * f64::from(2 * panel + 1);
        for (point, weight) in POINTS.iter().zip(WEIGHTS) {
            for side in [-1.0, 1.0] {
                let step = T::constant(sign * (middle + side * half * point));
                let fall = a.plus(-1.0) * (step / x).ln_1p() - step;
                sum = sum + fall.exp().times(weight * half);
            }
        }
    }
    sum
}

fn gamma_series<T: Real>(a: T, x: T) -> T {
    let (mut sum, mut term, mut shape) = (T::constant(1.0), T::constant(1.0), a);
    for _ in 0..MOST_TERMS {
        shape = shape.plus(1.0);
        term = term * x / shape;
        sum = sum + term;
        if term.is_negligible(sum) {
            break;
        }
    }
    sum
}

/// Lentz's method for the continued fraction of gamma(a, x) exp(x) x^-a.
fn gamma_fraction<T: Real>(a: T, x: T) -> T {
    let one = T::constant(1.0);
    let mut b = x.plus(1.0) - a;
    let mut c = T::constant(1e300);
    let mut d = one / b;
    let mut fraction = d;
    for step in 1..MOST_TERMS {
        let number = step as f64;
        let numerator = (a.plus(-number)).times(number);
        b = b.plus(2.0);
        d = one / away_from_zero(numerator * d + b);
        c = away_from_zero(b + numerator / c);
        let factor = d * c;
        fraction = fraction * factor;
        if has_settled(factor) {
            break;
        }
    }
    fraction
}

fn has_settled<T: Real>(factor: T) -> bool {
    factor.plus(-1.0).times(0.05).is_negligible(T::constant(1.0))
}

fn away_from_zero<T: Real>(x: T) -> T {
    if x.value().abs() < 1e-300 {
        T::constant(1e-300)
    } else {
        x
    }
}

/// P(low < X <= high) of the gamma law of shape a, from the tail in which it keeps its digits.
pub fn gamma_between(a: f64, low: f64, high: f64) -> f64 {
    let (one, other) = (gamma_tails(a, low), gamma_tails(a, high));
    between(one, other)
}

/// The probability between two places, of which both tails are known.
pub fn between(low: (f64, f64), high: (f64, f64)) -> f64 {
    if low.0 > 0.5 {
        low.1 - high.1
    } else {
        high.0 - low.0
    }
}

/// Regularised incomplete beta function of x and its complement; `rest` is 1 - x.
pub fn beta_tails<T: Real>(a: T, b: T, x: T, rest: T) -> (T, T) {
    let (zero, one) = (T::constant(0.0), T::constant(1.0));
    if x.value() <= 0.0 {
        return (zero, one);
    }
    if rest.value() <= 0.0 {
        return (one, zero);
    }
    let sum = a + b;
    if sum.value() > LARGEST_SUM {
        return if x.value() * sum.value() > a.value() { (one, zero) } else { (zero, one) };
    }
    let whole = sum.ln_gamma() - a.ln_gamma() - b.ln_gamma();
    let front = (whole + a * x.ln() + b * rest.ln()).exp();
    if x.value() < (a.value() + 1.0) / (a.value() + b.value() + 2.0) {
        let lower = front / a * beta_fraction(a, b, x);
        (lower, one - lower)
    } else {
        let upper = front / b * beta_fraction(b, a, rest);
        (one - upper, upper)
    }
}

fn beta_fraction<T: Real>(a: T, b: T, x: T) -> T {
    let one = T::constant(1.0);
    let sum = a + b;
    let mut c = one;
    let mut d = one / away_from_zero(one - sum * x / a.plus(1.0));
    let mut fraction = d;
    for step in 1..MOST_TERMS {
        let m = step as f64;
        let twice = a.plus(2.0 * m);
        let even = (b.plus(-m)).times(m) * x / (twice.plus(-1.0) * twice);
        d = one / away_from_zero(one + even * d);
        c = away_from_zero(one + even / c);
        fraction = fraction * d * c;
        let odd = -(a.plus(m) * sum.plus(m) * x) / (twice * twice.plus(1.0));
        d = one / away_from_zero(one + odd * d);
        c = away_from_zero(one + odd / c);
        let factor = d * c;
        fraction = fraction * factor;
        if has_settled(factor) {
            break;
        }
    }
    fraction
}

/// Hurwitz's zeta function by Euler and Maclaurin's formula: the sum of (q + k)^-a over k >= 0.
pub fn zeta<T: Real>(a: T, q: f64) -> T {
    const DIRECT: u32 = 12;
    let power = |base: f64| (-a.times(base.ln())).exp();
    let mut sum = T::constant(0.0);
    for k in 0..DIRECT {
        sum = sum + power(q + f64::from(k));
    }
    let end = q + f64::from(DIRECT);
    let last = power(end);
    sum = sum + last.times(end) / a.plus(-1.0) + last.times(0.5);
    // Bernoulli numbers over factorials.
    let terms = [
        1.0 / 12.0,
        -1.0 / 720.0,
        1.0 / 30_240.0,
        -1.0 / 1_209_600.0,
        1.0 / 47_900_160.0,
        -691.0 / 1_307_674_368_000.0,
    ];
    let mut rising = a * last.times(1.0 / end);
    for (at, term) in terms.iter().enumerate() {
        sum = sum + rising.times(*term);
        let next = 2.0 * at as f64;
        rising = rising * a.plus(next + 1.0) * a.plus(next + 2.0);
        rising = rising.times(1.0 / (end * end));
    }
    sum
}

/// Quantile of the normal law (Wichura, "Algorithm AS 241", Applied Statistics 37, 1988, PPND16).
pub fn normal_quantile(p: f64) -> f64 {
    let ratio = |x: f64, above: &[f64; 8], below: &[f64; 8]| {
        let sum = |terms: &[f64; 8]| terms.iter().rev().fold(0.0, |sum, term| sum * x + term);
        sum(above) / sum(below)
    };
    let from_middle = p - 0.5;
    if from_middle.abs() <= 0.425 {
        return from_middle * ratio(0.180_625 - from_middle * from_middle, &NORMAL[0], &NORMAL[1]);
    }
    let distance = (-p.min(1.0 - p).ln()).sqrt();
    let size = if distance <= 5.0 {
        ratio(distance - 1.6, &NORMAL[2], &NORMAL[3])
    } else {
        ratio(distance - 5.0, &NORMAL[4], &NORMAL[5])
    };
    size.copysign(from_middle)
}

/// ln(p / (1 - p)), with its digits near 1 / 2 too.
pub fn logit(p: f64) -> f64 {
    if (0.3..0.65).contains(&p) {
        let twice = 2.0 * p - 1.0;
        return twice.ln_1p() - (-twice).ln_1p();
    }
    (p / (1.0 - p)).ln()
}

/// Integral by Gauss and Legendre's rule, on panels that are halved until that changes nothing.
pub fn integrate(f: impl Fn(f64) -> f64, low: f64, high: f64) -> f64 {
    let rule = |low: f64, high: f64| {
        let (middle, half) = (0.5 * (low + high), 0.5 * (high - low));
        let pair = |(point, weight): (&f64, f64)| {
            weight * (f(middle - half * point) + f(middle + half * point))
        };
        half * POINTS.iter().zip(WEIGHTS).map(pair).sum::<f64>()
    };
    let (mut panels, mut at, mut width) = (Vec::new(), low, 1.0_f64);
    while at < high {
        let end = (at + width).min(high);
        panels.push((at, end, rule(at, end), 0));
        (at, width) = (end, 1.5 * width);
    }
    let size: f64 = panels.iter().map(|panel| panel.2.abs()).sum();
    let mut total = 0.0;
    while let Some((low, high, whole, halvings)) = panels.pop() {
        let middle = 0.5 * (low + high);
        let (left, right) = (rule(low, middle), rule(middle, high));
        let error = (left + right - whole).abs();
        if error <= INTEGRAL_ERROR * size || halvings == MOST_HALVINGS || error.is_nan() {
            total += left + right;
        } else {
            panels.push((low, middle, left, halvings + 1));
            panels.push((middle, high, right, halvings + 1));
        }
    }
    total
}
