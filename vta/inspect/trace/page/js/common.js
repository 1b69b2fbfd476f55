// What all parts share: the numbers, what is shown of them, colours, numbers as text.
// Times are cycles of the launch, or places in the order of execution where there is no clock.

const DATA = JSON.parse(document.getElementById("data").textContent);
const MODULES = ["fetch", "load", "compute", "store"];
const KINDS = { load: "#4e79a7", gemm: "#59a14f", alu: "#f28e2b", store: "#b07aa1", finish: "#79706e", nop: "#98a2b3" };
const MODULE_COLOURS = { fetch: "#8c8279", load: KINDS.load, compute: KINDS.gemm, store: KINDS.store };
const CAUSES = {
  token_prev: "#e15759", token_next: "#ff9d9a", uop_load: "#edc948", memory: "#3fa7a0",
  hazard: "#9c755f", drain: "#8a8f98", instruction: "#5b6abf",
};
const OTHER = "#8cd17d";

const state = { launch: 0, begin: 0, end: 1, selected: -1, query: "", matches: [] };
let launch = null;

const by = (id) => document.getElementById(id);
const inks = new Map();  // asking the browser for each of thousands of boxes would take most of the time
const kindOf = (text) => text.split(/[ .]/, 1)[0];
const colour = (text) => KINDS[kindOf(text)] || OTHER;
const causeColour = (cause) => (cause === "work" || cause === "idle" ? ink(cause) : CAUSES[cause] || OTHER);
// Fetch waits as soon as it is ahead of the modules, whose queues are full then: that is as it should be.
const stateColour = (module, cause) => causeColour(module === "fetch" && cause === "hazard" ? "idle" : cause);
const count = (number) => number.toLocaleString("en-US");
const percent = (part, whole) => `${(100 * part / whole).toFixed(1)} %`;
const times = (number) => (number === 1 ? "once" : `${count(number)} times`);
const unit = () => (launch.clock ? "cycle" : "step");
const sum = (numbers) => numbers.reduce((total, one) => total + one, 0);
const duration = () => Math.max(launch.axis, 1);

/** Return the last time of an instruction: the launch's if it began and did not complete. */
function endOf(index) {
  const { begun, ended } = launch.instructions;
  return begun[index] >= 0 && ended[index] < 0 ? Math.max(launch.duration - 1, begun[index]) : ended[index];
}

/** Return a colour of the style sheet; `inks` is to be cleared when the face changes. */
function ink(name) {
  if (!inks.has(name)) inks.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`));
  return inks.get(name);
}

function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

/** Return the last place of `sorted` whose entry is at most `time`, 0 if there is none. */
function lastUpTo(sorted, time) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= time) low = middle + 1; else high = middle;
  }
  return Math.max(0, low - 1);
}

/** Return the canvas's pen, its pixels being those of the screen. */
function prepared(canvas, height) {
  const ratio = window.devicePixelRatio || 1, pen = canvas.getContext("2d");
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(canvas.clientWidth * ratio);
  canvas.height = Math.round(height * ratio);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, canvas.clientWidth, height);
  pen.font = "11px system-ui, sans-serif";
  pen.textBaseline = "middle";
  return pen;
}
