// Zoom into charts over time: drag across one, double-click to see all; + - 0 and arrows by keys.
// Charts of one time axis move together.
const charts = [...document.querySelectorAll("svg[data-zoom]")].map((svg) => {
  const [left, top, right, bottom, low, high] = svg.dataset.zoom.split(" ").map(Number);
  const make = (name, parent = svg) =>
    parent.appendChild(document.createElementNS(svg.namespaceURI, name));
  const ticks = [...svg.querySelectorAll(".xtick")];
  const label = svg.querySelector(".xtick text");
  const curves = [...svg.querySelectorAll("[clip-path]")].filter((one) => !one.closest(".xtick"));
  for (const one of curves) {
    const clip = make("g"); // stays while the curve moves
    clip.setAttribute("clip-path", one.getAttribute("clip-path"));
    one.removeAttribute("clip-path");
    one.style.vectorEffect = "non-scaling-stroke";
    one.replaceWith(clip);
    clip.append(one);
  }
  const own = make("g");
  own.setAttribute("class", "xtick");
  const band = make("rect");
  const timeAt = (x, [from, to]) => from + ((x - left) / (right - left)) * (to - from);
  const show = ([from, to]) => {
    const scale = (high - low) / (to - from);
    const shift = left - scale * (left + ((from - low) / (high - low)) * (right - left));
    for (const one of curves) one.setAttribute("transform", `matrix(${scale} 0 0 1 ${shift} 0)`);
    const isWhole = from === low && to === high;
    for (const tick of ticks) tick.style.display = isWhole ? "" : "none";
    own.replaceChildren();
    if (isWhole) return;
    const power = 10 ** Math.floor(Math.log10((to - from) / 6));
    const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= (to - from) / 6);
    for (let count = Math.ceil(from / step); count * step <= to; count += 1) {
      const x = left + ((count * step - from) / (to - from)) * (right - left);
      const line = make("path", own);
      line.setAttribute("d", `M${x} ${bottom}V${top}`);
      line.setAttribute("style", "stroke: var(--grid); stroke-width: 0.4");
      const text = own.appendChild(label.cloneNode());
      text.textContent = Number((count * step).toPrecision(6));
      text.setAttribute("x", x);
      text.removeAttribute("transform");
    }
  };
  return { svg, left, top, right, bottom, low, high, view: [low, high], band, timeAt, show };
});

function move(chart, from, to) {
  const whole = chart.high - chart.low;
  const length = Math.min(Math.max(to - from, whole / 1e4), whole);
  const start = Math.min(Math.max(from, chart.low), chart.high - length);
  for (const one of charts.filter(({ low, high }) => low === chart.low && high === chart.high)) {
    one.view = [start, start + length];
    if (length === whole) one.view = [one.low, one.high];
    one.show(one.view);
  }
}

for (const chart of charts) {
  const { svg, band } = chart;
  const placeOf = (event) => {
    const box = svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
    return Math.min(Math.max(x, chart.left), chart.right);
  };
  let start = null;
  const mark = (from, to) => {
    const place = { x: Math.min(from, to), width: Math.abs(to - from), y: chart.top };
    for (const [name, value] of Object.entries({ ...place, height: chart.bottom - chart.top }))
      band.setAttribute(name, value);
  };
  band.setAttribute("style", "fill: currentColor; opacity: 0.15");
  svg.addEventListener("pointerdown", (event) => {
    start = placeOf(event);
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointermove", (event) => start !== null && mark(start, placeOf(event)));
  svg.addEventListener("pointerup", (event) => {
    const ends = [start, placeOf(event)].sort((one, other) => one - other);
    start = null;
    mark(0, 0);
    if (ends[1] - ends[0] > 4) move(chart, ...ends.map((x) => chart.timeAt(x, chart.view)));
  });
  svg.addEventListener("dblclick", () => move(chart, chart.low, chart.high));
  svg.parentElement.tabIndex = 0;
  svg.parentElement.addEventListener("keydown", (event) => {
    const [from, to] = chart.view;
    const part = (to - from) / 4;
    const views = {
      "+": [from + part, to - part],
      "-": [from - 2 * part, to + 2 * part],
      0: [chart.low, chart.high],
      ArrowLeft: [from - part, to - part],
      ArrowRight: [from + part, to + part],
    };
    if (!views[event.key]) return;
    event.preventDefault();
    move(chart, ...views[event.key]);
  });
}
