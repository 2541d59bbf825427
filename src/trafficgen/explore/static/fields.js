// Controls with their labels, units and errors, made from what the server says they are.

import { element } from "./formats.js";
import { positionOf, rangeOf, valueOf } from "./scales.js";

/** Return a place for what is wrong with a control; it is named by it. */
function errorPlace(name) {
  return element("p", { className: "error", id: `${idOf(name)}-error`, hidden: true });
}

/** Return the id of the input of a control or option. */
export function idOf(name) {
  return name.replace(/[^\w-]/g, "-");
}

function labelled(name, text, unit) {
  const label = element("label", { htmlFor: idOf(name) }, text);
  if (unit) label.append(" ", element("span", { className: "unit" }, unit));
  return label;
}

/** Return a row with a number and a slider; `changed` is called with the value as it is entered. */
export function sliderRow(control, changed) {
  const id = idOf(control.name);
  const slider = element("input", {
    type: "range",
    id: `${id}-slider`,
    autocomplete: "off",
    ...rangeOf(control),
    "aria-label": `${control.label}, slider`,
    "aria-describedby": `${id}-meaning`,
  });
  const box = element("input", {
    type: "number",
    id,
    autocomplete: "off",
    min: control.low,
    max: control.high,
    step: "any",
    inputMode: "decimal",
    "aria-describedby": `${id}-meaning ${id}-error`,
  });
  const spoken = (value) =>
    slider.setAttribute("aria-valuetext", `${value} ${control.unit}`.trim());
  slider.addEventListener("input", () => {
    const value = valueOf(control, slider.value);
    box.value = value;
    spoken(value);
    changed(value);
  });
  box.addEventListener("input", () => {
    if (box.value.trim() === "" || !Number.isFinite(box.valueAsNumber)) return;
    slider.value = positionOf(control, Math.max(control.low, box.valueAsNumber));
    spoken(box.valueAsNumber);
    changed(box.valueAsNumber);
  });
  const row = element(
    "div",
    { className: "row", title: control.meaning },
    labelled(control.name, control.label, control.unit),
    box,
    slider,
    element("p", { className: "meaning", id: `${id}-meaning` }, control.meaning),
    errorPlace(control.name),
  );
  const show = (value) => {
    box.value = value;
    slider.value = positionOf(control, Math.max(control.low, value));
    spoken(value);
  };
  return { row, show };
}

/**
 * Return a row for an option of a published model; `changed` is called with a text, empty: the
 * default.
 */
export function optionRow(option, text, changed) {
  const name = `set.${option.name}`;
  const label = option.name.replace(/_(kbps|s|bytes)$/, "").replaceAll("_", " ");
  const make = {
    choice: choiceInput,
    choices: choicesInput,
    number: numberInput,
    list: textInput,
    text: textInput,
  };
  const input = make[option.kind](option, text, changed);
  const several = option.kind === "choices";
  const head = several
    ? element("span", { className: "label", id: `${idOf(name)}-label` }, label)
    : labelled(name, label, option.unit);
  if (several && option.unit) head.append(" ", element("span", { className: "unit" }, option.unit));
  const row = element(
    "div",
    { className: several || option.kind === "list" ? "row wide" : "row", title: option.meaning },
    head,
    input,
    element("p", { className: "meaning", id: `${idOf(name)}-meaning` }, option.meaning),
    errorPlace(name),
  );
  return row;
}

function described(option) {
  const id = idOf(`set.${option.name}`);
  return { id, "aria-describedby": `${id}-meaning ${id}-error` };
}

function choiceInput(option, text, changed) {
  const unset = option.default === "" ? [""] : [];
  const input = element(
    "select",
    described(option),
    ...[...unset, ...option.choices].map((one) => element("option", { value: one }, one)),
  );
  input.value = text ?? option.default;
  input.addEventListener("change", () =>
    changed(input.value === option.default ? "" : input.value),
  );
  return input;
}

function choicesInput(option, text, changed) {
  const chosen = new Set((text ?? option.default).split(",").filter(Boolean));
  const boxes = option.choices.map((one) =>
    element("input", { type: "checkbox", value: one, checked: chosen.has(one) }),
  );
  const group = element(
    "div",
    {
      ...described(option),
      className: "several",
      role: "group",
      "aria-labelledby": `${idOf(`set.${option.name}`)}-label`,
    },
    ...boxes.map((box) => element("label", {}, box, box.value)),
  );
  group.addEventListener("change", () => {
    const values = boxes
      .filter((box) => box.checked)
      .map((box) => box.value)
      .join(",");
    changed(values === option.default ? "" : values);
  });
  return group;
}

function numberInput(option, text, changed) {
  const bounds = {};
  if (option.low !== null) bounds.min = option.low;
  if (option.high !== null) bounds.max = option.high;
  const input = element("input", {
    type: "number",
    step: "any",
    ...bounds,
    ...described(option),
    value: text ?? option.default,
  });
  input.addEventListener("input", () => changed(input.value === option.default ? "" : input.value));
  return input;
}

function textInput(option, text, changed) {
  const input = element("input", {
    type: "text",
    ...described(option),
    value: text ?? option.default,
  });
  input.addEventListener("input", () =>
    changed(input.value.trim() === option.default ? "" : input.value.trim()),
  );
  return input;
}

/** Show an error next to its control; return whether the page has such a control. */
export function showError(name, message) {
  const input = document.getElementById(idOf(name));
  const place = document.getElementById(`${idOf(name)}-error`);
  if (!input || !place || place.closest("[hidden]:not(.error)")) return false;
  input.setAttribute("aria-invalid", "true");
  place.textContent = message;
  place.hidden = false;
  return true;
}

/** Remove all errors of controls. */
export function clearErrors() {
  for (const input of document.querySelectorAll("[aria-invalid]"))
    input.removeAttribute("aria-invalid");
  for (const place of document.querySelectorAll("p.error")) place.hidden = true;
}
