// A picture of the cache after the last answer: how much of it is in use, what of that was there before, and what had to go.

import { find, h, show, svg } from '../dom.js';
import { shown } from '../tree.js';

const columns = 16;
const rows = 8;
const cell = 10; // units of the picture, with the gap to the next

export function attachCache(app) {
  const button = find('cache-button');
  const panel = find('cache-panel');

  const draw = () => {
    const message = shown(app.current).findLast((other) => other.stats?.cache_capacity > 0 && other.model === app.model); // each model has its own
    show(button, Boolean(message));
    if (!message) {
      if (panel.matches(':popover-open')) panel.hidePopover();
      return;
    }
    const parts = partsOf(message);
    const [use, rest] = describe(parts);
    button.title = `Cache: ${use}${rest}`;
    button.replaceChildren(bar(parts), hidden('Cache: '), use, hidden(rest));
    panel.replaceChildren(
      h('h2', null, 'Cache'),
      grid(parts, use + rest),
      h(
        'dl',
        null,
        rowsOf(message, parts).map(([kind, term, value]) =>
          h('div', null, h('dt', null, h('span', { class: `swatch ${kind}`, 'aria-hidden': 'true' }), term), h('dd', null, value)),
        ),
      ),
    );
  };

  // A popover stands in the middle of the window: this one belongs above its button.
  panel.addEventListener('beforetoggle', (event) => {
    if (event.newState !== 'open') return;
    const { left, top } = button.getBoundingClientRect();
    panel.style.left = `${Math.max(8, Math.min(left, innerWidth - 308))}px`;
    panel.style.bottom = `${innerHeight - top + 8}px`;
  });
  app.addEventListener('thread', draw);
  app.addEventListener('models', draw);
}

// partsOf is the cache in tokens: what the model keeps of each. reused were there when the last answer began.
function partsOf({ stats }) {
  const capacity = stats.cache_capacity;
  const used = Math.min(stats.cache_slots ?? 0, capacity);
  return {
    capacity,
    used,
    reused: Math.min(stats.reused_tokens ?? 0, used),
    evicted: stats.evicted_slots ?? 0,
    evictions: stats.evictions ?? 0,
  };
}

const number = (value) => value.toLocaleString('en');

// describe is the cache in words, in two parts: what is written beside the picture, and the rest.
function describe({ capacity, used, reused, evicted }) {
  return [`${number(used)} of ${number(capacity)} tokens`, ` in use, ${number(reused)} of them reused, ${number(evicted)} evicted`];
}

const hidden = (text) => h('span', { class: 'visually-hidden' }, text);

function rowsOf({ stats }, { capacity, used, reused, evicted, evictions }) {
  const more = [
    ['reused', 'Reused from before', `${number(reused)} tokens`],
    ['fresh', 'Newly computed', `${number(used - reused)} tokens`],
    ['free', 'Free', `${number(capacity - used)} tokens`],
    [
      'evicted',
      'Evicted',
      evictions > 0 ? `${number(evicted)} tokens in ${number(evictions)} ${evictions === 1 ? 'eviction' : 'evictions'}` : 'none',
    ],
  ];
  if (stats.drafted_tokens > 0)
    more.push(['none', 'Guessed ahead', `${number(stats.accepted_tokens ?? 0)} of ${number(stats.drafted_tokens)} right`]);
  if (stats.forced_tokens > 0) more.push(['none', 'Without an alternative', `${number(stats.forced_tokens)} tokens`]);
  return more;
}

function bar({ capacity, used, reused }) {
  const part = (tokens) => (100 * tokens) / capacity;
  return svg(
    'svg',
    { class: 'cache-bar', viewBox: '0 0 100 8', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    svg('rect', { class: 'free', width: 100, height: 8 }),
    svg('rect', { class: 'fresh', width: part(used), height: 8 }),
    svg('rect', { class: 'reused', width: part(reused), height: 8 }),
  );
}

// grid draws the cache as cells, each for the same number of tokens. A cell that is begun counts as used.
function grid({ capacity, used, reused }, words) {
  const cells = columns * rows;
  const first = { fresh: Math.round((cells * reused) / capacity), free: Math.ceil((cells * used) / capacity) };
  const kind = (index) => (index >= first.free ? 'free' : index >= first.fresh ? 'fresh' : 'reused');
  return svg(
    'svg',
    { class: 'cache-grid', viewBox: `0 0 ${columns * cell - 2} ${rows * cell - 2}`, role: 'img', 'aria-label': words },
    Array.from({ length: cells }, (_, index) =>
      svg('rect', {
        class: kind(index),
        x: (index % columns) * cell,
        y: Math.floor(index / columns) * cell,
        width: cell - 2,
        height: cell - 2,
        rx: 1.5,
      }),
    ),
  );
}
