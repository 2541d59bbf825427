"use strict";
// Draws the descriptions in #charts by plotly.js; colours are those of the theme that is shown.
(() => {
  const root = document.documentElement;
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const figures = new Map();
  const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';

  const variable = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const colourOf = (role) => variable(`--role-${role}`);
  // plotly.js reads a little HTML in texts: what comes from a capture must not be read so.
  const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;");
  const translucent = (colour, alpha) => {
    const part = (at) => parseInt(colour.slice(at, at + 2), 16);
    return `rgba(${part(1)}, ${part(3)}, ${part(5)}, ${alpha})`;
  };

  function hover(chart, layer) {
    const axis = (letter) => {
      const { text, unit, categories } = chart[letter];
      const label = plain(unit ? text.slice(0, -unit.length - 2) : text);
      return categories.length ? `%{${letter}}` : `${label}: %{${letter}:.5~g}${unit ? ` ${plain(unit)}` : ""}`;
    };
    const notes = layer.notes ? "%{customdata}<br>" : "";
    return `<b>${plain(layer.name)}</b><br>${notes}${axis("x")}<br>${axis("y")}<extra></extra>`;
  }

  function curve(chart, layer) {
    const colour = colourOf(layer.role);
    const trace = {
      type: "scatter", name: layer.name, x: layer.x, y: layer.y, hovertemplate: hover(chart, layer),
      customdata: layer.notes ? layer.notes.map(plain) : undefined, connectgaps: false,
    };
    if (layer.low) {
      const distance = (ends, sign) => ends.map((end, i) => (end === null ? 0 : sign * (end - layer.y[i])));
      trace.error_y = {
        type: "data", symmetric: false, array: distance(layer.high, 1), arrayminus: distance(layer.low, -1),
        color: colour, thickness: 1.2, width: 3,
      };
    }
    if (layer.shape === "bars") return { ...trace, type: "bar", marker: { color: translucent(colour, 0.75) } };
    if (layer.shape === "points") {
      const open = layer.dashed ? "-open" : "";
      return { ...trace, mode: "markers", marker: { color: colour, size: 6, symbol: `circle${open}` } };
    }
    const line = { color: colour, width: 1.8, dash: layer.dashed ? "dash" : "solid", shape: layer.shape === "steps" ? "hv" : "linear" };
    return { ...trace, mode: "lines", line };
  }

  function band(layer) {
    const edge = { type: "scatter", mode: "lines", x: layer.x, name: layer.name, line: { width: 0 }, hoverinfo: "skip" };
    return [{ ...edge, y: layer.low }, { ...edge, y: layer.high, fill: "tonexty", fillcolor: translucent(colourOf(layer.role), 0.22) }];
  }

  function cells(chart, layer) {
    const paper = variable("--panel");
    return {
      type: "heatmap", z: layer.values, zmin: 0, zmax: 1, showscale: false, xgap: 2, ygap: 2, name: layer.name,
      colorscale: [[0, paper], [1, colourOf("measured")]],
      texttemplate: layer.values.flat().length <= 144 ? "%{z:.2f}" : "",
      hovertemplate: `from %{y} to %{x}: %{z:.3f}<extra></extra>`, hoverongaps: false,
    };
  }

  function shapeOf(layer) {
    const colour = colourOf(layer.role);
    if (layer.kind === "span") {
      return {
        type: "rect", xref: "x", yref: "paper", x0: layer.start, x1: layer.end, y0: 0, y1: 1,
        line: { width: 0 }, fillcolor: translucent(colour, 0.15), layer: "below",
      };
    }
    const along = layer.axis === "x" ? { xref: "x", yref: "paper", x0: layer.at, x1: layer.at, y0: 0, y1: 1 }
      : { xref: "paper", yref: "y", x0: 0, x1: 1, y0: layer.at, y1: layer.at };
    return { type: "line", ...along, line: { color: colour, width: 1.5, dash: "dot" } };
  }

  // Long names of categories are broken where the screen is narrow, so that they leave room for what they name.
  function broken(text, longest) {
    const lines = [""];
    for (const word of plain(text).split(" ")) {
      const last = lines[lines.length - 1];
      if (last && last.length + word.length >= longest) lines.push(word);
      else lines[lines.length - 1] = last ? `${last} ${word}` : word;
    }
    return lines.join("<br>");
  }

  // Whole powers of ten alone are labelled, unless there are too few of them to read values by.
  function decades(chart, letter) {
    let low = Infinity;
    let high = -Infinity;
    for (const layer of chart.layers) {
      for (const row of letter === "x" ? [layer.x] : [layer.y, layer.low, layer.high]) {
        for (const value of row ?? []) if (value > 0) [low, high] = [Math.min(low, value), Math.max(high, value)];
      }
    }
    const span = Math.log10(high / low);
    if (span > 1.7) return Math.ceil(span / 6);
    return span > 0.7 ? "D2" : undefined; // 1, 2 and 5 of each: all nine lie on each other where the screen is narrow
  }

  function axis(chart, letter, width) {
    const description = chart[letter];
    const end = (value) => (value === null ? null : description.log ? Math.log10(value) : value);
    const narrow = width < 560;
    const categories = description.categories.map((name) => (narrow ? broken(name, 16) : plain(name)));
    // Long names side by side are turned so that they end below their place, the last one included.
    const turned = letter === "x" && description.categories.some((name) => name.length > 5) && categories.join("").length * 8 > width;
    const title = categories.length && letter === "y" ? "" : narrow ? broken(description.text, 38) : plain(description.text);
    return {
      title: { text: title, standoff: 6 }, type: description.log ? "log" : "linear", automargin: true,
      range: description.low === null && description.high === null ? undefined : [end(description.low), end(description.high)],
      autorangeoptions: { minallowed: end(description.low) ?? undefined, maxallowed: end(description.high) ?? undefined },
      gridcolor: variable("--grid"), linecolor: variable("--line"), zeroline: false, showline: true, ticks: "outside",
      tickcolor: variable("--line"), exponentformat: description.log ? "power" : "none", separatethousands: true, nticks: 8, minor: { ticks: "" },
      ...(categories.length ? { tickmode: "array", tickvals: categories.map((_, i) => i), ticktext: categories, tickfont: { size: narrow ? 10 : 12 }, showgrid: false, ticklabeloverflow: "allow", ...(turned ? { tickangle: -40 } : {}) } : {}),
      ...(description.log ? { dtick: decades(chart, letter) } : {}),
    };
  }

  function layout(chart, hidden, width) {
    const shown = chart.layers.filter((layer) => !hidden.has(layer.name));
    const shapes = shown.filter((layer) => layer.kind === "span" || layer.kind === "rule").map(shapeOf);
    return {
      font: { family: FONT, size: 12, color: variable("--ink") }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      margin: { l: 8, r: 12, t: 10, b: 8 }, showlegend: false, hovermode: "closest", dragmode: "zoom", shapes, barmode: "group",
      xaxis: axis(chart, "x", width), yaxis: axis(chart, "y", width),
      hoverlabel: { bgcolor: variable("--paper"), bordercolor: variable("--line"), font: { color: variable("--ink") }, align: "left" },
    };
  }

  function traces(chart, hidden) {
    return chart.layers.filter((layer) => !hidden.has(layer.name)).flatMap((layer) => {
      if (layer.kind === "curve") return [curve(chart, layer)];
      if (layer.kind === "band") return band(layer);
      return layer.kind === "cells" ? [cells(chart, layer)] : [];
    });
  }

  function draw(figure) {
    const { chart, hidden, place } = figure;
    Plotly.react(place, traces(chart, hidden), layout(chart, hidden, place.clientWidth), { displayModeBar: false, responsive: true, scrollZoom: false });
    for (const swatch of figure.element.querySelectorAll(".legend i")) swatch.style.color = colourOf(swatch.dataset.role);
  }

  function legend(figure) {
    const list = figure.element.querySelector(".legend");
    const seen = new Set();
    for (const layer of figure.chart.layers) {
      if (layer.kind === "cells" || seen.has(layer.name)) continue;
      seen.add(layer.name);
      const button = document.createElement("button");
      button.type = "button";
      button.setAttribute("aria-pressed", "true");
      const swatch = document.createElement("i");
      swatch.dataset.role = layer.role;
      swatch.className = layer.kind === "span" || layer.kind === "band" || layer.shape === "bars" ? "area"
        : layer.shape === "points" ? "dot" : layer.dashed || layer.kind === "rule" ? "dashed" : "";
      button.append(swatch, layer.name);
      button.addEventListener("click", () => {
        const hide = !figure.hidden.delete(layer.name) && figure.hidden.add(layer.name);
        button.setAttribute("aria-pressed", String(!hide));
        draw(figure);
      });
      const item = document.createElement("li");
      item.append(button);
      list.append(item);
    }
  }

  function save(name, text, type) {
    const link = document.createElement("a");
    link.download = name;
    link.href = type ? URL.createObjectURL(new Blob([text], { type })) : text;
    link.click();
    if (type) setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  const quoted = (text) => `"${String(text).replace(/"/g, '""')}"`;

  function csv(chart) {
    const columns = ["layer", chart.x.text, chart.y.text, "low", "high"];
    const rows = [columns.map(quoted).join(",")];
    for (const layer of chart.layers) {
      const name = quoted(layer.name);
      const cell = (value) => (value === null || value === undefined ? "" : value);
      if (layer.x) layer.x.forEach((x, i) => rows.push([name, cell(x), cell(layer.y?.[i]), cell(layer.low?.[i]), cell(layer.high?.[i])].join(",")));
      else if (layer.kind === "span") rows.push([name, "", "", layer.start, layer.end].join(","));
      else if (layer.kind === "rule") rows.push([name, layer.axis === "x" ? layer.at : "", layer.axis === "y" ? layer.at : "", "", ""].join(","));
      else layer.values.forEach((row, y) => row.forEach((value, x) => rows.push([quoted(`${chart.y.categories[y]} to ${chart.x.categories[x]}`), x, y, cell(value), ""].join(","))));
    }
    return rows.join("\n") + "\n";
  }

  async function download(figure, kind) {
    const { chart, hidden } = figure;
    if (kind === "csv") return save(`${chart.name}.csv`, csv(chart), "text/csv");
    const withLegend = {
      ...layout(chart, hidden, 900), showlegend: true, legend: { orientation: "h", y: 1.02, yanchor: "bottom" },
      paper_bgcolor: variable("--paper"), margin: { l: 20, r: 20, t: 20, b: 20 },
    };
    const image = await Plotly.toImage({ data: traces(chart, hidden), layout: withLegend }, { format: kind, width: 900, height: 540, scale: kind === "png" ? 2 : 1 });
    return save(`${chart.name}.${kind}`, image);
  }

  function start(chart) {
    const element = document.querySelector(`[data-chart="${CSS.escape(chart.name)}"]`);
    const figure = { chart, element, place: element.querySelector(".plot"), hidden: new Set() };
    figures.set(chart.name, figure);
    legend(figure);
    const rows = chart.y.categories.length;
    if (rows > 8) figure.place.style.height = `${6 + 2.2 * rows}rem`;
    for (const button of element.querySelectorAll("[data-save]")) button.addEventListener("click", () => download(figure, button.dataset.save));
    draw(figure);
  }

  // A chart is made when it comes near the screen: a report of many opens as fast as one of few.
  const byName = new Map(charts.map((chart) => [chart.name, chart]));
  const started = (name) => { if (!figures.has(name)) start(byName.get(name)); };
  const observer = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) if (isIntersecting) { observer.unobserve(target); started(target.dataset.chart); }
  }, { rootMargin: "800px" });
  for (const element of document.querySelectorAll("[data-chart]")) observer.observe(element);

  const redraw = () => figures.forEach(draw);
  let turning;
  addEventListener("resize", () => { clearTimeout(turning); turning = setTimeout(redraw, 150); });
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    redraw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  // On paper everything is drawn, in the light colours, as wide as the page.
  const onPaper = () => {
    byName.forEach((_, name) => started(name));
    for (const details of document.querySelectorAll("details")) details.open = true;
    figures.forEach((figure) => { draw(figure); Plotly.Plots.resize(figure.place); });
  };
  addEventListener("beforeprint", onPaper);
  matchMedia("print").addEventListener("change", (event) => (event.matches ? onPaper() : redraw()));
})();
