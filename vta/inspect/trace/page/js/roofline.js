// The launch under its two roofs, on logarithmic axes: what the GEMM core can do, and what memory can feed it with.

const ROOF = { W: 460, H: 270, left: 46, right: 16, top: 16, bottom: 40 };

function svg(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function showRoofline() {
  const home = by("roofline"), roof = launch.roofline;
  home.replaceChildren();
  if (!roof || roof.intensity === null || !roof.macs) {
    home.append(element("p", roof ? "This launch has no multiply-accumulates." : DATA.device === "tsim" ? "The launch did not begin." : "There is no clock on this device."));
    return;
  }
  home.append(roofPlot(roof));
  home.append(element("p", `${count(roof.macs)} MAC, ${count(roof.read)} bytes read, ${count(roof.written)} written: ${roof.achieved.toFixed(1)} MAC a cycle at ` +
    `${roof.intensity.toFixed(2)} MAC a byte on the busier channel, ${percent(roof.achieved, roof.attainable)} of what the roof allows.`, { id: "roofline-text" }));
}

function roofPlot(roof) {
  const { W, H, left, right, top, bottom } = ROOF, ridge = roof.peak / roof.bandwidth;
  const low = Math.min(ridge, roof.intensity) / 8, high = Math.max(ridge, roof.intensity) * 8;
  const least = Math.min(roof.achieved, low * roof.bandwidth) / 2, most = roof.peak * 2;
  const x = (v) => left + (W - left - right) * Math.log(v / low) / Math.log(high / low);
  const y = (v) => H - bottom - (H - top - bottom) * Math.log(v / least) / Math.log(most / least);
  const art = svg("svg", { viewBox: `0 0 ${W} ${H}`, width: "100%", role: "img", "aria-label": "roofline" });
  for (const v of powers(low, high)) {
    art.append(svg("line", { x1: x(v), x2: x(v), y1: top, y2: H - bottom, class: "grid" }));
    art.append(svg("text", { x: x(v), y: H - bottom + 14, "text-anchor": "middle", class: "tick" }, short(v)));
  }
  for (const v of powers(least, most)) {
    art.append(svg("line", { x1: left, x2: W - right, y1: y(v), y2: y(v), class: "grid" }));
    art.append(svg("text", { x: left - 6, y: y(v) + 4, "text-anchor": "end", class: "tick" }, short(v)));
  }
  const corners = [[low, low * roof.bandwidth], [ridge, roof.peak], [high, roof.peak]].map(([a, b]) => `${x(a)},${y(b)}`);
  art.append(svg("polygon", { points: [...corners, `${x(high)},${H - bottom}`, `${x(low)},${H - bottom}`].join(" "), class: "under" }));
  art.append(svg("polyline", { points: corners.join(" "), class: "roof" }));
  art.append(svg("text", { x: W - right, y: y(roof.peak) - 6, "text-anchor": "end" }, `${roof.peak} MAC a cycle`));
  const middle = Math.sqrt(low * ridge), turn = Math.atan2(y(ridge * roof.bandwidth) - y(low * roof.bandwidth), x(ridge) - x(low));
  const [a, b] = [x(middle), y(middle * roof.bandwidth) - 7];
  art.append(svg("text", { x: a, y: b, "text-anchor": "middle", transform: `rotate(${turn * 180 / Math.PI} ${a} ${b})` }, `${roof.bandwidth} bytes a cycle`));
  const at = x(roof.intensity);
  art.append(svg("line", { x1: at, x2: at, y1: y(roof.achieved), y2: y(roof.attainable), class: "gap" }));
  art.append(svg("circle", { cx: at, cy: y(roof.achieved), r: 5.5, class: "point", id: "roofline-point" }));
  art.append(svg("text", { x: at + 10, y: y(roof.achieved) + 16, class: "point" }, `${roof.achieved.toFixed(1)}`));
  art.append(svg("text", { x: (left + W - right) / 2, y: H - 6, "text-anchor": "middle", class: "tick" }, "MAC per byte on the busier channel of DRAM"));
  art.append(svg("text", { x: 0, y: 0, "text-anchor": "middle", class: "tick", transform: `translate(11 ${(top + H - bottom) / 2}) rotate(-90)` }, "MAC a cycle"));
  return art;
}

/** Return the powers of ten within a range, and of four where these are too few to read a value from. */
function powers(low, high) {
  const of = (base) => {
    const first = Math.ceil(Math.log(low) / Math.log(base) - 1e-9), last = Math.floor(Math.log(high) / Math.log(base) + 1e-9);
    return Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => base ** (first + at));
  };
  return of(10).length > 3 ? of(10) : of(4);
}

const short = (value) => (value >= 1 ? count(Math.round(value)) : String(Number(value.toPrecision(2))));
