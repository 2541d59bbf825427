// Numbers for people, and elements whose content is text and nothing else.

/** Return a number with a few digits; a dash where there is none. */
export function number(value, digits = 4) {
  if (typeof value !== "number" || !Number.isFinite(value)) return "–";
  return Number(value.toPrecision(digits)).toLocaleString("en", { maximumFractionDigits: 6 });
}

/** Return a share as a percentage. */
export function percent(share) {
  return typeof share === "number" ? `${number(100 * share, 3)} %` : "–";
}

/** Return an element with properties and children; texts become text nodes, never markup. */
export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made && !key.startsWith("aria-")) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}
