// Opens a launch, and starts the page. `window.vtaTrace` is what tests and scripts may use.

function open(number) {
  state.launch = number;
  launch = DATA.launches[number];
  launch.colours ??= launch.instructions.text.map(colour);
  Object.assign(state, { begin: 0, end: duration(), selected: -1, query: "", matches: [] });
  if (by("node").value && launch.node !== by("node").value) listLaunches("");
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

/** Offer the launches of a node, or of all for an empty name. */
function listLaunches(node) {
  by("node").value = node;
  by("launch").replaceChildren();
  DATA.launches.forEach((one, number) => {
    if (node && one.node !== node) return;
    by("launch").append(element("option", one.node ? `${one.number}: ${one.node}` : one.number, { value: number }));
  });
}

/** Show the launches of a node alone, the first of them at once. */
function filterByNode(node) {
  listLaunches(node);
  open(node ? DATA.launches.findIndex((one) => one.node === node) : state.launch);
}

/** Offer the nodes of the graph that launches are for, each with how long its launches took. */
function listNodes() {
  const times = new Map();
  for (const one of DATA.launches) if (one.node) times.set(one.node, (times.get(one.node) || 0) + one.duration);
  by("nodes").hidden = !times.size;
  by("node").append(element("option", "all", { value: "" }));
  const length = DATA.launches[0].clock ? "cycles" : "steps";
  for (const [node, time] of times) by("node").append(element("option", `${node} (${count(time)} ${length})`, { value: node }));
}

function start() {
  document.title = by("title").title = by("title").textContent = `VTA trace${DATA.program ? `: ${DATA.program}` : ""}`;
  if (!DATA.launches.length) {
    by("subtitle").textContent = "The trace has no launch.";
    for (const part of document.querySelectorAll("nav, main")) part.hidden = true;
    return;
  }
  listNodes();
  listLaunches("");
  listenToTimeline();
  listenToOverview();
  listenToButtons();
  listenToKeys();
  window.addEventListener("resize", () => { resetOverview(); draw(); fillTable(); });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { inks.clear(); draw(); showAccount(); });
  open(0);
}

window.vtaTrace = { data: DATA, state, view, zoom, fit, select, search, step, open, filterByNode, boxes: () => boxes, tracks: () => tracks,
  colours: () => ({ causes: CAUSES, store: KINDS.store, fetch: stateColour("fetch", "hazard"), idle: causeColour("idle") }) };
start();
