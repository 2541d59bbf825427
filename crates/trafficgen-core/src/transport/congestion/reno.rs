//! Additive increase, multiplicative decrease (RFC 5681).

/// Factor of the data in flight that remains after loss.
pub(super) const DECREASE: f64 = 0.5;

/// Segments by which a window of `window` segments grows when `acknowledged` segments were.
pub(super) fn increase(window: f64, acknowledged: f64) -> f64 {
    acknowledged / window
}
