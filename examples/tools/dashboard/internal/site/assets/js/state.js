// What is looked at is all in the address, after #, so that a link shows the same and the browser's buttons go back and forth:
//
//   view, x, series, panels, metric, scale, run, sort    at most once each; what is not there is chosen by the view
//   an axis' name                                        the values that are let through, once for each value; none: all

const views = [
  ['throughput', 'Throughput'],
  ['latency', 'Latency'],
  ['memory', 'Memory and accuracy'],
  ['policies', 'Policies'],
  ['run', 'One run'],
  ['commits', 'Over commits'],
  ['table', 'Table'],
];

const singles = ['view', 'x', 'series', 'panels', 'metric', 'scale', 'run', 'sort'];

// readState is the state that an address' part after # describes. What it does not know it leaves out.
function readState(hash, axes) {
  const parameters = new URLSearchParams(hash.replace(/^#/, ''));
  const state = { filters: new Map() };
  for (const name of singles) state[name] = parameters.get(name) ?? '';
  if (!views.some(([name]) => name === state.view)) state.view = views[0][0];
  for (const { name } of axes) if (parameters.has(name)) state.filters.set(name, [...new Set(parameters.getAll(name))]);
  return state;
}

// address is the part of an address that describes a state.
function address(state) {
  const parameters = new URLSearchParams();
  for (const name of singles) if (state[name]) parameters.append(name, state[name]);
  for (const [name, values] of state.filters) for (const value of values) parameters.append(name, value);
  return `#${parameters}`;
}

// other is a state that differs in some members.
function other(state, changes) {
  return { ...state, ...changes };
}

// inView is the state of another view: filters and the chosen run stay, and what one view draws by means nothing to another.
function inView(state, view) {
  return other(state, { view, x: '', series: '', panels: '', metric: '', scale: '', sort: '' });
}
