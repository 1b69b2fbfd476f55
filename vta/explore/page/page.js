"use strict";
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const state = { x: "lut", y: "cycles", onlyBest: false, text: "", sort: "", down: false, picked: -1, shown: [] };
const BOX = { left: 74, right: 740, top: 14, bottom: 372 };

const text = (number) => number === null || number === undefined ? "" :
  number.toLocaleString("en-US", { maximumFractionDigits: 1 });

function element(parent, kind, attributes, content) {
  const made = document.createElementNS(parent.namespaceURI, kind);
  for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
  if (content !== undefined) made.textContent = content;
  parent.append(made);
  return made;
}

function valueOf(row, name) {
  if (name in row.numbers) return row.numbers[name];
  const found = row.values.find(([key]) => key === name);
  return found === undefined ? String(row[name]) : found[1];
}

function visible() {
  const words = state.text.toLowerCase().split(/\s+/).filter(Boolean);
  return data.rows.map((row, place) => place).filter((place) => {
    const row = data.rows[place];
    const all = `${row.name} ${row.note}`.toLowerCase();
    return (!state.onlyBest || row.best) && words.every((word) => all.includes(word));
  });
}

function scale(values, low, high) {
  const least = Math.log(Math.min(...values)), most = Math.log(Math.max(...values));
  const pad = (most - least) * 0.06 || 0.5;
  return (value) => low + (Math.log(value) - least + pad) / (most - least + 2 * pad) * (high - low);
}

function ticks(values) {
  const least = Math.min(...values), most = Math.max(...values), found = [];
  for (let power = 10 ** Math.floor(Math.log10(least)); power <= most * 10; power *= 10) {
    for (const step of [1, 2, 5]) if (power * step >= least * 0.94 && power * step <= most * 1.06) found.push(power * step);
  }
  return found;
}

function drawAxes(plot, xs, ys, across, up) {
  for (const tick of ticks(xs)) {
    element(plot, "line", { x1: across(tick), x2: across(tick), y1: BOX.top, y2: BOX.bottom });
    element(plot, "text", { x: across(tick), y: BOX.bottom + 16, "text-anchor": "middle" }, text(tick));
  }
  for (const tick of ticks(ys)) {
    element(plot, "line", { x1: BOX.left, x2: BOX.right, y1: up(tick), y2: up(tick) });
    element(plot, "text", { x: BOX.left - 6, y: up(tick) + 4, "text-anchor": "end" }, text(tick));
  }
  element(plot, "text", { x: (BOX.left + BOX.right) / 2, y: BOX.bottom + 36, "text-anchor": "middle" }, state.x);
  element(plot, "text", { x: 4, y: BOX.bottom + 36, "text-anchor": "start" }, `up: ${state.y}`);
}

function drawPlot() {
  const plot = byId("plot");
  plot.replaceChildren();
  const known = state.shown.filter((place) => [state.x, state.y].every((name) => valueOf(data.rows[place], name) > 0));
  if (known.length === 0) {
    element(plot, "text", { x: 380, y: 200, "text-anchor": "middle" }, `no configuration has both ${state.x} and ${state.y}`);
    return;
  }
  const xs = known.map((place) => valueOf(data.rows[place], state.x)), ys = known.map((place) => valueOf(data.rows[place], state.y));
  const across = scale(xs, BOX.left, BOX.right), up = scale(ys, BOX.bottom, BOX.top);
  drawAxes(plot, xs, ys, across, up);
  known.sort((a, b) => data.rows[a].best - data.rows[b].best);
  for (const place of known) {
    const row = data.rows[place];
    const dot = element(plot, "circle", {
      cx: across(valueOf(row, state.x)), cy: up(valueOf(row, state.y)), r: 5 + Math.sqrt(row.numbers.bram || 0) / 4,
      class: `${row.best ? "best" : ""} ${place === state.picked ? "picked" : ""}`, "data-place": place,
    });
    dot.addEventListener("click", () => pick(place));
    dot.addEventListener("mousemove", (event) => hover(event, row));
    dot.addEventListener("mouseleave", () => { byId("tip").hidden = true; });
  }
}

function hover(event, row) {
  const tip = byId("tip"), box = byId("plot-section").getBoundingClientRect();
  tip.textContent = `${row.name}\n` + data.columns.filter((name) => row.numbers[name] !== null)
    .map((name) => `${name} ${text(row.numbers[name])}`).join(", ");
  tip.hidden = false;
  tip.style.left = `${Math.min(event.clientX - box.left + 12, box.width - 240)}px`;
  tip.style.top = `${event.clientY - box.top + 12}px`;
}

const names = () => [...(data.rows[0] ? data.rows[0].values.map(([name]) => name) : []), ...data.columns];

function drawTable() {
  const head = byId("head"), body = byId("body");
  head.replaceChildren();
  body.replaceChildren();
  const top = element(head, "tr");
  for (const name of [...names(), "from", "note"]) {
    const arrow = state.sort === name ? (state.down ? " \u25be" : " \u25b4") : "";
    const cell = element(top, "th", { class: name === "note" ? "note" : "", "data-name": name }, name + arrow);
    cell.addEventListener("click", () => {
      state.down = state.sort === name && !state.down;
      state.sort = name;
      draw();
    });
  }
  for (const place of state.shown) {
    const row = data.rows[place];
    const line = element(body, "tr", { class: `${row.best ? "best" : ""} ${place === state.picked ? "picked" : ""}`, "data-place": place });
    for (const name of names()) {
      const value = valueOf(row, name);
      element(line, "td", {}, typeof value === "number" ? text(value) : value ?? "");
    }
    element(line, "td", {}, row.from.join(", "));
    element(line, "td", { class: "note" }, row.note);
    line.addEventListener("click", () => pick(place));
  }
}

function drawSelection() {
  const panel = byId("selection");
  panel.replaceChildren();
  const row = data.rows[state.picked];
  if (row === undefined) {
    panel.textContent = "click a dot or a row";
    return;
  }
  element(panel, "p", {}, row.name);
  if (row.note) element(panel, "p", { class: "soft" }, row.note);
  const table = element(panel, "table");
  for (const name of data.columns) if (row.numbers[name] !== null) {
    const line = element(table, "tr");
    element(line, "td", {}, name);
    element(line, "td", {}, text(row.numbers[name]));
  }
  for (const [name, cycles] of Object.entries(row.layers)) {
    const line = element(table, "tr", { class: "soft" });
    element(line, "td", {}, name);
    element(line, "td", {}, text(cycles));
  }
}

function pick(place) {
  state.picked = place;
  draw();
}

function draw() {
  state.shown = visible();
  if (state.sort) {
    const of = (place) => valueOf(data.rows[place], state.sort) ?? Infinity;
    state.shown.sort((a, b) => (of(a) < of(b) ? -1 : of(a) > of(b) ? 1 : a - b) * (state.down ? -1 : 1));
  }
  byId("shown").textContent = `${state.shown.length} of ${data.rows.length}`;
  drawPlot();
  drawTable();
  drawSelection();
}

function figure(number, label) {
  const box = element(byId("figures"), "div");
  element(box, "b", {}, text(number));
  element(box, "span", {}, label);
}

document.title = `VTA explore: ${data.title}`;
byId("title").textContent = data.title;
byId("command").textContent = data.command;
figure(data.rows.length, "configurations");
figure(data.rows.filter((row) => row.best).length, "that nothing beats");
figure(data.rows.filter((row) => row.numbers.cycles === null).length, "that cannot run");
for (const axis of ["x", "y"]) {
  for (const name of data.columns) element(byId(axis), "option", { value: name }, name);
  byId(axis).value = state[axis];
  byId(axis).addEventListener("change", () => { state[axis] = byId(axis).value; draw(); });
}
byId("only-best").addEventListener("change", () => { state.onlyBest = byId("only-best").checked; draw(); });
byId("search").addEventListener("input", () => { state.text = byId("search").value; draw(); });
draw();
globalThis.vtaExplore = { state, pick };
})();
