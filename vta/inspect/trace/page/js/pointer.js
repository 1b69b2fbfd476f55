// The mouse and the keyboard: what the pointer is on, panning, zooming, buttons and keys.

const hitAt = (x, y) => boxes.findLast((b) => x >= b.left && x <= b.right && y >= b.top && y <= b.bottom)?.hit;

function tipText(hit) {
  const { text, begun, ended } = launch.instructions, { duration } = launch;
  if (hit.instruction !== undefined) {
    const index = hit.instruction, source = sourceOf(launch.instructions, index);
    const end = ended[index] < 0 ? `the end at ${count(duration)}, not completed` : count(ended[index]);
    const when = `${unit()} ${count(begun[index])} to ${end}`;
    return [`${index} ${text[index]}`, when, source].filter(Boolean).join("\n");
  }
  if (hit.state) {
    const { module, cause, begin, end } = hit.state;
    return `${module}: ${cause}\n${count(end - begin)} ${unit()}s from ${count(begin)}`;
  }
  if (hit.burst !== undefined) {
    const b = launch.bursts, at = hit.burst, place = `0x${b.address[at].toString(16)}`;
    return `${b.clients[b.client[at]]}: ${count(b.nbytes[at])} bytes at ${place}\n${unit()} ${count(b.begin[at])} to ${count(b.end[at])}`;
  }
  const { memory, at } = hit.held, writer = memory.writer[at];
  const reads = memory.reads[at] ? `read ${times(memory.reads[at])}` : "never read";
  return `${memory.name} ${memory.first[at]} to ${memory.last[at]}\nwritten by ${writer} ${text[writer]}, ${reads}`;
}

function showTip(event) {
  const tip = by("tip"), hit = hitAt(event.offsetX, event.offsetY);
  tip.hidden = !hit;
  if (!hit) return;
  tip.textContent = tipText(hit);
  const room = canvas.clientWidth - tip.offsetWidth - 8;
  tip.style.left = `${Math.max(0, Math.min(event.offsetX + 14, room))}px`;
  tip.style.top = `${canvas.offsetTop + event.offsetY + 14}px`;
}

function listenToTimeline() {
  let drag = null, moved = false;
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (sideways) shift((event.deltaX || event.deltaY) / scale());
    else zoom(event.deltaY < 0 ? 1.25 : 0.8, state.begin + Math.max(0, event.offsetX - LABEL) / scale());
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => { drag = { x: event.offsetX, begin: state.begin }; moved = false; });
  window.addEventListener("pointerup", () => { drag = null; });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag) {
      showTip(event);
      return;
    }
    if (Math.abs(event.offsetX - drag.x) > 3) moved = true;
    const begin = drag.begin - (event.offsetX - drag.x) / scale();
    if (moved) view(begin, begin + state.end - state.begin);
    by("tip").hidden = true;
  });
  canvas.addEventListener("pointerleave", () => { by("tip").hidden = true; });
  canvas.addEventListener("click", (event) => {
    const hit = moved ? undefined : hitAt(event.offsetX, event.offsetY);
    if (hit?.instruction !== undefined) select(hit.instruction);
    else if (hit?.held) select(hit.held.memory.writer[hit.held.at]);
  });
}

/** Let the overview be dragged: what is shown below has its middle where the pointer is. */
function listenToOverview() {
  let dragging = false;
  const centre = (event) => {
    const span = state.end - state.begin, middle = overviewTime(event.offsetX);
    view(middle - span / 2, middle + span / 2);
  };
  overview.addEventListener("pointerdown", (event) => { dragging = true; overview.setPointerCapture(event.pointerId); centre(event); });
  overview.addEventListener("pointermove", (event) => { if (dragging) centre(event); });
  overview.addEventListener("pointerup", () => { dragging = false; });
}

function listenToButtons() {
  const clicks = {
    next: () => step(1), previous: () => step(-1),
    "zoom-in": () => zoom(2), "zoom-out": () => zoom(0.5), fit, "zoom-selection": zoomToSelection,
  };
  for (const [name, act] of Object.entries(clicks)) by(name).addEventListener("click", act);
  by("node").addEventListener("change", (event) => filterByNode(event.target.value));
  by("launch").addEventListener("change", (event) => open(Number(event.target.value)));
  by("search").addEventListener("input", (event) => search(event.target.value));
  by("search").addEventListener("keydown", (event) => {
    if (event.key === "Enter") step(event.shiftKey ? -1 : 1);
    if (event.key !== "Escape") return;
    event.preventDefault();  // the browser would empty the field and say nothing of it
    event.target.value = "";
    search("");
    event.target.blur();
  });
  by("table-scroll").addEventListener("scroll", fillTable);
  by("table-body").addEventListener("click", (event) => {
    const row = event.target.closest("tr[data-index]");
    if (row) select(Number(row.dataset.index));
  });
}

function listenToKeys() {
  window.addEventListener("keydown", (event) => {
    if (["INPUT", "SELECT"].includes(event.target.tagName) || event.ctrlKey || event.metaKey || event.altKey) return;
    const span = state.end - state.begin;
    const keys = {
      "+": () => zoom(2), "-": () => zoom(0.5), 0: fit, z: zoomToSelection,
      ArrowLeft: () => shift(-span / 5), ArrowRight: () => shift(span / 5),
      "/": () => { event.preventDefault(); by("search").focus(); },
    };
    keys[event.key]?.();
  });
}
