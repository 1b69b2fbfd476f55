"use strict";
// The page's behaviour. Times are cycles of the launch, or places in the order of execution where there is no clock.
// `window.vtaTrace` is what tests and scripts may use.
(() => {
  const DATA = JSON.parse(document.getElementById("data").textContent);
  const by = (id) => document.getElementById(id);
  const KINDS = { load: "#4e79a7", gemm: "#59a14f", alu: "#f28e2b", store: "#b07aa1", finish: "#79706e" };
  const CAUSES = {
    work: "#98a2b3", token_prev: "#e15759", token_next: "#ff9d9a", uop_load: "#edc948", memory: "#76b7b2",
    hazard: "#9c755f", drain: "#bab0ac", instruction: "#b279a2", idle: "#e4e7ec",
  };
  const OTHER = "#8cd17d";
  const ROW = 16, LABEL = 128, RULER = 22, MAP = 72, TABLE_ROW = 23;

  const state = { launch: 0, begin: 0, end: 1, selected: -1, query: "", matches: [] };
  let launch = null, tracks = [], height = 0, boxes = [];

  const kindOf = (text) => text.split(/[ .]/, 1)[0];
  const colour = (text) => KINDS[kindOf(text)] || OTHER;
  const count = (number) => number.toLocaleString("en-US");
  const percent = (part, whole) => `${(100 * part / whole).toFixed(1)} %`;
  const unit = () => (launch.clock ? "cycle" : "step");

  function element(name, text, attributes = {}) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  }

  // ---- tracks: rows of the timeline from top to bottom

  function makeTracks() {
    const { instructions, states, bursts, memories } = launch;
    tracks = [];
    let top = RULER;
    const add = (kind, name, size, more) => {
      tracks.push({ kind, name, top, size, ...more });
      top += size + 3;
    };
    for (const module of ["fetch", "load", "compute", "store"]) {
      const own = [];
      let lanes = 0;
      instructions.module.forEach((owner, index) => {
        if (owner !== module || instructions.lane[index] < 0) return;
        own.push(index);
        lanes = Math.max(lanes, instructions.lane[index] + 1);
      });
      const row = lanes > 4 ? Math.max(3, Math.floor(4 * ROW / lanes)) : ROW;  // many at a time: thin rows
      if (lanes) add("instructions", module, lanes * row, { own, row });
      if (states[module]) add("states", `${module}: waits`, ROW - 4, { states: states[module] });
    }
    bursts.clients.forEach((client, number) => {
      const own = bursts.client.flatMap((owner, index) => (owner === number ? [index] : []));
      if (own.length) add("bursts", `DRAM: ${client}`, ROW - 4, { own });
    });
    for (const memory of memories) {
      if (!memory.first.length) continue;
      const used = memory.last.reduce((most, last) => Math.max(most, last + 1), 1);
      const shown = Math.min(memory.depth, 2 ** Math.ceil(Math.log2(used)));
      add("memory", `${memory.name} buffer`, MAP, { memory, shown, note: `${shown} of ${memory.depth}` });
    }
    height = top + 4;
  }

  // ---- drawing

  const canvas = by("timeline");
  const pen = canvas.getContext("2d");
  const width = () => canvas.clientWidth - LABEL;
  const scale = () => width() / (state.end - state.begin);
  const place = (time) => LABEL + (time - state.begin) * scale();

  function box(x, y, w, h, fill, hit) {
    const left = Math.max(LABEL, x), right = Math.min(canvas.clientWidth, x + Math.max(w, 1));
    if (right <= left) return;
    pen.fillStyle = fill;
    pen.fillRect(left, y, Math.max(right - left - (w > 3 ? 1 : 0), 0.7), h);
    if (hit) boxes.push({ left, right, top: y, bottom: y + h, hit });
  }

  function draw() {
    const ratio = window.devicePixelRatio || 1;
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(canvas.clientWidth * ratio);
    canvas.height = Math.round(height * ratio);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, canvas.clientWidth, height);
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    boxes = [];
    drawRuler();
    for (const track of tracks) DRAW[track.kind](track);
    for (const track of tracks) {
      pen.fillStyle = "#fff";
      pen.fillRect(0, track.top, LABEL - 2, track.size);
      pen.fillStyle = "#1d2430";
      pen.fillText(track.name, 8, track.top + Math.min(track.size, ROW) / 2);
      pen.fillStyle = "#667085";
      if (track.note) pen.fillText(track.note, 8, track.top + 1.5 * ROW);
    }
    drawArrows();
    by("range").textContent =
      `${unit()}s ${count(Math.floor(state.begin))} to ${count(Math.ceil(state.end))} of ${count(launch.duration)}`;
  }

  function drawRuler() {
    const step = 10 ** Math.ceil(Math.log10(90 / scale()));
    const fine = [step / 5, step / 2, step].find((s) => s * scale() >= 70) || step;
    const every = Math.max(1, Math.round(fine));
    pen.strokeStyle = "#eef0f3";
    for (let time = Math.ceil(state.begin / every) * every; time <= state.end; time += every) {
      const x = Math.round(place(time)) + 0.5;
      pen.beginPath();
      pen.moveTo(x, RULER - 4);
      pen.lineTo(x, height);
      pen.stroke();
      pen.fillStyle = "#667085";
      pen.fillText(count(time), x + 3, RULER / 2);
    }
  }

  const DRAW = {
    instructions(track) {
      const { begun, ended, text, lane } = launch.instructions;
      const found = new Set(state.matches);
      for (const index of track.own) {
        if (ended[index] < state.begin || begun[index] > state.end) continue;
        const x = place(begun[index]), w = (ended[index] - begun[index] + 1) * scale();
        const y = track.top + lane[index] * track.row, high = track.row - (track.row > 6 ? 2 : 1);
        pen.globalAlpha = state.query && !found.has(index) ? 0.25 : 1;
        box(x, y, w, high, colour(text[index]), { instruction: index });
        if (w > 44 && track.row === ROW) {
          pen.fillStyle = "#fff";
          const left = Math.max(x, LABEL);
          pen.save();
          pen.beginPath();
          pen.rect(left, y, Math.max(0, x + w - left - 3), ROW);
          pen.clip();
          pen.fillText(`${index} ${text[index]}`, left + 3, y + ROW / 2 - 1);
          pen.restore();
        }
        if (index === state.selected) {
          pen.strokeStyle = "#d92d20";
          pen.lineWidth = 2;
          pen.strokeRect(Math.max(x, LABEL), y, Math.max(2, Math.min(w, canvas.clientWidth - x)), high);
          pen.lineWidth = 1;
        }
      }
      pen.globalAlpha = 1;
    },
    states(track) {
      const { begins, causes } = track.states;
      for (let at = firstWithin(begins, state.begin); at < begins.length && begins[at] < state.end; at++) {
        const end = at + 1 < begins.length ? begins[at + 1] : launch.duration;
        const hit = { state: { module: track.name.split(":")[0], cause: causes[at], begin: begins[at], end } };
        box(place(begins[at]), track.top, (end - begins[at]) * scale(), track.size, CAUSES[causes[at]] || OTHER, hit);
      }
    },
    bursts(track) {
      const { begin, end } = launch.bursts;
      for (const index of track.own) {
        if (end[index] < state.begin || begin[index] > state.end) continue;
        const w = (end[index] - begin[index] + 1) * scale();
        pen.globalAlpha = 0.5;
        box(place(begin[index]), track.top, w, track.size, "#2f4b7c", { burst: index });
        pen.globalAlpha = 1;
      }
    },
    memory(track) {
      const { memory } = track, y = (row) => track.top + (row / track.shown) * track.size;
      pen.fillStyle = "#f2f4f7";
      pen.fillRect(LABEL, track.top, width(), track.size);
      for (let at = 0; at < memory.first.length; at++) {
        if (memory.end[at] < state.begin || memory.begin[at] > state.end) continue;
        const high = Math.max(1, y(memory.last[at] + 1) - y(memory.first[at]));
        const shade = memory.reads[at] ? colour(launch.instructions.text[memory.writer[at]]) : "#d0d5dd";
        const own = state.selected >= 0 && (memory.writer[at] === state.selected || memory.reader[at] === state.selected);
        const w = (memory.end[at] - memory.begin[at] + 1) * scale();
        box(place(memory.begin[at]), y(memory.first[at]), w, high, own ? "#d92d20" : shade, { held: { memory, at } });
      }
    },
  };

  function firstWithin(begins, time) {
    let low = 0, high = begins.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (begins[middle] <= time) low = middle + 1; else high = middle;
    }
    return Math.max(0, low - 1);
  }

  function middleOf(index) {
    const track = tracks.find((t) => t.kind === "instructions" && t.name === launch.instructions.module[index]);
    return track.top + launch.instructions.lane[index] * track.row + track.row / 2 - 1;
  }

  function drawArrows() {
    // The tokens of the selected instruction: from the end of the one that pushed to the begin of the one that popped.
    if (state.selected < 0) return;
    const { giver, taker } = launch.tokens, { begun, ended, lane } = launch.instructions;
    pen.strokeStyle = pen.fillStyle = "#d92d20";
    for (let at = 0; at < giver.length; at++) {
      if (taker[at] < 0 || (giver[at] !== state.selected && taker[at] !== state.selected)) continue;
      if (lane[giver[at]] < 0 || lane[taker[at]] < 0) continue;
      const from = [place(ended[giver[at]] + 1), middleOf(giver[at])], to = [place(begun[taker[at]]), middleOf(taker[at])];
      if (Math.max(from[0], to[0]) < LABEL) continue;
      pen.beginPath();
      pen.moveTo(Math.max(from[0], LABEL), from[1]);
      pen.lineTo(Math.max(to[0], LABEL), to[1]);
      pen.stroke();
      pen.beginPath();
      pen.arc(to[0], to[1], 3, 0, 7);
      pen.fill();
    }
  }

  // ---- view

  function view(begin, end) {
    const most = Math.max(launch.duration, 1), span = Math.min(Math.max(end - begin, 8), most);
    state.begin = Math.min(Math.max(begin, 0), most - span);
    state.end = state.begin + span;
    draw();
  }

  function zoom(factor, centre = (state.begin + state.end) / 2) {
    view(centre - (centre - state.begin) / factor, centre + (state.end - centre) / factor);
  }

  function fit() {
    view(0, launch.duration);
  }

  function zoomToSelection() {
    if (state.selected < 0) return;
    const { begun, ended } = launch.instructions;
    const span = Math.max(ended[state.selected] - begun[state.selected] + 1, 16);
    view(begun[state.selected] - span, ended[state.selected] + span);
  }

  // ---- selection, search, table

  function select(index, { show = true } = {}) {
    state.selected = index;
    if (index >= 0 && show) {
      const { begun, ended } = launch.instructions, span = state.end - state.begin;
      if (begun[index] >= 0 && (ended[index] < state.begin || begun[index] > state.end)) {
        view(begun[index] - span / 4, begun[index] + 3 * span / 4);
      }
      const row = rows().indexOf(index), scroll = by("table-scroll");
      const top = row * TABLE_ROW;
      if (row >= 0 && (top < scroll.scrollTop || top > scroll.scrollTop + scroll.clientHeight - 2 * TABLE_ROW)) {
        scroll.scrollTop = top - scroll.clientHeight / 3;
      }
    }
    draw();
    showSelection();
    fillTable();
  }

  function search(query) {
    state.query = query.trim().toLowerCase();
    const { text, origin, origins } = launch.instructions;
    state.matches = [];
    if (state.query) {
      text.forEach((line, index) => {
        const source = origin[index] < 0 ? "" : origins[origin[index]];
        const hit = /^\d+$/.test(state.query)
          ? String(index) === state.query
          : `${line} ${source}`.toLowerCase().includes(state.query);
        if (hit) state.matches.push(index);
      });
    }
    by("found").textContent = state.query ? `${count(state.matches.length)} found` : "";
    by("table-scroll").scrollTop = 0;
    draw();
    fillTable();
  }

  function step(direction) {
    const { matches } = state;
    if (!matches.length) return;
    const at = matches.indexOf(state.selected);
    const next = at < 0 ? (direction > 0 ? 0 : matches.length - 1) : (at + direction + matches.length) % matches.length;
    select(matches[next]);
  }

  const rows = () => (state.query ? state.matches : launch.instructions.text.map((_, index) => index));

  function fillTable() {
    // Only the rows in sight are there: a launch may have tens of thousands.
    const shown = rows(), scroll = by("table-scroll"), body = by("table-body");
    const first = Math.max(0, Math.floor(scroll.scrollTop / TABLE_ROW) - 5);
    const last = Math.min(shown.length, first + Math.ceil(scroll.clientHeight / TABLE_ROW) + 12);
    const { text, module, issued, begun, ended, origin, origins } = launch.instructions;
    const spacer = (many) => {
      const row = element("tr");
      row.append(element("td", undefined, { style: `height:${many * TABLE_ROW}px;padding:0;border:0` }));
      return row;
    };
    const lines = [spacer(first)];
    for (const index of shown.slice(first, last)) {
      const row = element("tr", undefined, { "data-index": index });
      if (index === state.selected) row.className = "picked";
      const times = issued ? [issued[index], begun[index], ended[index]] : [begun[index]];
      row.append(element("td", index, { class: "number" }));
      for (const time of times) row.append(element("td", time < 0 ? "-" : count(time), { class: "number" }));
      row.append(element("td", module[index]));
      const words = element("td");
      words.append(element("code", text[index]));
      row.append(words, element("td", origin[index] < 0 ? "" : origins[origin[index]]));
      lines.push(row);
    }
    lines.push(spacer(shown.length - last));
    body.replaceChildren(...lines);
  }

  function showSelection() {
    const home = by("selection"), index = state.selected;
    if (index < 0) {
      home.replaceChildren(element("p", "Click an instruction in the timeline or in the table."));
      return;
    }
    const { text, module, issued, begun, ended, origin, origins } = launch.instructions;
    const list = element("dl");
    const row = (name, ...content) => {
      const cell = element("dd");
      cell.append(...content);
      list.append(element("dt", name), cell);
    };
    row("instruction", `${index} `, element("code", text[index]));
    row("module", module[index]);
    row("origin", origin[index] < 0 ? "not known" : origins[origin[index]]);
    if (issued) row("issued", `${unit()} ${count(issued[index])}`);
    row("ran", begun[index] < 0 ? "never started" : `${unit()} ${count(begun[index])} to ${ended[index] < 0 ? "?" : count(ended[index])}`);
    const { queue, giver, taker } = launch.tokens;
    for (let at = 0; at < giver.length; at++) {
      if (taker[at] === index) row(`token ${queue[at]} from`, link(giver[at]));
      if (giver[at] === index) row(`token ${queue[at]} to`, taker[at] < 0 ? "nobody" : link(taker[at]));
    }
    for (const memory of launch.memories) {
      for (let at = 0; at < memory.first.length; at++) {
        if (memory.writer[at] !== index) continue;
        const range = `${memory.first[at]} to ${memory.last[at]}`;
        const readers = memory.reads[at] ? [`, read ${memory.reads[at]} times, last by `, link(memory.reader[at])] : [", never read"];
        row(`wrote ${memory.name}`, range, ...readers);
      }
    }
    home.replaceChildren(list);
  }

  function link(index) {
    const made = element("a", `${index} ${launch.instructions.text[index]}`, { "data-index": index });
    made.addEventListener("click", () => select(index));
    return made;
  }

  // ---- accounting and roofline

  function showAccount() {
    const home = by("account");
    home.replaceChildren();
    if (!launch.account) {
      home.append(element("p", `Device ${DATA.device} has no clock: record with --target tsim to see cycles.`));
      return;
    }
    const causes = Object.keys(Object.values(launch.account)[0]);
    const used = causes.filter((cause) => Object.values(launch.account).some((own) => own[cause] > 0));
    for (const [module, own] of Object.entries(launch.account)) {
      const total = Object.values(own).reduce((sum, part) => sum + part, 0);
      const line = element("div", undefined, { class: "account-row", "data-module": module, "data-total": total });
      const bar = element("div", undefined, { class: "bar" });
      for (const cause of used) {
        if (!own[cause]) continue;
        const style = `width:${100 * own[cause] / total}%;background:${CAUSES[cause] || OTHER}`;
        const title = `${cause}: ${count(own[cause])} (${percent(own[cause], total)})`;
        bar.append(element("div", undefined, { style, title, "data-cause": cause, "data-cycles": own[cause] }));
      }
      line.append(element("span", module), bar, element("span", `${percent(own.work, total)} work`));
      home.append(line);
    }
    const legend = element("div", undefined, { class: "legend" });
    for (const cause of used) {
      const item = element("span");
      item.append(element("i", undefined, { style: `background:${CAUSES[cause] || OTHER}` }), cause);
      legend.append(item);
    }
    const table = element("table"), modules = Object.entries(launch.account);
    const row = (kind, cells) => {
      const made = element("tr");
      cells.forEach((cell, at) => made.append(element(kind, cell, at ? { class: "number" } : {})));
      table.append(made);
    };
    row("th", ["cause", ...modules.map(([module]) => module)]);
    for (const cause of used) row("td", [cause, ...modules.map(([, own]) => count(own[cause]))]);
    const total = (own) => Object.values(own).reduce((sum, part) => sum + part, 0);
    row("td", ["total", ...modules.map(([, own]) => count(total(own)))]);
    home.append(legend, table);
  }

  function showRoofline() {
    const home = by("roofline"), roof = launch.roofline;
    home.replaceChildren();
    if (!roof || roof.intensity === null || !roof.macs) {
      home.append(element("p", roof ? "This launch has no multiply-accumulates." : "There is no clock on this device."));
      return;
    }
    const svg = (name, attributes, text) => {
      const made = document.createElementNS("http://www.w3.org/2000/svg", name);
      for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
      if (text !== undefined) made.textContent = text;
      return made;
    };
    const W = 460, H = 240, pad = 40, ridge = roof.peak / roof.bandwidth;
    const low = Math.min(ridge, roof.intensity) / 8, high = Math.max(ridge, roof.intensity) * 8;
    const bottom = Math.min(roof.achieved, low * roof.bandwidth) / 2, top = roof.peak * 2;
    const x = (v) => pad + (W - 2 * pad) * Math.log(v / low) / Math.log(high / low);
    const y = (v) => H - pad - (H - 2 * pad) * Math.log(v / bottom) / Math.log(top / bottom);
    const art = svg("svg", { viewBox: `0 0 ${W} ${H}`, width: "100%", role: "img" });
    const points = [[low, low * roof.bandwidth], [ridge, roof.peak], [high, roof.peak]];
    art.append(svg("polyline", { points: points.map(([a, b]) => `${x(a)},${y(b)}`).join(" "), fill: "none", stroke: "#475467", "stroke-width": 2 }));
    art.append(svg("text", { x: W - pad, y: y(roof.peak) - 6, "text-anchor": "end", "font-size": 11 }, `${roof.peak} MAC a cycle`));
    art.append(svg("text", { x: x(low * 1.2), y: y(low * 1.2 * roof.bandwidth) - 12, "font-size": 11 }, `${roof.bandwidth} bytes a cycle`));
    art.append(svg("line", { x1: x(roof.intensity), x2: x(roof.intensity), y1: y(roof.achieved), y2: y(roof.attainable), stroke: "#d92d20", "stroke-dasharray": "3 3" }));
    art.append(svg("circle", { cx: x(roof.intensity), cy: y(roof.achieved), r: 5, fill: "#d92d20", id: "roofline-point" }));
    art.append(svg("text", { x: W / 2, y: H - 8, "text-anchor": "middle", "font-size": 11 }, "MAC per byte of DRAM traffic"));
    home.append(art);
    home.append(element("p", `${count(roof.macs)} MAC, ${count(roof.bytes)} bytes: ${roof.achieved.toFixed(1)} MAC a cycle at ` +
      `${roof.intensity.toFixed(2)} MAC a byte, ${percent(roof.achieved, roof.attainable)} of what the roof allows.`, { id: "roofline-text" }));
  }

  // ---- what the pointer is on

  const hitAt = (x, y) => boxes.findLast((b) => x >= b.left && x <= b.right && y >= b.top && y <= b.bottom)?.hit;

  function tipText(hit) {
    const { text, begun, ended, origin, origins } = launch.instructions;
    if (hit.instruction !== undefined) {
      const index = hit.instruction, source = origin[index] < 0 ? "" : `\n${origins[origin[index]]}`;
      return `${index} ${text[index]}\n${unit()} ${count(begun[index])} to ${count(ended[index])}${source}`;
    }
    if (hit.state) {
      const { module, cause, begin, end } = hit.state;
      return `${module}: ${cause}\n${count(end - begin)} ${unit()}s from ${count(begin)}`;
    }
    if (hit.burst !== undefined) {
      const b = launch.bursts, at = hit.burst;
      return `${b.clients[b.client[at]]}: ${count(b.nbytes[at])} bytes at 0x${b.address[at].toString(16)}\n${unit()} ${count(b.begin[at])} to ${count(b.end[at])}`;
    }
    const { memory, at } = hit.held;
    const reads = memory.reads[at] ? `read ${memory.reads[at]} times` : "never read";
    return `${memory.name} ${memory.first[at]} to ${memory.last[at]}\nwritten by ${memory.writer[at]} ${text[memory.writer[at]]}, ${reads}`;
  }

  function listen() {
    let drag = null, moved = false;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        const shift = (event.deltaX || event.deltaY) / scale();
        view(state.begin + shift, state.end + shift);
        return;
      }
      zoom(event.deltaY < 0 ? 1.25 : 0.8, state.begin + Math.max(0, event.offsetX - LABEL) / scale());
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => { drag = { x: event.offsetX, begin: state.begin }; moved = false; });
    window.addEventListener("pointerup", () => { drag = null; });
    canvas.addEventListener("pointermove", (event) => {
      const tip = by("tip");
      if (drag) {
        const shift = (event.offsetX - drag.x) / scale();
        if (Math.abs(event.offsetX - drag.x) > 3) moved = true;
        if (moved) view(drag.begin - shift, drag.begin - shift + state.end - state.begin);
        tip.hidden = true;
        return;
      }
      const hit = hitAt(event.offsetX, event.offsetY);
      tip.hidden = !hit;
      if (!hit) return;
      tip.textContent = tipText(hit);
      tip.style.left = `${Math.min(event.offsetX + 14, canvas.clientWidth - 300)}px`;
      tip.style.top = `${event.offsetY + 14}px`;
    });
    canvas.addEventListener("pointerleave", () => { by("tip").hidden = true; });
    canvas.addEventListener("click", (event) => {
      if (moved) return;
      const hit = hitAt(event.offsetX, event.offsetY);
      if (hit?.instruction !== undefined) select(hit.instruction);
      else if (hit?.held) select(hit.held.memory.writer[hit.held.at]);
    });
    by("table-scroll").addEventListener("scroll", fillTable);
    by("table-body").addEventListener("click", (event) => {
      const row = event.target.closest("tr[data-index]");
      if (row) select(Number(row.dataset.index));
    });
    by("search").addEventListener("input", (event) => search(event.target.value));
    by("search").addEventListener("keydown", (event) => { if (event.key === "Enter") step(event.shiftKey ? -1 : 1); });
    by("next").addEventListener("click", () => step(1));
    by("previous").addEventListener("click", () => step(-1));
    by("zoom-in").addEventListener("click", () => zoom(2));
    by("zoom-out").addEventListener("click", () => zoom(0.5));
    by("fit").addEventListener("click", fit);
    by("zoom-selection").addEventListener("click", zoomToSelection);
    by("launch").addEventListener("change", (event) => open(Number(event.target.value)));
    window.addEventListener("resize", () => { draw(); fillTable(); });
    window.addEventListener("keydown", (event) => {
      if (event.target.tagName === "INPUT") return;
      const span = state.end - state.begin;
      const keys = {
        "+": () => zoom(2), "-": () => zoom(0.5), "0": fit, z: zoomToSelection,
        ArrowLeft: () => view(state.begin - span / 5, state.end - span / 5),
        ArrowRight: () => view(state.begin + span / 5, state.end + span / 5),
      };
      keys[event.key]?.();
    });
  }

  // ---- launches

  function open(number) {
    state.launch = number;
    launch = DATA.launches[number];
    Object.assign(state, { begin: 0, end: Math.max(launch.duration, 1), selected: -1, query: "", matches: [] });
    by("search").value = by("found").textContent = "";
    const length = `${count(launch.duration)} ${launch.clock ? "cycles" : "instructions executed"}`;
    by("subtitle").textContent =
      `launch ${launch.number} on ${DATA.device}: ${count(launch.instructions.text.length)} instructions, ${length}; ` +
      `${DATA.bitstream}, digest ${DATA.digest}`;
    by("error").hidden = !launch.error;
    by("error").textContent = launch.error || "";
    const titles = launch.instructions.issued ? ["index", "issued", "begun", "ended"] : ["index", "order"];
    const head = element("tr");
    for (const title of titles) head.append(element("th", title, { class: "number" }));
    for (const title of ["module", "instruction", "origin"]) head.append(element("th", title));
    by("table-head").replaceChildren(head);
    makeTracks();
    draw();
    showAccount();
    showRoofline();
    showSelection();
    fillTable();
  }

  document.title = by("title").textContent = `VTA trace${DATA.program ? `: ${DATA.program}` : ""}`;
  DATA.launches.forEach((one, number) => by("launch").append(element("option", one.number, { value: number })));
  listen();
  if (DATA.launches.length) open(0);
  else by("subtitle").textContent = "The trace has no launch.";
  window.vtaTrace = { data: DATA, state, view, zoom, fit, select, search, step, open, boxes: () => boxes, tracks: () => tracks };
})();
