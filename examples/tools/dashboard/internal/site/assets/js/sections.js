// What the views have in common: controls, sections of panels, empty states.

const mostPanels = 36; // in a section; more would be drawn slowly and read by nobody

const usual = {
  x: ['window', 'policy', 'kv', 'prompt', 'generate', 'threads', 'backend', 'weights', 'program', 'model', 'target', 'machine', 'commit', 'handicap', 'protected', 'questions', 'skills'],
  series: ['policy', 'kv', 'backend', 'program', 'weights', 'model', 'threads', 'target', 'machine', 'prompt', 'generate', 'window', 'commit', 'handicap', 'protected', 'questions', 'skills'],
};

const meaning = 'A mark is the median of a configuration’s runs. The line through it is the interval that holds the true median with a confidence of 95 %; of fewer than six runs, it spans all of them.';

// controls lets x, series and panels be chosen from the axes that runs differ by.
function controls(r, state, layout, go, which, extra) {
  const axes = r.varying.filter((axis) => which.commit !== false || axis.name !== 'commit');
  const options = axes.map((axis) => [axis.name, axis.title]);
  return h('div', { class: 'controls' },
    extra,
    which.x && options.length > 0 && select('control-x', 'Along the axis', options, layout.x?.name ?? '', (x) => go(other(state, { x }))),
    which.series && options.length > 0 && select('control-series', 'Colours', [['none', 'one colour'], ...options], layout.series?.name ?? 'none', (series) => go(other(state, { series }))),
    which.scale && select('control-scale', 'Scale', [['zero', 'from zero, the same in all panels'], ['close', 'close up, each panel its own']], isClose(state, which.scale === 'close') ? 'close' : 'zero', (scale) => go(other(state, { scale }))),
    which.panels && options.length > 0 && select('control-panels', 'Panels', [['all', 'whatever else differs'], ...options], state.panels || 'all', (panels) => go(other(state, { panels: panels === 'all' ? '' : panels }))));
}

// metricControl lets a metric be chosen from those that some cell has.
function metricControl(r, state, cells, chosen, go) {
  const there = r.metrics.filter((metric) => metric === chosen || cells.some((cell) => cell.metrics[metric.index]));
  return select('control-metric', 'Metric', there.map((metric) => [metric.name, axisOf(metric)]), chosen.name, (metric) => go(other(state, { metric })));
}

// alongNote says which axes change together with those that are drawn, so that nobody takes their effect for the others'.
function alongNote(r, layout) {
  if (!layout.along.length) return null;
  return h('p', { class: 'about' }, `Together with what is drawn also differs: ${layout.along.map((axis) => `${axis.title} (${ordered(r, axis, layout.cells).map((value) => short(shown(axis, value), 30)).join(', ')})`).join('; ')}.`);
}

// panelsOf is a section: a metric, drawn in a panel for each part of the layout.
function panelsOf(title, unit, layout, width, least, height, paint, has) {
  const panels = layout.panels.filter((panel) => !has || panel.cells.some(has));
  const few = panels.slice(0, mostPanels);
  const { columns, each } = fit(width, few.length, least);
  return h('section', { class: 'section' },
    h('h2', null, title, unit && h('small', null, ` ${unit}`)),
    few.length ? grid(columns, each, few.map((panel) => panelFigure(panel.title, height, () => paint(panel, each)))) : h('p', { class: 'quiet' }, 'Nothing of this was measured in the runs that are shown.'),
    panels.length > few.length && h('p', { class: 'quiet' }, `${panels.length - few.length} more panels are not drawn: choose with the filters.`));
}

// metricSection is panelsOf for a metric.
function metricSection(layout, metric, width, least, height, paint) {
  const unit = metric.percent ? '%' : metric.unit;
  return panelsOf(metric.title[0].toUpperCase() + metric.title.slice(1), unit && `${unit}, ${metric.better > 0 ? 'more' : 'less'} is better`, layout, width, least, height, paint, (cell) => cell.metrics[metric.index]);
}

// leastWidth is how wide a panel must be for its bars.
function leastWidth(layout) {
  const most = d3.max(layout.panels, (panel) => panel.cells.length) || 1;
  return Math.min(Math.max(60 + 11 * most, 250), 600);
}

// nothing says what to do where there is nothing to show.
function nothing(r, state) {
  if (r.runs.length) {
    return h('div', { class: 'empty' }, h('h2', null, 'No run passes the filters'),
      h('p', null, h('a', { href: link(other(state, { filters: new Map() })) }, 'Clear the filters')));
  }
  return h('div', { class: 'empty' }, h('h2', null, 'No runs yet'),
    h('p', null, `There is no result in ${r.folders.map((name) => `“${short(name, 60)}”`).join(' and ')}. The suite makes some:`),
    h('pre', null, 'go run ./examples/tools/suite -models pebble -kv-type f16,q8_0 -out results'),
    h('p', { class: 'quiet' }, 'This page shows new runs by itself as they come.'));
}
