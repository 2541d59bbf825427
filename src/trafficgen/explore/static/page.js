// The page: settings in, simulations out.

import { clearErrors, optionRow, showError, sliderRow } from "./fields.js";
import { seriesAsCsv, showFlows, showResults, showSession } from "./figures.js";
import { element, number } from "./formats.js";
import { queryOf, stateOf } from "./link.js";
import { drawPanels, makePanels } from "./plots.js";
import { choices, simulate } from "./server.js";
import { watchTheme } from "./theme.js";

const WAIT_MS = 150;
const at = (id) => document.getElementById(id);

let setup = null; // what the server says can be chosen
let state = null; // what is chosen
let latest = null; // the run that is shown
let pinned = null; // the run in grey behind it
let timer = 0;
const rows = new Map(); // control -> its row

function modelOf(name) {
  return setup.models.find((model) => model.name === name);
}

function defaults(name) {
  const values = Object.fromEntries(
    setup.controls.map((control) => [control.name, control.default]),
  );
  return {
    model: name,
    competitor: setup.defaults.competitor,
    values: { ...values, ...modelOf(name)?.values },
    settings: {},
  };
}

function keepLink() {
  window.history.replaceState(null, "", `?${queryOf(state)}`);
}

/** Simulate in a moment, unless something else is changed before. */
function changed() {
  keepLink();
  at("results").setAttribute("aria-busy", "true");
  clearTimeout(timer);
  timer = setTimeout(run, WAIT_MS);
}

async function run() {
  const request = structuredClone(state);
  at("status").textContent = "Simulating …";
  try {
    const answer = await simulate({
      model: request.model,
      competitor: request.competitor,
      settings: request.settings,
      ...request.values,
    });
    if (answer === null) return;
    latest = { ...answer, request };
    clearErrors();
    at("problem").hidden = true;
    show();
  } catch (error) {
    refused(error);
  }
  at("results").setAttribute("aria-busy", "false");
}

function refused(error) {
  clearErrors();
  const isShown = error.control ? showError(error.control, error.message) : false;
  at("problem").textContent = error.message;
  at("problem").hidden = isShown;
  at("status").textContent = latest
    ? "Not simulated; the curves are those of the run before."
    : "Not simulated.";
}

function show() {
  const { run: result, tookMs, request } = latest;
  const model = modelOf(request.model);
  drawPanels(result, {
    pinned: pinned?.run,
    measured: model.measured,
    capacityKbps: request.values.rate_kbps,
  });
  showResults(at("figures"), result);
  showFlows(at("flows"), result);
  showSession(at("session"), result);
  at("command").textContent = result.commands.join("\n");
  at("odd").replaceChildren(...result.odd.map((note) => element("li", {}, note)));
  at("warnings").replaceChildren(...model.warnings.map((note) => element("li", {}, note)));
  at("fit-warnings").hidden = model.warnings.length === 0;
  at("notes").hidden = model.warnings.length + result.odd.length === 0;
  const took = tookMs === null ? "" : ` in ${number(tookMs / 1000, 2)} s`;
  at("status").textContent = `Simulated ${number(result.packet_events, 9)} packet events${took}.`;
  at("pin").disabled = false;
  at("csv").disabled = false;
}

function showModel() {
  const model = modelOf(state.model);
  at("model").value = model ? state.model : "";
  at("model-about").textContent = model?.description ?? "";
  at("options").replaceChildren(
    ...(model?.options ?? []).map((option) =>
      optionRow(option, state.settings[option.name], (text) => {
        if (text === "") delete state.settings[option.name];
        else state.settings[option.name] = text;
        changed();
      }),
    ),
  );
  at("options-group").hidden = !model || model.options.length === 0;
  at("model-citations").replaceChildren(
    ...(model?.citations ?? []).map((text) => element("li", {}, text)),
  );
  at("model-limits").replaceChildren(
    ...(model?.limits ?? []).map((text) => element("li", {}, text)),
  );
  at("model-details").hidden = !model || model.citations.length + model.limits.length === 0;
}

function showControls() {
  for (const control of setup.controls) {
    const { row, show: showValue } = rows.get(control.name);
    showValue(state.values[control.name]);
    row.hidden = control.only_for.length > 0 && !control.only_for.includes(state.competitor);
  }
  at("competitor").value = state.competitor;
}

function showAll() {
  showModel();
  showControls();
}

function makeControls() {
  at("model").replaceChildren(
    ...setup.models.map((model) =>
      element(
        "option",
        { value: model.name },
        model.kind === "fitted" ? `${model.name} (fitted)` : model.name,
      ),
    ),
  );
  at("model").addEventListener("change", () => {
    state = { ...state, model: at("model").value, settings: {} };
    Object.assign(state.values, modelOf(state.model).values);
    showAll();
    changed();
  });
  at("competitor").replaceChildren(
    ...setup.competitors.map((one) => element("option", { value: one.name }, one.meaning)),
  );
  at("competitor").addEventListener("change", () => {
    state.competitor = at("competitor").value;
    showControls();
    changed();
  });
  for (const control of setup.controls) {
    const made = sliderRow(control, (value) => {
      state.values[control.name] = value;
      changed();
    });
    rows.set(control.name, made);
    at(`${control.group}-controls`).append(made.row);
  }
  at("presets").replaceChildren(
    ...setup.presets.map((preset) =>
      element(
        "button",
        {
          type: "button",
          onclick: () => {
            const kept = { duration_s: state.values.duration_s, seed: state.values.seed };
            state.values = { ...defaults(state.model).values, ...preset.values, ...kept };
            state.competitor = preset.competitor;
            showControls();
            changed();
          },
        },
        preset.label,
      ),
    ),
  );
}

async function copy(button, text) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Copying was refused";
  }
  setTimeout(() => {
    button.textContent = before;
  }, 1500);
}

function makeButtons() {
  at("copy-link").addEventListener("click", () => copy(at("copy-link"), window.location.href));
  at("copy-command").addEventListener("click", () =>
    copy(at("copy-command"), at("command").textContent),
  );
  at("reset").addEventListener("click", () => {
    state = defaults(setup.defaults.model);
    showAll();
    changed();
  });
  at("pin").addEventListener("click", () => {
    pinned = pinned ? null : latest;
    at("pin").setAttribute("aria-pressed", String(pinned !== null));
    at("pin").textContent = pinned ? "Take the pinned run away" : "Pin this run";
    show();
  });
  at("csv").addEventListener("click", () => {
    const address = URL.createObjectURL(new Blob([seriesAsCsv(latest.run)], { type: "text/csv" }));
    element("a", { href: address, download: `${pictureName()}.csv` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  });
  at("explain").addEventListener("change", () =>
    document.querySelector("main").classList.toggle("brief", !at("explain").checked),
  );
}

function pictureName() {
  return latest.request.model.replace(/[^\w.-]/g, "");
}

/** Take the settings of the link; parts that the page does not know are shown. */
function readLink() {
  const read = stateOf(
    window.location.search,
    defaults(new URLSearchParams(window.location.search).get("model") ?? setup.defaults.model),
    setup.controls,
  );
  state = read.state;
  return read.unknown;
}

async function start() {
  watchTheme(at("theme"), () => {
    if (latest) show();
  });
  makePanels(at("panels"), pictureName);
  makeButtons();
  try {
    setup = await choices();
  } catch (error) {
    refused(error);
    return;
  }
  makeControls();
  const unknown = readLink();
  showAll();
  await run();
  if (unknown.length) {
    at("problem").textContent = `Not understood in the link: ${unknown.join(", ")}`;
    at("problem").hidden = false;
  }
}

// A link that is followed within the page: back and forward.
window.addEventListener("popstate", () => {
  readLink();
  showAll();
  changed();
});

start();
