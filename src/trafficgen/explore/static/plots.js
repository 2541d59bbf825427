// Panels with curves over time: what Plotly is given for each, in colours that colour-blind people
// tell apart.

import { element } from "./formats.js";

// Okabe and Ito (2008); the darker ones on white, the lighter ones on black.
const COLOURS = {
  light: {
    received: "#0072B2",
    offered: "#D55E00",
    competitor: "#009E73",
    measured: "#CC79A7",
    level: "#0072B2",
    buffer: "#009E73",
    loss: "#D55E00",
    pinned: "#8c959f",
    text: "#1b1f24",
    grid: "#d8dee4",
    card: "#ffffff",
    stall: "rgba(213, 94, 0, 0.22)",
  },
  dark: {
    received: "#56B4E9",
    offered: "#E69F00",
    competitor: "#2fc79a",
    measured: "#CC79A7",
    level: "#56B4E9",
    buffer: "#2fc79a",
    loss: "#E69F00",
    pinned: "#7d8894",
    text: "#e6edf3",
    grid: "#343c46",
    card: "#181d24",
    stall: "rgba(230, 159, 0, 0.25)",
  },
};
const TIME = "time after the first media packet, s";
// Where nothing is sent there is no loss to draw, so that values may stand alone.
const LONELY = { mode: "lines+markers", marker: { size: 3 } };
// Without Plotly's bar of buttons: it lies over the legend, and one of them leads to a service
// elsewhere.
const CONFIG = { displaylogo: false, displayModeBar: false };
/** Charts keep the width of their cards, whatever changes it: the window, a scroll bar, a font. */
const SIZES = new ResizeObserver((entries) => {
  for (const { target } of entries) if (target.data) Plotly.Plots.resize(target);
});
// A finger that moves over a drawing scrolls the page.
const DRAG = window.matchMedia("(pointer: coarse)").matches ? false : "zoom";

/** Return the colours of the theme that is shown. */
function colours() {
  return COLOURS[document.documentElement.dataset.theme === "dark" ? "dark" : "light"];
}

/** Return the times of the values of a series, s. */
export function timesOf(series, values) {
  return values.map((_, place) => series.start_s + place * series.interval_s);
}

function curve(series, values, name, line, more = {}) {
  return {
    type: "scatter",
    mode: "lines",
    x: timesOf(series, values),
    y: values,
    name,
    line,
    connectgaps: false,
    ...more,
  };
}

function some(values) {
  return Array.isArray(values) && values.some((value) => value !== null);
}

/** Return the names of the series of other flows. */
export function competitorsOf(run) {
  return run.flows
    .slice(1)
    .map((flow) => flow.name)
    .filter((name) => /-\d+$/.test(name) && run.series[`${name}_kbps`]);
}

/** Return names and series of the streams of a session that has several. */
function streamsOf(run) {
  return run.flows
    .slice(1)
    .map((flow) => flow.name)
    .filter((name) => !/-\d+$/.test(name) && run.series[`${name}_kbps`]);
}

const PANELS = [
  {
    id: "rate",
    title: "Rate",
    axis: "rate, kbit/s",
    unit: "kbit/s",
    tall: true,
    curves(run, paint, { measured, capacityKbps, span }) {
      const { series } = run;
      const made = [];
      if (measured)
        made.push(
          curve(measured, measured.media_kbps, "measured in the capture", {
            color: paint.measured,
            width: 1.5,
          }),
        );
      made.push(
        curve(series, series.media_offered_kbps, "offered by the source", {
          color: paint.offered,
          width: 1.3,
          dash: "dot",
        }),
      );
      for (const name of competitorsOf(run)) {
        made.push(
          curve(series, series[`${name}_kbps`], `${name}, received`, {
            color: paint.competitor,
            width: 1.5,
            dash: "dashdot",
          }),
        );
      }
      for (const [place, name] of streamsOf(run).entries()) {
        made.push(
          curve(
            series,
            series[`${name}_kbps`],
            `${name} alone`,
            { color: paint.received, width: 1, dash: ["longdash", "longdashdot"][place % 2] },
            { visible: "legendonly" },
          ),
        );
      }
      made.push(
        curve(series, series.media_kbps, "received by the client", {
          color: paint.received,
          width: 2,
        }),
      );
      made.push({
        type: "scatter",
        mode: "lines",
        x: span,
        y: [capacityKbps, capacityKbps],
        name: "capacity of the path",
        line: { color: paint.text, width: 1, dash: "dash" },
        visible: capacityShown(run, capacityKbps) ? true : "legendonly",
      });
      return made;
    },
    pinned: (run, paint) =>
      curve(run.series, run.series.media_kbps, "pinned: received", {
        color: paint.pinned,
        width: 2,
      }),
  },
  {
    id: "level",
    title: "Encoding level",
    axis: "encoding, kbit/s",
    unit: "kbit/s",
    curves(run, paint) {
      const { has_player: hasPlayer, level_changes: changes } = run.session;
      if (!some(run.series.encoding_kbps) || !(hasPlayer || changes.length)) return [];
      return [
        curve(run.series, run.series.encoding_kbps, "encoding rate", {
          color: paint.level,
          width: 2,
          shape: "hv",
        }),
      ];
    },
    pinned: (run, paint) =>
      curve(run.series, run.series.encoding_kbps, "pinned: encoding rate", {
        color: paint.pinned,
        width: 2,
        shape: "hv",
      }),
  },
  {
    id: "buffer",
    title: "Player buffer",
    axis: "buffer, s",
    unit: "s",
    curves(run, paint) {
      if (!some(run.series.buffer_s)) return [];
      return [
        curve(run.series, run.series.buffer_s, "media in the buffer", {
          color: paint.buffer,
          width: 2,
        }),
      ];
    },
    shapes: (run, paint) =>
      (run.session.stalls ?? []).map((stall) => ({
        type: "rect",
        yref: "paper",
        y0: 0,
        y1: 1,
        x0: stall.start_s,
        x1: stall.start_s + Math.max(stall.duration_s, 0.1),
        fillcolor: paint.stall,
        line: { width: 0 },
        layer: "below",
      })),
    pinned: (run, paint) =>
      curve(run.series, run.series.buffer_s, "pinned: buffer", { color: paint.pinned, width: 2 }),
  },
  {
    id: "loss",
    title: "Loss",
    axis: "packets lost, %",
    unit: "%",
    curves(run, paint, { pinned }) {
      const lost = [run, pinned].some((one) => one?.series.media_loss.some((share) => share > 0));
      if (!lost) return [];
      return [
        curve(
          run.series,
          run.series.media_loss.map(asPercent),
          "packets lost",
          { color: paint.loss, width: 1.5 },
          LONELY,
        ),
      ];
    },
    pinned: (run, paint) =>
      curve(
        run.series,
        run.series.media_loss.map(asPercent),
        "pinned: packets lost",
        { color: paint.pinned, width: 1.5 },
        LONELY,
      ),
    least: 1,
  },
  {
    id: "frames",
    title: "Frame rate",
    axis: "frames per second",
    unit: "1/s",
    curves: (run, paint) =>
      some(run.series.frame_rate)
        ? [
            curve(run.series, run.series.frame_rate, "frames sent", {
              color: paint.level,
              width: 1.5,
            }),
          ]
        : [],
    pinned: (run, paint) =>
      curve(run.series, run.series.frame_rate, "pinned: frames sent", {
        color: paint.pinned,
        width: 1.5,
      }),
  },
];

function asPercent(share) {
  return share === null ? null : 100 * share;
}

/** A capacity far above all rates would flatten the curves: it is then in the legend only. */
function capacityShown(run, capacityKbps) {
  const most = Math.max(...run.series.media_offered_kbps, ...run.series.media_kbps, 1);
  return capacityKbps < 3 * most;
}

/** Make the places of the panels, with buttons that save their pictures. */
export function makePanels(place, pictureName) {
  for (const panel of PANELS) {
    const save = (format) =>
      element(
        "button",
        {
          type: "button",
          "aria-label": `${panel.title} as ${format.toUpperCase()}`,
          onclick: () =>
            Plotly.downloadImage(`plot-${panel.id}`, {
              format,
              filename: `${pictureName()}-${panel.id}`,
              width: 1000,
              height: 420,
            }),
        },
        format.toUpperCase(),
      );
    place.append(
      element(
        "section",
        { className: "card", id: `panel-${panel.id}`, "aria-labelledby": `title-${panel.id}` },
        element(
          "div",
          { className: "head" },
          element("h2", { id: `title-${panel.id}` }, panel.title),
          element("div", { className: "tools" }, save("png"), save("svg")),
        ),
        element("div", {
          className: panel.tall ? "plot tall" : "plot",
          id: `plot-${panel.id}`,
          role: "figure",
        }),
      ),
    );
  }
}

function layoutOf(panel, paint, span, shapes, most) {
  const axis = {
    color: paint.text,
    gridcolor: paint.grid,
    zerolinecolor: paint.grid,
    linecolor: paint.grid,
    automargin: true,
  };
  return {
    paper_bgcolor: paint.card,
    plot_bgcolor: paint.card,
    font: { color: paint.text, size: 12 },
    margin: { l: 58, r: 14, t: 8, b: 40 },
    hovermode: "x unified",
    dragmode: DRAG,
    hoverlabel: { bgcolor: paint.card, font: { color: paint.text } },
    showlegend: true,
    legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: { size: 11 } },
    xaxis: {
      ...axis,
      title: { text: TIME, standoff: 6 },
      range: span,
      hoverformat: ".4~g",
      ticksuffix: "",
      unifiedhovertitle: { text: "%{x} s" },
    },
    yaxis: {
      ...axis,
      title: { text: panel.axis, standoff: 6 },
      exponentformat: "none",
      separatethousands: true,
      rangemode: "tozero",
      hoverformat: ".4~g",
      ...(most ? { range: [0, most] } : {}),
    },
    shapes,
    uirevision: "stay",
  };
}

/** Draw all panels for a run, with a pinned one in grey behind it. */
export function drawPanels(run, { pinned, measured, capacityKbps }) {
  const paint = colours();
  const { series } = run;
  const ends = [run, pinned]
    .filter(Boolean)
    .map(({ series: its }) => its.start_s + its.interval_s * its.media_kbps.length);
  const span = [Math.min(series.start_s, 0), Math.max(1, ...ends)];
  for (const panel of PANELS) {
    const curves = panel.curves(run, paint, { measured, capacityKbps, span, pinned });
    const card = document.getElementById(`panel-${panel.id}`);
    const plot = document.getElementById(`plot-${panel.id}`);
    card.hidden = curves.length === 0;
    if (card.hidden) continue;
    if (pinned) curves.unshift(panel.pinned(pinned, paint));
    for (const one of curves)
      one.hovertemplate = `%{y:.4~g} ${panel.unit}<extra>${one.name}</extra>`;
    const highest = Math.max(
      0,
      ...curves.flatMap((one) => one.y.filter((value) => value !== null)),
    );
    const shapes = panel.shapes ? panel.shapes(run, paint) : [];
    plot.setAttribute("aria-label", `${panel.title} over time; the figures are in the table below`);
    Plotly.react(
      plot,
      curves,
      layoutOf(
        panel,
        paint,
        span,
        shapes,
        panel.least && highest < panel.least ? panel.least : null,
      ),
      CONFIG,
    );
    SIZES.observe(plot);
  }
}
