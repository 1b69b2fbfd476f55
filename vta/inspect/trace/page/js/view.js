// Which part of the launch the timeline shows.

function view(begin, end) {
  const span = Math.min(Math.max(end - begin, 8), duration());
  state.begin = Math.min(Math.max(begin, 0), duration() - span);
  state.end = state.begin + span;
  draw();
}

function zoom(factor, centre = (state.begin + state.end) / 2) {
  view(centre - (centre - state.begin) / factor, centre + (state.end - centre) / factor);
}

function shift(by) {
  view(state.begin + by, state.end + by);
}

function fit() {
  view(0, duration());
}

function zoomToSelection() {
  if (state.selected < 0) return;
  const begin = launch.instructions.begun[state.selected], end = endOf(state.selected);
  if (begin < 0) return;
  const span = Math.max(end - begin + 1, 16);
  view(begin - span, end + span);
}
