// The views of many runs. Each returns the nodes that the page shows; c is the context of main.js: results, state, width, go and open.

function throughput(c) {
  const cells = visible(c.r, c.state);
  if (!cells.length) return [nothing(c.r, c.state)];
  const layout = arrange(c.r, c.state, cells, usual);
  return [
    controls(c.r, c.state, layout, c.go, { x: true, series: true, panels: true, scale: 'zero' }),
    h('p', { class: 'about' }, meaning),
    alongNote(c.r, layout),
    legend(layout),
    ['generating', 'reading'].map((name) => {
      const metric = metricNamed(c.r, name);
      return metricSection(layout, metric, c.width, leastWidth(layout), barsHeight, (panel, width) => bars(c.r, layout, panel, metric, width, isClose(c.state, false), c.open));
    }),
  ].flat();
}

const mostStrips = 40;

function latency(c) {
  const cells = visible(c.r, c.state);
  if (!cells.length) return [nothing(c.r, c.state)];
  const layout = arrange(c.r, c.state, cells, usual);
  return [
    controls(c.r, c.state, layout, c.go, { x: true, series: true, panels: true, scale: 'zero' }),
    h('p', { class: 'about' }, meaning),
    alongNote(c.r, layout),
    legend(layout),
    ['first', 'gap50', 'gap99'].map((name) => {
      const metric = metricNamed(c.r, name);
      return metricSection(layout, metric, c.width, leastWidth(layout), barsHeight, (panel, width) => bars(c.r, layout, panel, metric, width, isClose(c.state, false), c.open));
    }),
    distribution(c, layout, cells),
  ].flat();
}

// distribution is the section of the latency view that shows all gaps between tokens, not one number of them.
function distribution(c, layout, cells) {
  const differ = varyingIn(c.r, cells).filter((axis) => !layout.along.includes(axis));
  const rows = layout.panels.flatMap((panel) => panel.cells).filter((cell) => cell.gaps.length && cell.gaps[0] > 0).map((cell) => ({
    cell, label: describe(c.r, cell, differ), stroke: colour(layout.series ? layout.names.indexOf(layout.series.of(cell)) : 0),
  }));
  const few = rows.slice(0, mostStrips);
  const domain = [d3.min(few, ({ cell }) => cell.gaps[1]) * 0.95, d3.max(few, ({ cell }) => cell.gaps.at(-1)) * 1.05];
  const { columns, each } = fit(c.width, few.length > 10 ? 2 : 1, 480);
  const part = Math.ceil(few.length / columns);
  return h('section', { class: 'section' },
    h('h2', null, 'Distribution of the time between tokens', h('small', null, ' ms')),
    h('p', { class: 'about' }, 'Of all runs of a configuration together: the dot is the median, the band the middle half, the line 98 of 100 gaps, the ring the longest one.'),
    few.length ? grid(columns, each, d3.range(columns).map((i) => panelFigure('', part * stripHeight + 46, () => strips(c.r, few.slice(i * part, (i + 1) * part), domain, each, c.open)))) : h('p', { class: 'quiet' }, 'No run that is shown has two tokens.'),
    rows.length > few.length && h('p', { class: 'quiet' }, `The first ${few.length} of ${rows.length} configurations: choose with the filters.`));
}

function memory(c) {
  const cells = visible(c.r, c.state);
  if (!cells.length) return [nothing(c.r, c.state)];
  const windowAxis = axisNamed(c.r, 'window');
  // A cell with the full cache has no policy to speak of: it is the reference of every panel that it fits into.
  const layout = arrange(c.r, c.state, cells, { fixed: 'window', series: usual.series.filter((name) => name !== 'window') });
  layout.windows = ordered(c.r, windowAxis, cells).map(Number).filter((n) => n > 0);
  const accuracy = metricNamed(c.r, 'accuracy');
  const cache = metricNamed(c.r, 'cache');
  return [
    controls(c.r, c.state, layout, c.go, { series: true, panels: true }),
    h('p', { class: 'about' }, meaning),
    alongNote(c.r, layout),
    legend(layout, true),
    layout.windows.length === 0 && h('p', { class: 'quiet' }, 'No run that is shown has a window: all keep the full cache. To see what a budget costs: go run ./examples/tools/suite -policies none,h2o,snapkv -windows 64,128,256'),
    panelsOf('Accuracy against memory', 'labels are windows', layout, c.width, 280, linesHeight, (panel, width) => tradeoff(c.r, layout, panel, cache, accuracy, width, c.open), (cell) => cell.metrics[accuracy.index]),
    ['accuracy', 'cache', 'resident', 'generating'].map((name) => {
      const metric = metricNamed(c.r, name);
      return metricSection(layout, metric, c.width, 260, linesHeight, (panel, width) => lines(c.r, layout, panel, metric, width, c.open));
    }),
  ].flat();
}

function policies(c) {
  const cells = visible(c.r, c.state);
  if (!cells.length) return [nothing(c.r, c.state)];
  const policy = axisNamed(c.r, 'policy');
  const metric = metricNamed(c.r, c.state.metric) ?? metricNamed(c.r, 'generating');
  const without = (names) => names.filter((name) => name !== 'policy');
  const layout = arrange(c.r, c.state, cells, { fixed: 'policy', x: without(usual.x), series: without(usual.series) });
  const names = ordered(c.r, policy, cells);
  const few = layout.panels.slice(0, Math.max(1, Math.floor(mostPanels / names.length)));
  const { columns, each } = fit(c.width, names.length, Math.min(200, leastWidth(layout)));
  return [
    controls(c.r, c.state, layout, c.go, { x: true, series: true, panels: true }, metricControl(c.r, c.state, cells, metric, c.go)),
    h('p', { class: 'about' }, `${meaning} All panels have the same scale.`),
    alongNote(c.r, layout),
    legend(layout),
    few.map((row) => h('section', { class: 'section' },
      h('h2', null, row.title || axisOf(metric), row.title && h('small', null, ` ${axisOf(metric)}`)),
      grid(columns, each, names.map((name) => {
        const panel = { ...row, cells: row.cells.filter((cell) => policy.of(cell) === name) };
        panel.title = [row.title, named(policy, name)].filter(Boolean).join(' · ');
        return panelFigure(named(policy, name), barsHeight, () => bars(c.r, layout, panel, metric, each, false, c.open));
      })))),
    layout.panels.length > few.length && h('p', { class: 'quiet' }, `${layout.panels.length - few.length} more rows are not drawn: choose with the filters.`),
  ].flat();
}

const mostChanges = 100;

function commits(c) {
  const { r } = c;
  const cells = visible(r, c.state, true);
  if (!cells.length) return [nothing(r, c.state)];
  const metric = metricNamed(r, c.state.metric) ?? metricNamed(r, 'generating');
  const layout = arrange(r, other(c.state, { x: 'commit' }), cells, { x: ['commit'], series: usual.series.filter((name) => name !== 'commit') });
  layout.x = axisNamed(r, 'commit');
  layout.xs = ordered(r, layout.x, cells);
  const shownCells = new Set(cells.map((cell) => cell.index));
  const here = r.changes.filter((d) => shownCells.has(d.to) && shownCells.has(d.from));
  const marked = new Map(here.filter((d) => r.metrics[d.metric] === metric && r.cells[d.from].commit !== r.cells[d.to].commit).map((d) => [d.to, d]));
  const several = layout.xs.length > 1;
  // A line needs two commits: what was measured at one only says nothing here.
  const over = new Set(cells.filter((cell) => cells.some((o) => o.config === cell.config && o.machine === cell.machine && o.commit !== cell.commit)));
  if (several && over.size) {
    for (const panel of layout.panels) panel.cells = panel.cells.filter((cell) => over.has(cell));
    layout.panels = layout.panels.filter((panel) => panel.cells.length);
  }
  return [
    controls(r, c.state, layout, c.go, { series: true, panels: true, commit: false, scale: 'close' }, metricControl(r, c.state, cells, metric, c.go)),
    h('p', { class: 'about' }, `${meaning} A ring marks a change beyond noise since the commit before.`),
    !several && h('p', { class: 'quiet' }, 'All runs that are shown are of one commit. Keep the results of each commit in a folder of its own, and give all folders to the dashboard.'),
    alongNote(r, layout),
    legend(layout, true),
    metricSection(layout, metric, c.width, 260, linesHeight, (panel, width) => history(r, layout, panel, metric, marked, width, isClose(c.state, true), c.open)),
    changesTable(c, here, cells),
  ].flat();
}

// changesTable lists what changed beyond noise: over commits, and between programs.
function changesTable(c, list, cells) {
  const { r } = c;
  const differ = varyingIn(r, cells).filter((axis) => axis.name !== 'commit');
  const side = (cell) => [r.commits[cell.commit].title, axisNamed(r, 'program').of(cell)].filter(Boolean).join(', ');
  return h('section', { class: 'section', id: 'changes' },
    h('h2', null, 'Changes beyond noise', h('small', null, ` ${list.length} in what is shown`)),
    h('p', { class: 'about' }, `Of all ${whole.format(r.compared.all)} comparisons: with a confidence of 99 % nothing that did not change is called a change in a step from one commit, or program, to another. Not told are changes below 2 %, and times that differ no more than the speed of the machine did, by the yardstick.`,
      r.compared.few > 0 && ` In ${whole.format(r.compared.few)} comparisons there are too few runs to tell anything: repeat them (-r 6).`),
    list.length === 0 ? h('p', { class: 'quiet' }, 'None.') : h('div', { class: 'table', tabindex: '0', role: 'region', 'aria-label': 'Changes beyond noise' },
      h('table', null,
        h('thead', null, h('tr', null, ['Configuration', 'Metric', 'From', 'To'].map((text) => h('th', { scope: 'col' }, text)), h('th', { scope: 'col', class: 'number' }, 'Change'), h('th', { scope: 'col' }, 'Between'))),
        h('tbody', null, list.slice(0, mostChanges).map((d) => h('tr', null,
          h('td', { class: 'text' }, h('a', { href: link(other(inView(c.state, 'run'), { run: r.runs[r.cells[d.to].runs[0]].key })) }, describe(r, r.cells[d.to], differ))),
          h('td', null, r.metrics[d.metric].title), h('td', null, side(r.cells[d.from])), h('td', null, side(r.cells[d.to])),
          h('td', { class: 'number' }, h('strong', { class: d.worse ? 'worse' : 'better' }, changed(r.metrics[d.metric], d)), d.worse ? ' worse' : ' better'),
          h('td', null, d.ratio ? `${change(d.low)} and ${change(d.high)}` : '–')))))),
    list.length > mostChanges && h('p', { class: 'quiet' }, `The largest ${mostChanges}.`));
}
