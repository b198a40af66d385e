// How numbers and names are written.

const digits3 = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });
const digits2 = new Intl.NumberFormat('en', { maximumSignificantDigits: 2 });
const digits4 = new Intl.NumberFormat('en', { maximumSignificantDigits: 4 });
const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

// figure writes a number with three significant digits, and no digit before the point is lost.
function figure(value) {
  if (value === null || value === undefined) return '–';
  return Math.abs(value) >= 1000 ? whole.format(value) : digits3.format(value);
}

// measure writes a metric's value without its unit; parts of a whole as per cent.
function measure(metric, value) {
  if (value === null || value === undefined) return '–';
  return metric.percent ? `${digits3.format(100 * value)} %` : figure(value);
}

// within writes half an interval's width as a part of its median.
function within([n, median, low, high]) {
  if (n < 2 || !median || low === high) return '';
  return `± ${digits2.format((100 * (high - low)) / 2 / Math.abs(median))} %`;
}

// interval writes what a tip tells of a median.
function interval(metric, [n, median, low, high]) {
  const unit = metric.unit && ` ${metric.unit}`;
  const line = `${measure(metric, median)}${unit}`;
  if (n < 2) return `${line}, one run`;
  return `${line}\n${measure(metric, low)} to ${measure(metric, high)} in ${n} runs`;
}

// axisOf writes a metric's title and unit for the axis of a chart.
function axisOf(metric) {
  if (metric.percent) return `${metric.title}, %`;
  return metric.unit ? `${metric.title}, ${metric.unit}` : metric.title;
}

// change writes a ratio as what is added or taken away.
function change(ratio) {
  const part = 100 * (ratio - 1);
  return `${part < 0 ? '−' : '+'}${digits3.format(Math.abs(part))} %`;
}

// changed writes a change: in per cent, or where there is no ratio, as what was and what is.
function changed(metric, d) {
  return d.ratio ? change(d.ratio) : `${measure(metric, d.before)} → ${measure(metric, d.after)}`;
}

// bytes writes a number of bytes.
function bytes(n) {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  let i = 0;
  for (; n >= 1000 && i < units.length - 1; i++) n /= 1000;
  return `${digits3.format(n)} ${units[i]}`;
}

// seconds writes a duration.
function seconds(s) {
  if (s === null || s === undefined) return '–';
  return s < 1 ? `${figure(1e3 * s)} ms` : `${figure(s)} s`;
}

// moment writes a time of the clock, in the reader's zone.
function moment(text) {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) || date.getFullYear() < 1970 ? '–' : date.toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' });
}

// What an axis' values that say "nothing in particular" are called.
const unsaid = {
  target: { '': 'this machine' }, program: { '': 'this program' }, weights: { '': 'as stored' }, threads: { 0: 'all' }, window: { 0: 'full' },
  questions: { '': 'none' }, skills: { '': 'all' }, machine: { '': 'unknown' },
};

// shown is what an axis' value is called.
function shown(axis, value) {
  return (Object.hasOwn(unsaid, axis.name) && unsaid[axis.name][value]) || value || '–';
}

// short shortens a name to n characters, in its middle: paths differ at their ends.
function short(text, n) {
  const characters = [...text];
  if (characters.length <= n) return text;
  return `${characters.slice(0, Math.ceil(n / 3)).join('')}…${characters.slice(-(n - Math.ceil(n / 3) - 1)).join('')}`;
}
