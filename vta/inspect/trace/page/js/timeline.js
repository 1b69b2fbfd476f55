// The timeline, drawn: ruler, tracks, the arrows of the selected instruction's tokens. `boxes` says what lies where.

const canvas = by("timeline");
let pen = null, boxes = [], wide = 0;  // `wide`: the canvas's width, which is slow to ask for

const width = () => wide - LABEL;
const scale = () => width() / (state.end - state.begin);
const place = (time) => LABEL + (time - state.begin) * scale();

function draw() {
  pen = prepared(canvas, height);
  wide = canvas.clientWidth;
  boxes = [];
  drawRuler();
  for (const track of tracks) DRAW[track.kind](track);
  drawArrows();
  drawLabels();
  drawOverview();
  by("range").textContent =
    `${unit()}s ${count(Math.floor(state.begin))} to ${count(Math.ceil(state.end))} of ${count(launch.duration)}`;
}

function drawRuler() {
  const step = 10 ** Math.ceil(Math.log10(90 / scale()));
  const fine = [step / 5, step / 2, step].find((s) => s * scale() >= 70) || step;
  const every = Math.max(1, Math.round(fine));
  pen.strokeStyle = ink("grid");
  for (let time = Math.ceil(state.begin / every) * every; time <= state.end; time += every) {
    const x = Math.round(place(time)) + 0.5;
    pen.beginPath();
    pen.moveTo(x, RULER - 4);
    pen.lineTo(x, height);
    pen.stroke();
    pen.fillStyle = ink("soft");
    if (x < wide - 50) pen.fillText(count(time), x + 3, RULER / 2);
  }
}

function drawLabels() {
  for (const track of tracks) {
    pen.fillStyle = ink("paper");
    pen.fillRect(0, track.top - 1, LABEL - 2, track.size + 2);
    pen.fillStyle = ink("ink");
    pen.fillText(track.label, 12, track.top + Math.min(track.size, ROW) / 2);
    pen.fillStyle = ink("soft");
    if (track.note) pen.fillText(track.note, 12, track.top + 1.5 * ROW);
  }
}

/** Draw a box, as much of it as is in sight and at least a visible sliver; `hit` is what lies under it. */
function box(x, y, w, h, fill, hit) {
  const left = Math.max(LABEL, x), right = Math.min(wide, x + Math.max(w, 1));
  if (right <= left) return;
  pen.fillStyle = fill;
  pen.fillRect(left, y, Math.max(right - left - (w > 3 ? 1 : 0), 0.7), h);
  if (hit) boxes.push({ left, right, top: y, bottom: y + h, hit });
}

/** Knows which boxes narrower than a pixel lie on one of their row that is drawn already. */
class Slivers {
  drawn = new Map();

  again(x, row, w) {
    const pixel = Math.floor(x), found = w < 1 && this.drawn.get(row) === pixel;
    this.drawn.set(row, pixel);
    return found;
  }
}

const DRAW = {
  instructions(track) {
    const { begun, text, lane } = launch.instructions;
    const found = new Set(state.matches), slivers = new Slivers();
    for (const index of track.own) {
      const end = endOf(index);
      if (end < state.begin || begun[index] > state.end) continue;
      const x = place(begun[index]), w = (end - begun[index] + 1) * scale();
      const y = track.top + laneTop(lane[index]), high = laneHeight(lane[index]);
      if (slivers.again(x, lane[index], w) && !found.has(index) && index !== state.selected) continue;
      pen.globalAlpha = state.query && !found.has(index) ? 0.2 : 1;
      box(x, y, w, high, launch.colours[index], { instruction: index });
      if (w > 44 && high > THIN) writeInside(`${index} ${text[index]}`, x, y, w);
      if (index === state.selected) outline(x, y, w, high);
    }
    pen.globalAlpha = 1;
  },
  states(track) {
    const { begins, causes } = track.states, module = track.name.split(":")[0];
    for (const { begin, end, at } of dominant(begins)) {
      const last = at + 1 < begins.length ? begins[at + 1] : launch.duration;
      const hit = { state: { module, cause: causes[at], begin: begins[at], end: last } };
      box(place(begin), track.top, (end - begin) * scale(), track.size, stateColour(module, causes[at]), hit);
    }
  },
  bursts(track) {
    const { begin, end } = launch.bursts, slivers = new Slivers();
    for (const index of track.own) {
      if (end[index] < state.begin || begin[index] > state.end) continue;
      const x = place(begin[index]), w = (end[index] - begin[index] + 1) * scale();
      if (slivers.again(x, 0, w)) continue;
      pen.globalAlpha = w < 1 ? 0.85 : 0.55;  // several under way at a time show darker; slivers stand for several
      box(w < 1 ? Math.floor(x) : x, track.top, w, track.size, ink("burst"), { burst: index });
    }
    pen.globalAlpha = 1;
  },
  memory(track) {
    const { memory } = track, y = (row) => track.top + (row / track.shown) * track.size, slivers = new Slivers();
    pen.fillStyle = ink("empty");
    pen.fillRect(LABEL, track.top, width(), track.size);
    for (let at = 0; at < memory.first.length; at++) {
      if (memory.end[at] < state.begin || memory.begin[at] > state.end) continue;
      const high = Math.max(1, y(memory.last[at] + 1) - y(memory.first[at]));
      const shade = memory.reads[at] ? launch.colours[memory.writer[at]] : ink("unread");
      const own = state.selected >= 0 && (memory.writer[at] === state.selected || memory.reader[at] === state.selected);
      const w = (memory.end[at] - memory.begin[at] + 1) * scale();
      if (slivers.again(place(memory.begin[at]), Math.floor(y(memory.first[at])), w) && !own) continue;
      box(place(memory.begin[at]), y(memory.first[at]), w, high, own ? ink("pick") : shade, { held: { memory, at } });
    }
  },
};

/** Yield the states in sight as {begin, end, at}; of those that share one pixel, only the longest stands for all. */
function* dominant(begins) {
  let at = lastUpTo(begins, state.begin);
  while (at < begins.length && begins[at] < state.end) {
    const pixel = Math.floor(place(begins[at])), begin = begins[at];
    let best = at, most = 0, end = begin;
    do {
      end = at + 1 < begins.length ? begins[at + 1] : launch.duration;
      if (end - begins[at] > most) [best, most] = [at, end - begins[at]];
      at++;
    } while (at < begins.length && begins[at] < state.end && Math.floor(place(begins[at])) === pixel);
    yield { begin, end, at: best };
  }
}

function writeInside(text, x, y, w) {
  const left = Math.max(x, LABEL);
  pen.save();
  pen.beginPath();
  pen.rect(left, y, Math.max(0, x + w - left - 3), ROW);
  pen.clip();
  pen.fillStyle = "#fff";
  pen.fillText(text, left + 4, y + ROW / 2 - 1);
  pen.restore();
}

function outline(x, y, w, high) {
  const left = Math.max(x, LABEL), right = Math.min(x + w, wide - 1);
  if (right < left) return;
  pen.strokeStyle = ink("pick");
  pen.lineWidth = 2;
  pen.strokeRect(left, y, Math.max(2, right - left), high);
  pen.lineWidth = 1;
}

/** Draw the selected instruction's tokens: from where one was pushed to the begin of the instruction that popped it. */
function drawArrows() {
  if (state.selected < 0) return;
  const { giver, taker, pushed } = launch.tokens, { begun, lane } = launch.instructions;
  pen.strokeStyle = pen.fillStyle = ink("pick");
  for (let at = 0; at < giver.length; at++) {
    if (taker[at] < 0 || (giver[at] !== state.selected && taker[at] !== state.selected)) continue;
    if (lane[giver[at]] < 0 || lane[taker[at]] < 0) continue;
    const from = [place(pushed[at] + 1), middleOf(giver[at])], to = [place(begun[taker[at]]), middleOf(taker[at])];
    pen.beginPath();
    pen.moveTo(...from);
    const bend = Math.max(12, Math.abs(to[0] - from[0]) / 2);
    pen.bezierCurveTo(from[0] + bend, from[1], to[0] - bend, to[1], ...to);
    pen.stroke();
    pen.beginPath();
    pen.arc(...to, 3, 0, 7);
    pen.fill();
  }
}
