// Opens a launch, and starts the page. `window.vtaTrace` is what tests and scripts may use.

function open(number) {
  state.launch = number;
  launch = DATA.launches[number];
  launch.colours ??= launch.instructions.text.map(colour);
  Object.assign(state, { begin: 0, end: duration(), selected: -1, query: "", matches: [] });
  by("launch").value = number;
  by("search").value = by("found").textContent = "";
  const length = `${count(launch.duration)} ${launch.clock ? "cycles" : "instructions executed"}`;
  by("subtitle").textContent =
    `launch ${launch.number}${launch.node ? ` for ${launch.node}` : ""} on ${DATA.device}: ${count(launch.instructions.text.length)} instructions, ${length}; ` +
    `${DATA.bitstream}, digest ${DATA.digest}`;
  by("error").hidden = !launch.error;
  const rest = launch.axis < launch.duration ? `; nothing happens after ${unit()} ${count(launch.axis)}, so that is where the drawing ends` : "";
  by("error").textContent = launch.error ? launch.error + rest : "";
  makeTracks();
  resetOverview();
  fillHead();
  showFigures();
  showLegend();
  showAccount();
  showRoofline();
  draw();
  showSelection();
  fillTable();
}

function start() {
  document.title = by("title").title = by("title").textContent = `VTA trace${DATA.program ? `: ${DATA.program}` : ""}`;
  if (!DATA.launches.length) {
    by("subtitle").textContent = "The trace has no launch.";
    for (const part of document.querySelectorAll("nav, main")) part.hidden = true;
    return;
  }
  DATA.launches.forEach((one, number) => {
    by("launch").append(element("option", one.node ? `${one.number}: ${one.node}` : one.number, { value: number }));
  });
  listenToTimeline();
  listenToOverview();
  listenToButtons();
  listenToKeys();
  window.addEventListener("resize", () => { resetOverview(); draw(); fillTable(); });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { inks.clear(); draw(); showAccount(); });
  open(0);
}

window.vtaTrace = { data: DATA, state, view, zoom, fit, select, search, step, open, boxes: () => boxes, tracks: () => tracks,
  colours: () => ({ causes: CAUSES, store: KINDS.store, fetch: stateColour("fetch", "hazard"), idle: causeColour("idle") }) };
start();
