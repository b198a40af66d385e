// Pictures. All of them are made by Observable Plot; colours are the variables of base.css, so that light and dark need no redrawing.

const symbols = ['circle', 'square', 'triangle', 'diamond', 'star', 'cross', 'wye', 'hexagon'];

function colour(i) {
  return `var(--s${i % 8})`;
}

function symbol(i) {
  return symbols[i % symbols.length];
}

const tip = { fill: 'var(--raised)', stroke: 'var(--edge)', pathFilter: 'none', lineWidth: 26, fontSize: 12, pointerSize: 8 };

// draw makes a picture of marks. A click on what has a run shows that run.
function draw(label, options, marks) {
  const picture = Plot.plot({ className: 'plot', color: { type: 'identity' }, symbol: { type: 'identity' }, marginLeft: 44, marginRight: 8, marginTop: 8, marginBottom: 32, ...options, marks });
  for (const part of picture.querySelectorAll('[aria-label]')) { // Plot's names of marks: the picture is one thing, which the label names
    part.dataset.mark = part.getAttribute('aria-label');
    part.removeAttribute('aria-label');
  }
  picture.setAttribute('role', 'img');
  picture.setAttribute('aria-label', label);
  if (options.open) {
    picture.classList.add('linked');
    picture.addEventListener('click', () => picture.value && options.open(picture.value));
  }
  return picture;
}

// swatch is a series' sign in a legend.
function swatch(i) {
  const picture = d3.create('svg').attr('viewBox', '-6 -6 12 12').attr('aria-hidden', 'true');
  const shape = { circle: d3.symbolCircle, square: d3.symbolSquare, triangle: d3.symbolTriangle, diamond: d3.symbolDiamond, star: d3.symbolStar, cross: d3.symbolCross, wye: d3.symbolWye, hexagon: d3.symbolSquare2 }[symbol(i)];
  picture.append('path').attr('d', d3.symbol(shape, 60)()).attr('fill', colour(i));
  return picture.node();
}

// legend says which colour, and with shapes which shape, is whose; nothing where there is only one.
function legend(layout, shapes) {
  if (!layout.series) return null;
  return h('ul', { class: 'legend', 'aria-label': layout.series.title }, layout.names.map((name, i) => {
    const sign = shapes ? swatch(i) : h('span', { class: 'bar', 'aria-hidden': 'true' });
    if (!shapes) sign.style.background = colour(i);
    return h('li', null, sign, short(shown(layout.series, name), 60));
  }));
}

// fit divides a width into as many equal columns as panels of a least width have room, and says how wide one is.
function fit(width, panels, least) {
  const gap = 18;
  const columns = Math.max(1, Math.min(panels, Math.floor((width + gap) / (least + gap))));
  return { columns, each: Math.min(Math.floor((width - gap * (columns - 1)) / columns), columns === 1 ? 760 : 620) };
}

// grid places figures in columns.
function grid(columns, each, figures) {
  const element = h('div', { class: 'panels' }, figures);
  element.style.gridTemplateColumns = `repeat(${columns}, ${each}px)`;
  return element;
}

// toPaint lists the pictures of the page that are not drawn yet, each with what is to be called for it. main.js works it off piece by piece, so
// that a page with many pictures answers meanwhile.
let toPaint = [];

// panelFigure is a figure of a height whose picture paint will make.
function panelFigure(title, height, paint) {
  const place = h('div');
  place.style.minHeight = `${height}px`;
  toPaint.push(() => place.replaceChildren(paint()));
  return h('figure', { class: 'panel' }, title && h('figcaption', { title }, title), place);
}

// points lists what a panel draws of a metric: a cell's interval with its series and its place along x.
function points(layout, cells, metric) {
  const list = [];
  for (const cell of cells) {
    const values = cell.metrics[metric.index];
    if (!values) continue;
    list.push({
      cell, values, value: values[1], low: values[2], high: values[3],
      at: layout.x ? layout.xs.indexOf(layout.x.of(cell)) : 0,
      series: layout.series ? layout.names.indexOf(layout.series.of(cell)) : 0,
    });
  }
  return list.sort((a, b) => a.at - b.at || a.series - b.series);
}

// mostOf is the largest value of a metric, with its interval: the end of a scale that all panels share.
function mostOf(cells, metric) {
  return d3.max(cells, (cell) => cell.metrics[metric.index]?.[3]) || 1;
}

// scaleOf is the axis of a metric: from zero and the same for all panels of the cells; or, close up, only as long as a panel's points need.
function scaleOf(metric, cells, close) {
  const axis = {
    label: metric.percent ? '%' : metric.unit || metric.title, labelAnchor: 'top', labelArrow: 'none', labelOffset: 38,
    ticks: metric.percent ? 5 : 4, nice: !metric.percent, tickSize: 0, tickFormat: (value) => (metric.percent ? digits3.format(100 * value) : close ? digits4.format(value) : figure(value)),
  };
  if (!close) return { ...axis, domain: metric.percent ? [0, 1] : [0, mostOf(cells, metric)] };
  const values = cells.map((cell) => cell.metrics[metric.index]).filter(Boolean);
  const [low, high] = [d3.min(values, (d) => d[2]) ?? 0, d3.max(values, (d) => d[3]) ?? 1];
  const room = 0.08 * (high - low || Math.abs(high) || 1);
  return { ...axis, domain: [low - room, high + room] };
}

// isClose tells how a state wants axes to be: a view says what it is without a wish.
function isClose(state, usually) {
  return state.scale ? state.scale === 'close' : usually;
}

const gridMark = () => Plot.gridY({ stroke: 'var(--grid)', strokeOpacity: 1 });
const ground = (close) => !close && Plot.ruleY([0], { stroke: 'var(--edge)' });

// The heights of pictures.
const barsHeight = 204;
const linesHeight = 214;
const stripHeight = 36;

// bars draws a metric along an axis: a bar to the median, and a line over the interval. Close up, where a bar's length would say nothing, the
// median is a line.
function bars(r, layout, panel, metric, width, close, open) {
  const list = points(layout, panel.cells, metric);
  const slots = d3.rollup(list, (members) => members.length, (d) => d.at);
  const most = d3.max(slots.values()) || 1;
  const bar = Math.min(0.82 / most, 0.4);
  const seen = new Map();
  for (const d of list) {
    const i = seen.get(d.at) ?? 0;
    seen.set(d.at, i + 1);
    d.x = d.at + (i - (slots.get(d.at) - 1) / 2) * bar;
    d.x1 = d.x - 0.42 * bar;
    d.x2 = d.x + 0.42 * bar;
    d.fill = colour(d.series);
    d.title = tipOf(r, layout, d, metric);
  }
  const room = Math.max(3, Math.floor((width - 52) / layout.xs.length / 6.4));
  return draw(summaryOf(layout, panel, metric, list), {
    width, height: barsHeight, marginTop: 22, open: (d) => open(d.cell),
    x: { type: 'linear', domain: [-0.5, layout.xs.length - 0.5], label: null, ticks: [] },
    y: scaleOf(metric, close ? panel.cells : layout.cells, close),
  }, [
    gridMark(),
    Plot.axisX(layout.xs.map((_, i) => i), { tickSize: 0, label: layout.x?.title ?? null, labelAnchor: 'center', labelArrow: 'none', labelOffset: 30, tickFormat: (i) => (layout.x ? short(shown(layout.x, layout.xs[i]), room) : '') }),
    Plot.rect(list, close ? { x1: 'x1', x2: 'x2', y1: 'low', y2: 'high', fill: 'fill', fillOpacity: 0.2 } : { x1: 'x1', x2: 'x2', y1: 0, y2: 'value', fill: 'fill', fillOpacity: 0.32 }),
    Plot.ruleY(list, { x1: 'x1', x2: 'x2', y: 'value', stroke: 'fill', strokeWidth: 2 }),
    Plot.ruleX(list, { x: 'x', y1: 'low', y2: 'high', stroke: 'fill', strokeWidth: 2 }),
    ground(close),
    Plot.tip(list, Plot.pointerX({ x: 'x', y: 'value', title: 'title', ...tip })),
  ].filter(Boolean));
}

// tipOf is what is told of a point: which cell it is, and its interval.
function tipOf(r, layout, d, metric) {
  const axes = [layout.x, layout.series, ...layout.by, ...layout.along].filter(Boolean);
  const failed = d.cell.failed ? `\n${d.cell.failed} of ${d.cell.runs.length} runs failed` : '';
  return `${describe(r, d.cell, axes)}\n${metric.title}: ${interval(metric, d.values)}${failed}`;
}

// summaryOf says in words what a picture shows; the table has the numbers.
function summaryOf(layout, panel, metric, list) {
  const by = [layout.x, layout.series].filter(Boolean).map((axis) => axis.title).join(' and ');
  const what = `${axisOf(metric)}${by && ` by ${by}`}${panel.title && `, ${panel.title}`}`;
  if (!list.length) return `${what}: nothing was measured`;
  const [low, high] = d3.extent(list, (d) => d.value);
  return `${what}: ${list.length} medians from ${measure(metric, low)} to ${measure(metric, high)}`;
}

// lines draws a metric against the window, a line for each series, and the full cache as a line across.
function lines(r, layout, panel, metric, width, open) {
  const list = points(layout, panel.cells, metric);
  const windowAxis = axisNamed(r, 'window');
  const full = list.filter((d) => windowAxis.of(d.cell) === '0');
  const limited = list.filter((d) => windowAxis.of(d.cell) !== '0');
  const windows = layout.windows;
  for (const d of list) {
    d.window = Number(windowAxis.of(d.cell));
    d.stroke = colour(d.series);
    d.symbol = symbol(d.series);
    d.z = `${d.series} ${layout.by.concat(layout.along).map((axis) => axis.of(d.cell)).join('\n')}`;
    d.title = tipOf(r, layout, d, metric);
  }
  const domain = windows.length ? [windows[0] / 1.2, windows.at(-1) * 1.2] : [1, 2];
  for (const d of full) d.window = domain[1];
  limited.sort((a, b) => a.window - b.window);
  return draw(summaryOf(layout, panel, metric, list), {
    width, height: linesHeight, marginTop: 22, open: (d) => open(d.cell),
    x: { type: 'log', domain, label: null, ticks: [] },
    y: scaleOf(metric, layout.cells),
  }, [
    gridMark(),
    Plot.axisX(windows, { tickSize: 4, label: 'window, slots', labelAnchor: 'center', labelArrow: 'none', labelOffset: 30, tickFormat: (value) => String(value) }),
    ground(),
    Plot.ruleY(full, { y: 'value', stroke: 'var(--quiet)', strokeDasharray: '5 4' }),
    Plot.text(full.slice(0, 1), { y: 'value', text: () => 'full cache', frameAnchor: 'left', dx: 4, dy: metric.better < 0 ? 8 : -7, fill: 'var(--quiet)', textAnchor: 'start', stroke: 'var(--ground)', strokeWidth: 3 }),
    Plot.line(limited, { x: 'window', y: 'value', z: 'z', stroke: 'stroke', strokeWidth: 1.75 }),
    Plot.ruleX(limited, { x: 'window', y1: 'low', y2: 'high', stroke: 'stroke', strokeWidth: 2 }),
    Plot.dot(limited, { x: 'window', y: 'value', fill: 'stroke', symbol: 'symbol', r: 3.5 }),
    Plot.tip(list, Plot.pointer({ x: 'window', y: 'value', title: 'title', maxRadius: 60, ...tip })),
  ]);
}

// tradeoff draws one metric against another, a line for each series along its windows.
function tradeoff(r, layout, panel, across, up, width, open) {
  const windowAxis = axisNamed(r, 'window');
  const list = points(layout, panel.cells, up).filter((d) => d.cell.metrics[across.index]);
  for (const d of list) {
    const values = d.cell.metrics[across.index];
    d.across = values[1];
    d.left = values[2];
    d.right = values[3];
    d.window = Number(windowAxis.of(d.cell)) || Infinity;
    d.label = d.window === Infinity ? 'full' : String(d.window);
    d.stroke = d.window === Infinity ? 'var(--quiet)' : colour(d.series);
    d.symbol = symbol(d.series);
    d.z = `${d.series} ${d.window === Infinity} ${layout.by.concat(layout.along).map((axis) => axis.of(d.cell)).join('\n')}`;
    d.title = `${tipOf(r, layout, d, up)}\n${across.title}: ${interval(across, values)}`;
  }
  list.sort((a, b) => a.window - b.window || a.across - b.across);
  const most = d3.max(layout.cells, (cell) => cell.metrics[across.index]?.[3]) || 1;
  const labelled = [...d3.rollup(list, (members) => d3.greatest(members, (d) => d.value), (d) => d.label).values()]; // the highest of each window
  return draw(summaryOf({ ...layout, x: { title: across.title } }, panel, up, list), {
    width, height: linesHeight, marginTop: 22, marginRight: 16, open: (d) => open(d.cell),
    x: { label: null, domain: [0, most], nice: true },
    y: scaleOf(up, layout.cells),
  }, [
    gridMark(),
    Plot.axisX({ tickSize: 4, ticks: Math.max(3, Math.floor(width / 80)), label: axisOf(across), labelAnchor: 'center', labelArrow: 'none', labelOffset: 30, tickFormat: (value) => figure(value) }),
    ground(),
    Plot.line(list, { x: 'across', y: 'value', z: 'z', stroke: 'stroke', strokeWidth: 1.75 }),
    Plot.ruleX(list, { x: 'across', y1: 'low', y2: 'high', stroke: 'stroke', strokeWidth: 2 }),
    Plot.ruleY(list, { y: 'value', x1: 'left', x2: 'right', stroke: 'stroke', strokeWidth: 2 }),
    Plot.dot(list, { x: 'across', y: 'value', fill: 'stroke', symbol: 'symbol', r: 3.5 }),
    Plot.text(labelled, { x: 'across', y: 'value', text: 'label', dy: -9, fill: 'var(--quiet)', fontSize: 10, stroke: 'var(--ground)', strokeWidth: 3 }),
    Plot.tip(list, Plot.pointer({ x: 'across', y: 'value', title: 'title', maxRadius: 60, ...tip })),
  ]);
}

// strips draws the distribution of the gaps between tokens, a strip for each cell.
function strips(r, rows, domain, width, open) {
  const at = (part) => r.gaps.indexOf(part);
  for (const [i, row] of rows.entries()) {
    row.y = i;
    row.least = row.cell.gaps[at(0.01)];
    row.low = row.cell.gaps[at(0.25)];
    row.middle = row.cell.gaps[at(0.5)];
    row.high = row.cell.gaps[at(0.75)];
    row.most = row.cell.gaps[at(0.99)];
    row.worst = row.cell.gaps[at(1)];
    row.title = `${row.label}\nmedian ${figure(row.middle)} ms\nmiddle half ${figure(row.low)} to ${figure(row.high)} ms\n98 of 100 ${figure(row.least)} to ${figure(row.most)} ms\nlongest ${figure(row.worst)} ms`;
  }
  return draw(`Time between tokens, in milliseconds: the distributions of ${rows.length} configurations`, {
    width, height: rows.length * stripHeight + 46, marginLeft: 8, marginTop: 4, marginBottom: 36, open: (d) => open(d.cell),
    x: { type: 'log', domain, label: null },
    y: { type: 'linear', domain: [rows.length - 0.3, -0.7], axis: null },
  }, [
    Plot.gridX({ stroke: 'var(--grid)', strokeOpacity: 1, ticks: Math.max(3, Math.floor(width / 120)) }),
    Plot.axisX({ tickSize: 4, ticks: Math.max(3, Math.floor(width / 120)), label: 'time between tokens, ms (logarithmic)', labelAnchor: 'center', labelArrow: 'none', labelOffset: 32, tickFormat: (value) => figure(value) }),
    Plot.text(rows, { y: 'y', text: 'label', frameAnchor: 'left', dy: -14, textAnchor: 'start', fill: 'currentColor', stroke: 'var(--ground)', strokeWidth: 4 }),
    Plot.ruleY(rows, { y: 'y', x1: 'least', x2: 'most', stroke: 'stroke', strokeWidth: 1.5 }),
    Plot.ruleY(rows, { y: 'y', x1: 'low', x2: 'high', stroke: 'stroke', strokeWidth: 7, strokeOpacity: 0.45 }),
    Plot.dot(rows, { y: 'y', x: 'middle', fill: 'stroke', r: 4 }),
    Plot.dot(rows, { y: 'y', x: 'worst', stroke: 'stroke', r: 2.5 }),
    Plot.tip(rows, Plot.pointer({ y: 'y', x: 'middle', title: 'title', maxRadius: Infinity, ...tip })),
  ]);
}

// history draws a metric over commits, a line for each series, with a ring where it changed beyond noise.
function history(r, layout, panel, metric, changes, width, close, open) {
  const list = points(layout, panel.cells, metric);
  for (const d of list) {
    d.stroke = colour(d.series);
    d.symbol = symbol(d.series);
    d.z = `${d.series} ${d.cell.config} ${d.cell.machine}`;
    d.change = changes.get(d.cell.index);
    d.title = tipOf(r, layout, d, metric) + (d.change ? `\n${changed(metric, d.change)} since the commit before` : '');
  }
  const marked = list.filter((d) => d.change);
  const room = Math.max(4, Math.floor((width - 52) / layout.xs.length / 6.6));
  return draw(`${summaryOf(layout, panel, metric, list)}; ${marked.length} of them changed beyond noise`, {
    width, height: linesHeight, marginTop: 22, open: (d) => open(d.cell),
    x: { type: 'linear', domain: [-0.4, layout.xs.length - 0.6], label: null, ticks: [] },
    y: scaleOf(metric, close ? panel.cells : layout.cells, close),
  }, [
    gridMark(),
    Plot.axisX(layout.xs.map((_, i) => i), { tickSize: 4, label: 'commit', labelAnchor: 'center', labelArrow: 'none', labelOffset: 30, tickFormat: (i) => layout.xs[i].slice(0, Math.min(room, 7)) }),
    ground(close),
    Plot.line(list, { x: 'at', y: 'value', z: 'z', stroke: 'stroke', strokeWidth: 1.75 }),
    Plot.ruleX(list, { x: 'at', y1: 'low', y2: 'high', stroke: 'stroke', strokeWidth: 2 }),
    Plot.dot(list, { x: 'at', y: 'value', fill: 'stroke', symbol: 'symbol', r: 3 }),
    Plot.dot(marked, { x: 'at', y: 'value', stroke: (d) => (d.change.worse ? 'var(--worse)' : 'var(--better)'), strokeWidth: 2, r: 8 }),
    Plot.tip(list, Plot.pointer({ x: 'at', y: 'value', title: 'title', maxRadius: 60, ...tip })),
  ].filter(Boolean));
}

// timeline draws a value over a run's time. Events are marked across it.
function timeline(label, list, { width, height, domain, from = 0, phase, named, step, events = [] }) {
  const most = d3.max(list, (d) => d.value) || 1;
  const lowest = d3.min(list, (d) => d.value) ?? 0;
  const least = from !== null ? from : lowest < most ? lowest : 0.9 * lowest;
  const top = most + 0.12 * (most - least || most);
  for (const event of events) event.value = top;
  return draw(`${label}: ${list.length} points from ${figure(d3.min(list, (d) => d.value))} to ${figure(most)}${events.length ? `; ${events.length} evictions` : ''}`, {
    width, height, marginLeft: 52, marginRight: 12, marginTop: 12, marginBottom: 34,
    x: { domain, label: null }, y: { domain: [least, top], label: null, nice: from === null },
  }, [
    phase && Plot.rect([phase], { x1: (d) => d[0], x2: (d) => d[1], y1: least, y2: top, fill: 'var(--quiet)', fillOpacity: 0.1 }),
    phase && named && Plot.text([phase], { x: (d) => (d[0] + d[1]) / 2, text: () => 'prompt', frameAnchor: 'bottom', dy: -4, fill: 'var(--quiet)' }),
    Plot.gridY({ ticks: 4, stroke: 'var(--grid)', strokeOpacity: 1 }),
    Plot.axisY({ ticks: 4, tickSize: 0, tickFormat: (value) => figure(value), label: null }),
    Plot.axisX({ tickSize: 4, ticks: Math.max(3, Math.floor(width / 90)), label: 'seconds since the run began', labelAnchor: 'right', labelArrow: 'none', labelOffset: 32, tickFormat: (value) => figure(value) }),
    Plot.ruleX(events, { x: 'at', stroke: 'stroke', strokeOpacity: 0.35 }),
    Plot.line(list, { x: 'at', y: 'value', stroke: 'var(--s0)', strokeWidth: 1.5, clip: true, curve: step ? 'step-after' : 'linear' }),
    list.length <= 240 && Plot.dot(list.filter((d) => d.at >= domain[0] && d.at <= domain[1]), { x: 'at', y: 'value', fill: 'var(--s0)', r: 1.75 }),
    Plot.dot(events, { x: 'at', y: 'value', fill: 'stroke', symbol: 'symbol', r: 4 }),
    Plot.tip([...list, ...events], Plot.pointer({ x: 'at', y: 'value', title: 'title', maxRadius: 40, ...tip })),
  ].filter(Boolean));
}

// shares draws which operations took the time of a part of a run.
function shares(profile, width) {
  const total = profile.seconds || d3.sum(profile.operations, (d) => d.seconds) || 1;
  const rows = profile.operations.map((operation, i) => ({
    y: i, milliseconds: 1e3 * operation.seconds,
    fill: operation.name === 'elsewhere' || operation.name === 'others' ? 'var(--s6)' : 'var(--s0)',
    label: [operation.name, operation.shape, operation.type].filter(Boolean).map((text) => short(text, 40)).join('  '),
    share: `${digits3.format((100 * operation.seconds) / total)} %`,
    title: `${operation.name}${operation.shape ? ` ${operation.shape}` : ''}${operation.type ? ` ${operation.type}` : ''}\n${figure(1e3 * operation.seconds)} ms in ${whole.format(operation.calls)} calls`
      + (operation.gb_per_second ? `\n${figure(operation.gb_per_second)} GB/s, ${figure(operation.gmac_per_second)} GMAC/s` : '')
      + (operation.of_limit ? `\n${digits3.format(100 * operation.of_limit)} % of what the machine could` : ''),
  }));
  return draw(`Operations of the ${profile.part}, in milliseconds: ${rows.slice(0, 3).map((d) => `${d.label} ${d.share}`).join(', ')}`, {
    width, height: rows.length * stripHeight + 46, marginLeft: 8, marginRight: 52, marginTop: 4, marginBottom: 36,
    x: { label: null, domain: [0, d3.max(rows, (d) => d.milliseconds) || 1] },
    y: { type: 'linear', domain: [rows.length - 0.4, -0.75], axis: null },
  }, [
    Plot.axisX({ tickSize: 4, ticks: Math.max(3, Math.floor(width / 100)), label: 'milliseconds', labelAnchor: 'center', labelArrow: 'none', labelOffset: 32, tickFormat: (value) => figure(value) }),
    Plot.text(rows, { y: 'y', text: 'label', frameAnchor: 'left', dy: -14, textAnchor: 'start', fill: 'currentColor' }),
    Plot.rect(rows, { x1: 0, x2: 'milliseconds', y1: (d) => d.y - 0.2, y2: (d) => d.y + 0.24, fill: 'fill', fillOpacity: 0.75 }),
    Plot.text(rows, { y: 'y', x: 'milliseconds', text: 'share', dx: 5, textAnchor: 'start', fill: 'var(--quiet)' }),
    Plot.tip(rows, Plot.pointerY({ y: 'y', x: 'milliseconds', title: 'title', ...tip })),
  ]);
}
