// What is known of the selected instruction: its times, tokens, data, and the schedule line that it came from.

const HINT = "Click an instruction in the timeline or in the table.";
const KEYS = "The wheel zooms, dragging moves; keys: + - 0 z, arrows, / to find.";

function showSelection() {
  const home = by("selection"), index = state.selected;
  if (index < 0) {
    home.replaceChildren(element("p", HINT), element("p", KEYS, { class: "soft" }));
    return;
  }
  const list = element("dl");
  const row = (name, ...content) => {
    const cell = element("dd");
    cell.append(...content);
    list.append(element("dt", name), cell);
  };
  describe(index, row);
  describeTokens(index, row);
  describeData(index, row);
  home.replaceChildren(list);
}

function describe(index, row) {
  const { text, module, issued, begun, ended } = launch.instructions;
  row("instruction", `${index} `, element("code", text[index]));
  row("module", module[index]);
  if (launch.node) row("graph node", launch.node);
  row("origin", sourceOf(launch.instructions, index) || "not known");
  const call = callOf(launch.instructions, index);
  if (call) row("runtime call", element("code", call));
  if (issued) row("issued", issued[index] < 0 ? "never" : `${unit()} ${count(issued[index])}`);
  const end = ended[index] < 0 ? "the end, not completed" : count(ended[index]);
  row("ran", begun[index] < 0 ? "never started" : `${unit()} ${count(begun[index])} to ${end}`);
}

function describeTokens(index, row) {
  const { queue, giver, taker } = launch.tokens;
  for (let at = 0; at < giver.length; at++) {
    if (taker[at] === index) row(`token ${queue[at]} from`, link(giver[at]));
    if (giver[at] === index) row(`token ${queue[at]} to`, taker[at] < 0 ? "nobody" : link(taker[at]));
  }
}

function describeData(index, row) {
  for (const memory of launch.memories) {
    for (let at = 0; at < memory.first.length; at++) {
      if (memory.writer[at] !== index) continue;
      const readers = memory.reads[at]
        ? [`, read ${times(memory.reads[at])}, last by `, link(memory.reader[at])]
        : [", never read"];
      row(`wrote ${memory.name}`, `${memory.first[at]} to ${memory.last[at]}`, ...readers);
    }
  }
}

function link(index) {
  const made = element("a", `${index} ${launch.instructions.text[index]}`, { "data-index": index });
  made.addEventListener("click", () => select(index));
  return made;
}
