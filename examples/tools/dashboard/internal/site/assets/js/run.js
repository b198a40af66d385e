// The view of one run: which, what it ran on, its timeline and its profile.

function oneRun(c) {
  const { r, state } = c;
  const cells = visible(r, state);
  let index = r.runs.findIndex((run) => run.key === state.run);
  if (index < 0 && state.run) {
    return [h('div', { class: 'empty' }, h('h2', null, 'This run is not there'), h('p', null, `No result is called “${short(state.run, 120)}”. `, h('a', { href: link(other(state, { run: '' })) }, 'Show another')))];
  }
  if (index < 0) {
    const evictions = metricNamed(r, 'evictions').index;
    const first = d3.greatest(cells, (cell) => (cell.failed < cell.runs.length ? 1 : 0) + (cell.metrics[evictions]?.[1] ? 1 : 0)); // one with evictions has most to show
    if (!first) return [nothing(r, state)];
    index = first.runs.find((i) => !r.runs[i].error) ?? first.runs[0];
  }
  const run = r.runs[index];
  const cell = r.cells.find((candidate) => candidate.runs.includes(index));
  const listed = cells.includes(cell) ? cells : [cell, ...cells];
  const differ = varyingIn(r, listed);
  const show = (i) => link(other(state, { run: r.runs[i].key }));
  const step = (text, i) => (i >= 0 && i < listed.length
    ? h('a', { class: 'button', id: `step-${text}`, href: show(listed[i].runs[0]) }, text)
    : h('span', { class: 'button', 'aria-disabled': 'true' }, text));
  const place = listed.indexOf(cell);
  const content = h('div', { id: 'run' }, h('p', { class: 'quiet' }, 'Reading the run…'));
  fill(c, content, run, index);
  return [
    h('div', { class: 'controls' },
      select('control-cell', `Configuration (${listed.length})`, listed.map((d) => [String(d.index), describe(r, d, differ) + (d.failed === d.runs.length ? ' – failed' : '')]), String(cell.index), (i) => c.go(other(state, { run: r.runs[r.cells[i].runs[0]].key })), true),
      select('control-repetition', 'Run', cell.runs.map((i) => [String(i), `${r.runs[i].repetition}${r.runs[i].error ? ' – failed' : ''}`]), String(index), (i) => c.go(other(state, { run: r.runs[i].key }))),
      step('Previous', place - 1), step('Next', place + 1)),
    content,
  ];
}

// fill shows a run as soon as it is read, unless something else is looked at by then.
async function fill(c, content, run, index) {
  try {
    const detail = c.details.get(run.key) ?? await source.run(run.key, index);
    c.details.clear(); // one is enough: going back and forth between views asks for it again and again
    c.details.set(run.key, detail);
    if (content.isConnected || !c.drawn()) content.replaceChildren(...runContent(c, detail, run).filter(Boolean));
  } catch (error) {
    content.replaceChildren(h('p', { class: 'failure', role: 'alert' }, `The run cannot be read: ${error.message}`));
  }
  content.dataset.filled = '';
}

function fact(title, value) {
  return value ? h('div', null, h('dt', null, title), h('dd', null, value)) : null;
}

function runContent(c, detail, run) {
  const { r } = c;
  const strong = (metric) => {
    const value = run.values[metric.index];
    return value === null ? null : fact(metric.title, [h('strong', null, measure(metric, value)), metric.unit && ` ${metric.unit}`].filter(Boolean));
  };
  const { machine, config } = detail;
  return [
    detail.error && h('div', { role: 'alert' }, h('h2', { class: 'worse' }, 'This run failed'), h('p', { class: 'failure' }, detail.error)),
    !detail.error && h('dl', { class: 'facts', id: 'figures' }, r.metrics.map(strong)),
    ...timelines(c, detail),
    profiles(c, detail),
    detail.accuracy.length > 0 && h('section', { class: 'section' }, h('h2', null, 'Questions'),
      h('dl', { class: 'facts' }, detail.accuracy.map((d) => fact(d.skill, `${d.right} of ${d.asked} right`)))),
    h('section', { class: 'section' }, h('h2', null, 'Configuration'), h('dl', { class: 'facts' },
      r.axes.filter(({ name }) => name !== 'machine' && name !== 'commit').map((axis, i) => fact(axis.title, shown(axis, r.configs[run.config].axes[i]))))),
    h('section', { class: 'section' }, h('h2', null, 'Machine'), h('dl', { class: 'facts' },
      fact('name', machine.name), fact('processor', machine.processor), fact('kernels', machine.kernels), fact('processors', machine.processors && String(machine.processors)),
      fact('device', machine.device), fact('highest clock', machine.mhz && `${figure(machine.mhz)} MHz`), fact('governor', machine.governor), fact('memory', machine.memory && bytes(machine.memory)),
      fact('system', machine.os), fact('kernel', machine.kernel), fact('Go', machine.go), fact('commit', machine.commit), fact('committed', machine.committed && moment(machine.committed)),
      fact('began', moment(detail.began)), fact('took', seconds(detail.seconds)), fact('loading', detail.load && seconds(detail.load)), fact('weights', detail.weights && bytes(detail.weights)),
      fact('yardstick before and after', detail.yardsticks[0] && `${figure(detail.yardsticks[0])} ms, ${figure(detail.yardsticks[1])} ms`),
      fact('file', `${detail.key}.run.json`))),
  ];
}

const reasons = ['budget', 'memory pressure', 'request'];

function timelines(c, detail) {
  const { gaps, memory, conditions, evictions } = detail;
  const kinds = [...new Set([...reasons.filter((reason) => evictions.some((d) => d.reason === reason)), ...evictions.map((d) => d.reason)])];
  const events = evictions.map((d) => {
    const kind = kinds.indexOf(d.reason) + 1;
    return { at: d.at, stroke: colour(kind), symbol: symbol(kind), title: `eviction: ${d.reason || 'no reason told'}\n${whole.format(d.slots)} slots, ${bytes(d.bytes)} given up; ${whole.format(d.target)} stay\nat token ${whole.format(d.token)}, took ${figure(d.took)} ms` };
  });
  // From the prompt's beginning to the last token. What comes before is loading, and what comes after are the questions and the profile.
  const begin = detail.read[0] ?? 0;
  const end = d3.max([...gaps.points, ...evictions.map((d) => [d.at]), [detail.read[1]]], (d) => d[0]);
  if (!(end > begin) || !(gaps.of + memory.of)) return [];
  const width = Math.min(c.width, 1280);
  const phase = detail.read[1] > detail.read[0] ? detail.read : null;
  const margin = 0.01 * (end - begin);
  const common = { width, domain: [begin - margin, end + margin], phase };
  const rows = [];
  const row = (title, unit, series, all, options) => {
    // Of the points outside only the last before and the first after are kept: the line comes from and goes to them.
    const list = all.slice(Math.max(0, d3.bisector((d) => d.at).left(all, begin) - 1), d3.bisector((d) => d.at).right(all, end) + 1);
    if (!list.length || list.every((d) => !d.value)) return;
    const thinned = series.points.length < series.of && ` – ${whole.format(series.points.length)} of ${whole.format(series.of)} points, the least and the largest of each stretch among them`;
    rows.push(h('figure', { class: 'panel' }, h('figcaption', null, title, h('small', null, ` ${unit}${thinned || ''}`)), timeline(`${title}, ${unit}`, list, { ...common, height: 130, named: !rows.length, ...options })));
  };
  const pick = (series, i, scale, title) => series.points.map((d) => ({ at: d[0], value: scale * d[i], title: title(d) }));
  row('Time between tokens', 'ms', gaps, pick(gaps, 1, 1, (d) => `${figure(d[1])} ms\nat ${figure(d[0])} s`), { height: 220, events });
  row('Cache', 'MB', memory, pick(memory, 2, 1e-6, (d) => `${bytes(d[2])} in ${whole.format(d[3])} slots\nat ${figure(d[0])} s`), { step: true });
  row('Resident memory', 'MB', memory, pick(memory, 1, 1e-6, (d) => `${bytes(d[1])}\nat ${figure(d[0])} s`), {});
  row('Clock', 'MHz', conditions, pick(conditions, 1, 1, (d) => `${figure(d[1])} MHz\nat ${figure(d[0])} s`), { from: null, height: 110 });
  row('Temperature', '°C', conditions, pick(conditions, 2, 1, (d) => `${figure(d[2])} °C\nat ${figure(d[0])} s`), { from: null, height: 110 });
  row('Battery', '%', conditions, pick(conditions, 3, 1, (d) => `${figure(d[3])} %\nat ${figure(d[0])} s`), { from: null, height: 110 });
  row('Power', 'W', conditions, pick(conditions, 4, 1, (d) => `${figure(d[4])} W\nat ${figure(d[0])} s`), { height: 110 });
  return [h('section', { class: 'section', id: 'timeline' }, h('h2', null, 'Timeline'),
    detail.evicted > 0 && h('ul', { class: 'legend', 'aria-label': 'evictions' }, kinds.map((kind, i) => h('li', null, swatch(i + 1), `eviction: ${short(kind || 'no reason told', 60)} (${evictions.filter((d) => d.reason === kind).length})`)),
      detail.evicted > evictions.length && h('li', { class: 'quiet' }, `${evictions.length} of ${whole.format(detail.evicted)} evictions are drawn, the longest and the largest of each stretch`)),
    h('div', { class: 'panels' }, rows))];
}

function profiles(c, detail) {
  if (!detail.profiles.length) return null;
  const { columns, each } = fit(c.width, detail.profiles.length, 380);
  return h('section', { class: 'section', id: 'profile' }, h('h2', null, 'Operations', h('small', null, ' parts of the time, measured in a pass of their own')),
    grid(columns, each, detail.profiles.map((profile) => h('figure', { class: 'panel' }, h('figcaption', null, `${profile.part}: ${seconds(profile.seconds)}`), shares(profile, each)))));
}
