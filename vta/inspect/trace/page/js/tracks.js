// The timeline's rows from top to bottom: what each shows, and where it lies.

const ROW = 16, THIN = 3, FULL_LANES = 2, RULER = 22, MAP = 72, STRIP = 9, LABEL = 128;
let tracks = [], height = 0;

function makeTracks() {
  tracks = [];
  let top = RULER;
  const add = (kind, name, size, gap, more) => {
    tracks.push({ kind, name, label: name, top, size, ...more });
    top += size + gap;
  };
  for (const module of MODULES) addModule(module, add);
  const { clients, client } = launch.bursts;
  clients.forEach((name, number) => {
    const own = client.flatMap((owner, index) => (owner === number ? [index] : []));
    if (own.length) add("bursts", `DRAM: ${name}`, ROW - 4, 3, { own });
  });
  for (const memory of launch.memories) {
    if (!memory.first.length) continue;
    const used = memory.last.reduce((most, last) => Math.max(most, last + 1), 1);
    const shown = Math.min(memory.depth, 2 ** Math.ceil(Math.log2(used)));
    const note = `${count(used)} of ${count(memory.depth)}`;  // what is used; the axis goes on to a power of two
    add("memory", `${memory.name} buffer`, MAP, 6, { memory, shown, note });
  }
  height = top + 2;
}

/** Add a module's instructions, in as many lanes as it has under way, and a strip with what it waits for. */
function addModule(module, add) {
  const { module: owners, lane } = launch.instructions;
  const own = owners.flatMap((owner, index) => (owner === module && lane[index] >= 0 ? [index] : []));
  const lanes = own.reduce((most, index) => Math.max(most, lane[index] + 1), 0);
  const states = launch.states[module];
  if (lanes) add("instructions", module, laneTop(lanes), states ? 1 : 8, { own });
  if (states) add("states", `${module}: waits`, STRIP, 8, { states, label: lanes ? "" : module });
}

// The first lanes have room for text; where many instructions are under way at a time, the others are thin.
const laneTop = (lane) => Math.min(lane, FULL_LANES) * ROW + Math.max(0, lane - FULL_LANES) * THIN;
const laneHeight = (lane) => (lane < FULL_LANES ? ROW - 2 : THIN - 1);

/** Return the height of the middle of an instruction's box. */
function middleOf(index) {
  const track = tracks.find((t) => t.kind === "instructions" && t.name === launch.instructions.module[index]);
  const lane = launch.instructions.lane[index];
  return track.top + laneTop(lane) + laneHeight(lane) / 2;
}
