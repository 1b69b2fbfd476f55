// The instruction table, its search, and the selection that it shares with the timeline.

const TABLE_ROW = 23;

const rows = () => (state.query ? state.matches : launch.instructions.text.map((_, index) => index));
const sourceOf = ({ origin, origins }, index) => (origin[index] < 0 ? "" : origins[origin[index]]);
const callOf = ({ origin, calls }, index) => (origin[index] < 0 ? "" : calls[origin[index]]);

function select(index, { show = true } = {}) {
  state.selected = index;
  if (index >= 0 && show) {
    bringIntoView(index);
    scrollTo(index);
  }
  draw();
  showSelection();
  fillTable();
}

function bringIntoView(index) {
  const { begun } = launch.instructions, span = state.end - state.begin;
  if (begun[index] >= 0 && (endOf(index) < state.begin || begun[index] > state.end)) {
    view(begun[index] - span / 4, begun[index] + 3 * span / 4);
  }
}

function scrollTo(index) {
  const row = rows().indexOf(index), scroll = by("table-scroll"), top = row * TABLE_ROW;
  if (row >= 0 && (top < scroll.scrollTop || top > scroll.scrollTop + scroll.clientHeight - 2 * TABLE_ROW)) {
    scroll.scrollTop = top - scroll.clientHeight / 3;
  }
}

/** Find instructions by their index, if `query` is a number, by text, node, stage, source line and call otherwise. */
function search(query) {
  state.query = query.trim().toLowerCase();
  const { text } = launch.instructions, byIndex = /^\d+$/.test(state.query);
  const fits = (line, index) => (byIndex
    ? String(index) === state.query
    : `${line} ${sourceOf(launch.instructions, index)} ${callOf(launch.instructions, index)}`.toLowerCase().includes(state.query));
  state.matches = state.query ? text.flatMap((line, index) => (fits(line, index) ? [index] : [])) : [];
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

function fillHead() {
  const head = element("tr");
  const titles = launch.instructions.issued ? ["index", "issued", "begun", "ended"] : ["index", "order"];
  for (const title of titles) head.append(element("th", title, { class: "number" }));
  for (const title of ["module", "instruction", "origin"]) head.append(element("th", title));
  by("table-head").replaceChildren(head);
}

/** Put the rows in sight into the table, and only these: a launch may have tens of thousands. */
function fillTable() {
  const shown = rows(), scroll = by("table-scroll");
  const first = Math.max(0, Math.floor(scroll.scrollTop / TABLE_ROW) - 5);
  const last = Math.min(shown.length, first + Math.ceil(scroll.clientHeight / TABLE_ROW) + 12);
  const lines = [...spacer(first), ...shown.slice(first, last).map(tableRow), ...spacer(shown.length - last)];
  by("table-body").replaceChildren(...lines);
}

/** Return a row as high as those that are out of sight, none for none. */
function spacer(many) {
  if (!many) return [];
  const row = element("tr");
  row.append(element("td", undefined, { style: `height:${many * TABLE_ROW}px;padding:0;border:0` }));
  return [row];
}

function tableRow(index) {
  const { text, module, issued, begun, ended } = launch.instructions;
  const row = element("tr", undefined, { "data-index": index });
  if (index === state.selected) row.className = "picked";
  const moments = issued ? [issued[index], begun[index], ended[index]] : [begun[index]];
  row.append(element("td", index, { class: "number" }));
  for (const time of moments) row.append(element("td", time < 0 ? "-" : count(time), { class: "number" }));
  const words = element("td"), dot = element("i", undefined, { class: "dot", style: `background:${colour(text[index])}` });
  words.append(dot, element("code", text[index]));
  row.append(element("td", module[index]), words, element("td", sourceOf(launch.instructions, index)));
  return row;
}
