// Sliders that move by equal distances, or by equal ratios with three digits.

const POSITIONS = 1000;

/** Return what a range input needs for a control. */
export function rangeOf(control) {
  if (control.scale === "log") return { min: 0, max: POSITIONS, step: 1 };
  return { min: control.low, max: control.high, step: control.step };
}

/** Return where the slider stands for a value. */
export function positionOf(control, value) {
  if (control.scale !== "log") return value;
  const share = Math.log(value / control.low) / Math.log(control.high / control.low);
  return Math.round(POSITIONS * share);
}

/** Return the value for a position of the slider. */
export function valueOf(control, position) {
  if (control.scale !== "log") return Number(Number(position).toPrecision(6));
  if (Number(position) === POSITIONS) return control.high;
  const value = control.low * (control.high / control.low) ** (position / POSITIONS);
  const rounded = Number(value.toPrecision(3));
  return Math.max(control.low, control.whole ? Math.round(rounded) : rounded);
}
