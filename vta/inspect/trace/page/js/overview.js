// The strip above the timeline: how much each module works over the whole launch, and which part is shown below.

const OVERVIEW_ROW = 14, OVERVIEW_TOP = 8;
const overview = by("overview");
let density = null;

/** Forget what was computed for another launch or width. */
function resetOverview() {
  density = null;
}

const overviewModules = () => MODULES.slice(1);
const overviewPlace = (time) => LABEL + (time / duration()) * (overview.clientWidth - LABEL);
const overviewTime = (x) => ((x - LABEL) / (overview.clientWidth - LABEL)) * duration();

function drawOverview() {
  const modules = overviewModules(), size = OVERVIEW_TOP + modules.length * OVERVIEW_ROW + 6;
  const pen = prepared(overview, size);
  density ??= Object.fromEntries(modules.map((module) => [module, workPerPixel(module, overview.clientWidth - LABEL)]));
  modules.forEach((module, row) => {
    const base = OVERVIEW_TOP + (row + 1) * OVERVIEW_ROW - 2;
    pen.fillStyle = ink("soft");
    pen.fillText(module, 12, base - OVERVIEW_ROW / 2 + 2);
    pen.fillStyle = MODULE_COLOURS[module];
    density[module].forEach((share, x) => {
      const high = Math.min(1, share) * (OVERVIEW_ROW - 3);
      if (high) pen.fillRect(LABEL + x, base - high, 1, high);
    });
  });
  const left = overviewPlace(state.begin), right = overviewPlace(state.end);
  pen.fillStyle = ink("veil");
  pen.fillRect(LABEL, 2, left - LABEL, size - 4);
  pen.fillRect(right, 2, overview.clientWidth - right, size - 4);
  pen.strokeStyle = ink("soft");
  pen.strokeRect(left + 0.5, 2.5, Math.max(2, right - left - 1), size - 5);
}

/** Return for each pixel which share of its time the module works. */
function workPerPixel(module, pixels) {
  const shares = new Float64Array(Math.max(1, pixels)), rate = shares.length / duration();
  for (const [begin, end] of spansOfWork(module)) {
    const from = begin * rate, to = end * rate;
    for (let x = Math.floor(from); x < Math.min(Math.ceil(to), shares.length); x++) {
      shares[x] += Math.min(to, x + 1) - Math.max(from, x);
    }
  }
  return shares;
}

function* spansOfWork(module) {
  const states = launch.states[module];
  if (!states) {  // no clock: a step belongs to the module that executed it
    for (const [index, owner] of launch.instructions.module.entries()) {
      const at = launch.instructions.begun[index];
      if (owner === module && at >= 0) yield [at, at + 1];
    }
    return;
  }
  for (let at = 0; at < states.begins.length; at++) {
    if (states.causes[at] === "work") yield [states.begins[at], states.begins[at + 1] ?? launch.duration];
  }
}
