// The table of everything that is shown, and its CSV.

const mostRows = 500;

function table(c) {
  const { r, state } = c;
  const cells = visible(r, state);
  if (!cells.length) return [nothing(r, state)];
  const axes = varyingIn(r, cells);
  const metrics = r.metrics.filter((metric) => cells.some((cell) => cell.metrics[metric.index]));
  const columns = [
    ...axes.map((axis) => ({ name: `axis.${axis.name}`, head: [axis.title], text: (cell) => shown(axis, axis.of(cell)), sort: sorter(ordered(r, axis, cells), axis.of) })),
    { name: 'runs', head: ['runs'], sort: (cell) => cell.runs.length, links: true },
    ...metrics.map((metric) => ({ name: metric.name, head: [metric.title, metric.percent ? '%' : metric.unit], metric, sort: (cell) => cell.metrics[metric.index]?.[1] ?? null })),
  ];
  const down = state.sort.startsWith('-');
  const by = columns.find(({ name }) => name === state.sort.replace(/^-/, '')) ?? columns[0];
  const keys = new Map(cells.map((cell) => [cell, by.sort(cell)]));
  const orders = columns.filter(({ text }) => text).map(({ sort }) => sort); // of the axes
  const inOrder = (a, b) => orders.map((of) => of(a) - of(b)).find((difference) => difference) ?? 0;
  const rows = [...cells].sort((a, b) => {
    const [x, y] = [keys.get(a), keys.get(b)];
    if (x === null || y === null) return Number(x === null) - Number(y === null); // what is not there comes last either way
    return (down ? y - x : x - y) || inOrder(a, b);
  });
  const head = columns.map((column) => {
    const sorted = column === by;
    return h('th', { scope: 'col', class: column.metric ? 'number' : null, 'aria-sort': sorted ? (down ? 'descending' : 'ascending') : null },
      h('button', { type: 'button', id: `sort-${column.name}`, onclick: () => c.go(other(state, { sort: sorted && !down ? `-${column.name}` : column.name })) }, column.head[0]),
      column.head[1] && [h('br'), h('small', null, column.head[1])]);
  });
  return [
    h('div', { class: 'controls' }, h('button', { type: 'button', class: 'button', id: 'csv', onclick: () => download(r, axes, metrics, rows) }, 'Download CSV')),
    h('p', { class: 'about' }, `${rows.length} configurations, medians. ± is half the interval’s width, where there is more than one run: it holds the true median with a confidence of 95 %; of fewer than six runs, it spans all of them.`),
    h('div', { class: 'table', tabindex: '0', role: 'region', 'aria-label': 'All configurations that are shown' }, h('table', null,
      h('thead', null, h('tr', null, head)),
      h('tbody', null, rows.slice(0, mostRows).map((cell) => h('tr', null, columns.map((column) => {
        if (column.metric) {
          const values = cell.metrics[column.metric.index];
          return h('td', { class: 'number' }, values && values[1] !== null ? exact(column.metric.percent ? 100 * values[1] : values[1]) : '–', ' ', h('small', null, values ? within(values) : ''));
        }
        if (column.links) return h('td', { class: 'links' }, cell.runs.map((i) => [h('a', { href: link(other(inView(state, 'run'), { run: r.runs[i].key })), class: r.runs[i].error ? 'worse' : null, title: r.runs[i].error ? 'failed' : null }, `${r.runs[i].repetition}${r.runs[i].error ? ' failed' : ''}`), ' ']));
        return h('td', { class: 'text', title: column.text(cell) }, short(column.text(cell), 48));
      })))))),
    rows.length > mostRows && h('p', { class: 'quiet' }, `The first ${mostRows} of ${rows.length} rows. The CSV has all of them.`),
  ];
}

// sorter makes numbers of an axis' values: their places in its order.
function sorter(order, of) {
  const places = new Map(order.map((value, i) => [value, i]));
  return (cell) => places.get(of(cell));
}

// csv is the table with everything in full: a column for each axis that differs, and three for each metric.
function csv(r, axes, metrics, cells) {
  const lines = [[...axes.map((axis) => axis.name), 'runs', 'failed', ...metrics.flatMap(({ name }) => [name, `${name}_low`, `${name}_high`])]];
  for (const cell of cells) {
    lines.push([...axes.map((axis) => guarded(axis.of(cell))), cell.runs.length, cell.failed, ...metrics.flatMap((metric) => (cell.metrics[metric.index] ?? ['', '', '', '']).slice(1))]);
  }
  return lines.map((line) => `${line.map(quoted).join(',')}\r\n`).join('');
}

// guarded keeps a spreadsheet from taking a name for a formula.
function guarded(text) {
  return /^[=+\-@\t\r]/.test(text) && !Number.isFinite(Number(text)) ? `'${text}` : text;
}

function quoted(value) {
  const text = String(value ?? '');
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function download(r, axes, metrics, cells) {
  const url = URL.createObjectURL(new Blob([csv(r, axes, metrics, cells)], { type: 'text/csv' }));
  h('a', { href: url, download: 'results.csv' }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
