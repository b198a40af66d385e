// What the page knows. Everything that has a definition was computed by the program; here it is only chosen and grouped.

// embedded is the content of a block of data in the document, or null: an exported page has its data, a served one asks for it.
function embedded(id) {
  const block = find(id);
  return block && JSON.parse(block.textContent);
}

// source is where data come from.
const source = {
  tag: '',
  // overview is the overview, or null if it is what was got before.
  async overview() {
    const response = await fetch('data/overview', { cache: 'no-store', headers: this.tag ? { 'If-None-Match': this.tag } : {} });
    if (response.status === 304) return null;
    if (!response.ok) throw new Error(await response.text());
    this.tag = response.headers.get('ETag') ?? '';
    return response.json();
  },
  // run is the detail of a run.
  async run(key, index) {
    const block = embedded(`run-${index}`);
    if (block) return block;
    const response = await fetch(`data/run?${new URLSearchParams({ key })}`, { cache: 'no-store' });
    if (!response.ok) throw new Error(await response.text());
    return response.json();
  },
};

// results makes an overview convenient: axes know how to read a cell, cells their Config and their number.
function results(overview) {
  const axes = [
    { name: 'machine', title: 'machine', of: (cell) => overview.machines[cell.machine].title },
    { name: 'commit', title: 'commit', of: (cell) => overview.commits[cell.commit].title },
    ...overview.axes.map((axis, i) => ({ ...axis, of: (cell) => overview.configs[cell.config].axes[i] })),
  ];
  const metrics = overview.metrics.map((metric, index) => ({ ...metric, index, percent: metric.name === 'accuracy' }));
  const cells = overview.cells.map((cell, index) => ({ ...cell, index }));
  const newest = new Map(); // by Config and machine
  for (const cell of cells) {
    const place = `${cell.config} ${cell.machine}`;
    newest.set(place, Math.max(newest.get(place) ?? 0, cell.commit));
  }
  for (const cell of cells) cell.newest = newest.get(`${cell.config} ${cell.machine}`) === cell.commit;
  const r = { ...overview, axes, metrics, cells };
  r.varying = axes.filter((axis) => new Set(cells.map(axis.of)).size > 1);
  return r;
}

function axisNamed(r, name) {
  return r.axes.find((axis) => axis.name === name);
}

function metricNamed(r, name) {
  return r.metrics.find((metric) => metric.name === name);
}

// visible lists the cells that the filters let through. Of each Config's commits only the newest counts, unless all are asked for or some are
// chosen.
function visible(r, state, allCommits) {
  const filters = [...state.filters].filter(([name]) => !(allCommits && name === 'commit')).map(([name, values]) => [axisNamed(r, name), new Set(values)]);
  const every = allCommits || state.filters.has('commit') || [state.x, state.series, state.panels].includes('commit');
  return r.cells.filter((cell) => (every || cell.newest) && filters.every(([axis, values]) => values.has(axis.of(cell))));
}

// ordered lists an axis' values: numbers by size, with the window that is none at the end; commits by their time; other names by alphabet, with
// "none" first.
function ordered(r, axis, cells) {
  const values = [...new Set(cells.map(axis.of))];
  if (axis.name === 'commit') return r.commits.map(({ title }) => title).filter((title, i, all) => values.includes(title) && all.indexOf(title) === i);
  const numbers = values.every((value) => value !== '' && Number.isFinite(Number(value)));
  const rank = (value) => (axis.name === 'window' && value === '0' ? Infinity : Number(value));
  const last = (a, b) => (a === b ? 0 : a - b); // Infinity − Infinity is no number
  if (numbers) return values.sort((a, b) => last(rank(a), rank(b)));
  return values.sort((a, b) => Number(b === 'none') - Number(a === 'none') || a.localeCompare(b, 'en', { numeric: true }));
}

// varyingIn lists the axes on which some cells differ.
function varyingIn(r, cells) {
  return r.axes.filter((axis) => new Set(cells.map(axis.of)).size > 1);
}

// arrange says how cells are drawn: along x, in the colours of series, and in a panel for each combination of the other axes. An axis that
// follows from the others, like what a policy protects, makes no panels of its own: it stands in along.
function arrange(r, state, cells, prefer) {
  const differ = varyingIn(r, cells);
  const pick = (wanted, preferred, taken) => {
    const chosen = wanted && axisNamed(r, wanted);
    if (chosen && !taken.includes(chosen)) return chosen;
    for (const name of preferred) {
      const axis = differ.find((a) => a.name === name);
      if (axis && !taken.includes(axis)) return axis;
    }
    return null;
  };
  const fixed = prefer.fixed ? [axisNamed(r, prefer.fixed)] : [];
  const x = prefer.x ? pick(state.x, prefer.x, fixed) : null;
  const series = state.series === 'none' ? null : pick(state.series, prefer.series, [...fixed, x]);
  let by = differ.filter((axis) => axis !== x && axis !== series && !fixed.includes(axis));
  const key = (axes) => (cell) => JSON.stringify(axes.map((axis) => axis.of(cell)));
  const base = [...fixed, x, series].filter(Boolean);
  const kinds = (axes) => new Set(cells.map(key([...base, ...axes]))).size;
  const all = kinds(by);
  for (const axis of [...by].reverse()) {
    const without = by.filter((a) => a !== axis);
    if (kinds(without) === all) by = without;
  }
  const along = differ.filter((axis) => !by.includes(axis) && !base.includes(axis));
  const panelBy = state.panels && state.panels !== 'all' && axisNamed(r, state.panels);
  if (panelBy) by = by.filter((axis) => axis === panelBy);
  const orders = new Map(by.map((axis) => [axis, ordered(r, axis, cells)]));
  const panels = [...Map.groupBy(cells, key(by)).values()].map((list) => ({
    cells: list,
    values: by.map((axis) => axis.of(list[0])),
    title: by.map((axis) => named(axis, axis.of(list[0]))).join(' · '),
  }));
  panels.sort((a, b) => {
    for (const [i, axis] of by.entries()) {
      const order = orders.get(axis).indexOf(a.values[i]) - orders.get(axis).indexOf(b.values[i]);
      if (order) return order;
    }
    return 0;
  });
  return {
    x, series, by, along, panels, cells,
    xs: x ? ordered(r, x, cells) : [''],
    names: series ? ordered(r, series, cells) : [''],
  };
}

// named writes a value so that it is clear without its axis.
function named(axis, value) {
  const text = short(shown(axis, value), 40);
  return /^(\d|–|all|none|as stored|full)/.test(text) ? `${axis.title} ${text}` : text;
}

// describe names a cell by what it does not share with the others of a list.
function describe(r, cell, axes) {
  return axes.length ? axes.map((axis) => named(axis, axis.of(cell))).join(' · ') : short(shown(axisNamed(r, 'model'), axisNamed(r, 'model').of(cell)), 40);
}
