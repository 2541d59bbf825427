// What a run came to, in a table and a list.

import { element, number, percent } from "./formats.js";

const COLUMNS = [
  ["flow", (flow) => flow.name],
  ["received, kbit/s", (flow) => number(flow.mean_kbps)],
  ["offered, kbit/s", (flow) => number(flow.offered_kbps)],
  ["lost", (flow) => percent(flow.loss)],
  ["mean delay, s", (flow) => number(flow.delay_s.mean, 3)],
  ["p95 delay, s", (flow) => number(flow.delay_s.p95, 3)],
  ["retransmitted", (flow) => number(flow.retransmissions)],
];

/** Fill the table of flows. */
export function showFlows(table, run) {
  const head = element(
    "thead",
    {},
    element("tr", {}, ...COLUMNS.map(([name]) => element("th", { scope: "col" }, name))),
  );
  const rows = run.flows.map((flow) =>
    element(
      "tr",
      {},
      ...COLUMNS.map(([, of], place) =>
        place === 0 ? element("th", { scope: "row" }, of(flow)) : element("td", {}, of(flow)),
      ),
    ),
  );
  table.replaceChildren(head, element("tbody", {}, ...rows));
}

function rateText(kbps) {
  return kbps >= 1000 ? `${number(kbps / 1000, 3)} Mbit/s` : `${number(kbps, 3)} kbit/s`;
}

/** Fill the list of results: what is read first; a sign tells what is bad without its colour. */
export function showResults(list, run) {
  const { session } = run;
  const [media] = run.flows;
  const stalls = session.stalls ?? [];
  const stalled = stalls.reduce((sum, stall) => sum + stall.duration_s, 0);
  const start = session.times.playback_start_s;
  const results = [
    ["mean rate received", rateText(media.mean_kbps), false],
    stalled > 0
      ? ["stalls", `${stalls.length}, ${number(stalled, 3)} s`, true]
      : ["stalls", session.has_player ? "none" : "no player", false],
    ["playback starts after", typeof start === "number" ? `${number(start, 3)} s` : null, false],
    ["packets lost", percent(media.loss), media.loss > 0.01],
    ["delay, 95th percentile", `${number(1000 * media.delay_s.p95, 3)} ms`, false],
  ].filter(([, text]) => text !== null);
  list.replaceChildren(
    ...results.map(([name, text, bad]) =>
      element(
        "div",
        { className: bad ? "bad" : "" },
        element("dt", {}, name),
        element("dd", {}, bad ? `! ${text}` : text),
      ),
    ),
  );
}

function phase(one) {
  if (!one) return null;
  const rate = `${number(one.rate_kbps)} kbit/s`;
  const offered = `${number(one.offered_kbps)} kbit/s offered`;
  return `${number(one.duration_s, 3)} s at ${rate}, ${offered}, ${percent(one.loss)} lost`;
}

function moments(list, text) {
  const shown = list.slice(0, 8).map(text);
  if (list.length > shown.length) shown.push(`and ${list.length - shown.length} more`);
  return shown.length ? shown.join("; ") : "none";
}

/** Fill the list of what happened to the session. */
export function showSession(list, run) {
  const { session } = run;
  const facts = [
    ["Silence", `${number(session.silence_s, 3)} s before the first media packet`],
    ["Buffering", phase(session.buffering)],
    ["Playout", phase(session.playout)],
    [
      "Level changes",
      moments(
        session.level_changes,
        (change) =>
          `${number(change.from_kbps)} to ${number(change.to_kbps)} kbit/s` +
          ` at ${number(change.time_s, 3)} s`,
      ),
    ],
    [
      "Stalls",
      session.has_player
        ? moments(
            session.stalls,
            (stall) => `${number(stall.duration_s, 3)} s at ${number(stall.start_s, 3)} s`,
          )
        : "no player simulated",
    ],
    [
      "Playback starts",
      typeof session.times.playback_start_s === "number"
        ? `${number(session.times.playback_start_s, 3)} s`
        : null,
    ],
  ].filter(([, text]) => text !== null);
  list.replaceChildren(
    ...facts.flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)]),
  );
}

/** Return the series of a run as CSV, a line for each half second. */
export function seriesAsCsv(run) {
  const { interval_s: interval, start_s: start, ...columns } = run.series;
  const names = Object.keys(columns);
  const lines = [["time_s", ...names].join(",")];
  for (let place = 0; place < columns.media_kbps.length; place += 1) {
    lines.push(
      [start + place * interval, ...names.map((name) => columns[name][place] ?? "")].join(","),
    );
  }
  return `${lines.join("\n")}\n`;
}
