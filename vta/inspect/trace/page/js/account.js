// Where every cycle of every module went, and the figures of the launch at a glance.

const total = (own) => sum(Object.values(own));

function showFigures() {
  const figures = [[count(launch.duration), launch.clock ? "cycles" : "steps"]];
  figures.push([count(launch.instructions.text.length), "instructions"]);
  if (launch.account) figures.push([percent(launch.account.compute.work, total(launch.account.compute)), "compute works"]);
  const roof = launch.roofline;
  if (roof?.macs && roof.intensity !== null) figures.push([percent(roof.achieved, roof.attainable), "of the roof"]);
  const bytes = sum(launch.bursts.nbytes);
  if (bytes) figures.push([inBytes(bytes), "of DRAM traffic"]);
  by("figures").replaceChildren(...figures.map(([value, name]) => {
    const card = element("div");
    card.append(element("b", value), element("span", name));
    return card;
  }));
}

function inBytes(bytes) {
  const [size, name] = [[2 ** 20, "MiB"], [2 ** 10, "KiB"]].find(([size]) => bytes >= size) || [1, "bytes"];
  return `${size > 1 ? (bytes / size).toFixed(2) : bytes} ${name}`;
}

function showAccount() {
  const home = by("account");
  home.replaceChildren();
  if (!launch.account) {
    const clockless = `Device ${DATA.device} has no clock: record with --target tsim to see cycles.`;
    home.append(element("p", DATA.device === "tsim" ? "The launch did not begin." : clockless));
    return;
  }
  const modules = Object.entries(launch.account);
  const used = Object.keys(modules[0][1]).filter((cause) => modules.some(([, own]) => own[cause] > 0));
  for (const [module, own] of modules) home.append(accountRow(module, own, used));
  home.append(causeLegend(used), accountTable(modules, used));
}

function accountRow(module, own, used) {
  const all = total(own), bar = element("div", undefined, { class: "bar" });
  for (const cause of used.filter((one) => own[one])) {
    const style = `width:${100 * own[cause] / all}%;background:${stateColour(module, cause)}`;
    const title = `${cause}: ${count(own[cause])} (${percent(own[cause], all)})`;
    bar.append(element("div", undefined, { style, title, "data-cause": cause, "data-cycles": own[cause] }));
  }
  const line = element("div", undefined, { class: "account-row", "data-module": module, "data-total": all });
  line.append(element("span", module), bar, element("span", `${percent(own.work, all)} work`));
  return line;
}

function causeLegend(causes) {
  const legend = element("div", undefined, { class: "legend" });
  legend.append(...causes.map((cause) => legendItem(causeColour(cause), cause)));
  return legend;
}

function legendItem(shade, name) {
  const item = element("span");
  item.append(element("i", undefined, { style: `background:${shade}` }), name);
  return item;
}

function accountTable(modules, used) {
  const table = element("table");
  const row = (kind, cells) => {
    const made = element("tr");
    cells.forEach((cell, at) => made.append(element(kind, cell, at ? { class: "number" } : {})));
    table.append(made);
  };
  row("th", ["cause", ...modules.map(([module]) => module)]);
  for (const cause of used) row("td", [cause, ...modules.map(([, own]) => count(own[cause]))]);
  row("td", ["total", ...modules.map(([, own]) => count(total(own)))]);
  return table;
}

/** Say what the timeline's colours mean: kinds of instructions, and the causes that occur. */
function showLegend() {
  const kinds = [...new Set(launch.instructions.text.map(kindOf))].filter((kind) => KINDS[kind]);
  const causes = launch.account
    ? Object.keys(CAUSES).filter((cause) => Object.values(launch.account).some((own) => own[cause] > 0))
    : [];
  by("legend").replaceChildren(
    ...kinds.map((kind) => legendItem(KINDS[kind], kind)),
    ...(causes.length ? [element("b", "waits for")] : []),
    ...causes.map((cause) => legendItem(CAUSES[cause], cause)),
  );
}
