// The page: what the address says is drawn, when it changes and when the results do.

const page = {
  r: null, // results; null: not read yet
  details: new Map(), // of the run that was looked at last
  drawing: false,

  // go looks at a state, as a link to it would.
  go(state) {
    const next = address(state);
    if (next === location.hash || (next === '#' && !location.hash)) page.render();
    else location.hash = next;
  },

  render() {
    const { r } = page;
    if (!r) return;
    const state = readState(location.hash, r.axes);
    const focus = document.activeElement?.id;
    find('views').replaceChildren(...views.map(([name, title]) => h('a', { href: link(inView(state, name)), id: `view-${name}`, 'aria-current': name === state.view ? 'page' : null }, title)));
    renderFilters(r, state, page.go);
    const main = find('main');
    const style = getComputedStyle(main);
    const c = {
      r, state, go: page.go, details: page.details, drawn: () => !page.drawing,
      width: Math.max(240, Math.floor(main.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight))),
      open: (cell) => page.go(other(inView(state, 'run'), { run: r.runs[cell.runs[0]].key })),
    };
    const view = { throughput, latency, memory, policies, run: oneRun, commits, table }[state.view];
    toPaint = [];
    page.drawing = true;
    main.replaceChildren(...[unknownCommit(r), notices(r), ...view(c)].filter(Boolean));
    page.drawing = false;
    document.title = `${views.find(([name]) => name === state.view)[1]} – Results – Antigravity`;
    if (focus) find(focus)?.focus({ preventScroll: true });
    find('views').querySelector('[aria-current]').scrollIntoView({ block: 'nearest', inline: 'nearest' });
    page.paint(toPaint);
  },

  // paint makes pictures for as long as nobody notices, lets the browser do what waits, and goes on. When something else is to be drawn it stops.
  paint(list) {
    for (const begin = performance.now(); list === toPaint && list.length && performance.now() - begin < 30;) list.shift()();
    if (list !== toPaint) return;
    if (list.length) {
      setTimeout(() => page.paint(list));
      return;
    }
    document.body.dataset.rendered = Number(document.body.dataset.rendered ?? 0) + 1; // browser tests wait for it
    document.body.dataset.ready = '';
  },

  // take shows new results.
  take(overview, live) {
    page.r = results(overview);
    page.details.clear(); // a run may have been measured anew
    const failed = overview.runs.filter(({ error }) => error).length;
    const cells = new Set(overview.cells.map(({ config }) => config)).size;
    find('folders').textContent = overview.folders.map((name) => short(name, 40)).join(', ');
    find('status').replaceChildren(h('span', { class: live ? 'live' : null, title: live ? 'New runs are shown as they come' : 'As they were when the page was exported' },
      `${whole.format(overview.runs.length)} runs of ${whole.format(cells)} configurations${failed ? `, ${whole.format(failed)} failed` : ''}${live ? '' : `; exported ${moment(overview.exported)}`}`));
    page.render();
  },
};

// unknownCommit warns of runs that nobody can say of which program they are.
function unknownCommit(r) {
  if (!r.commits.some(({ unknown }) => unknown)) return null;
  return h('p', { class: 'notice', id: 'unknown-commit' }, 'The commit of some runs is unknown, so that they cannot be told from those of other commits. The suite knows it where it is started in a checkout of the repository, or was built in one.');
}

// notices names the files that could not be read.
function notices(r) {
  if (!r.notices.length || !r.runs.length && r.notices.every(({ text }) => text.endsWith('yet'))) return null;
  const one = r.notices.length === 1;
  return h('details', { class: 'notice', id: 'notices', open: r.notices.length < 4 }, h('summary', { id: 'notices-summary' }, `${one ? 'One file or folder' : `${r.notices.length} files or folders`} could not be read; everything else is shown.`),
    h('ul', null, r.notices.slice(0, 50).map(({ file, text }) => h('li', null, h('code', null, file), `: ${text}`))),
    r.notices.length > 50 && h('p', null, `And ${r.notices.length - 50} more.`));
}

const pause = 2000; // milliseconds between two questions whether there are new runs

async function follow() {
  for (;;) {
    if (!document.hidden) {
      try {
        const overview = await source.overview();
        if (overview) queueMicrotask(() => page.take(overview, true)); // on its own, so that a mistake in drawing is not taken for the program's
        else if (find('status').querySelector('.lost')) source.tag = ''; // the server is back: show the results' line again
      } catch (error) {
        const text = page.r ? 'The dashboard’s program does not answer; the page shows what it knew.' : `The results cannot be read: ${error.message}`;
        find('status').replaceChildren(h('span', { class: 'lost' }, text));
      }
    }
    await new Promise((done) => setTimeout(done, pause));
  }
}

addEventListener('hashchange', () => page.render());
find('skip').addEventListener('click', (event) => {
  event.preventDefault(); // what stands after # is the state
  find('main').focus();
});
let width = innerWidth;
addEventListener('resize', () => {
  if (innerWidth === width) return; // a phone's bars come and go
  width = innerWidth;
  requestAnimationFrame(() => page.render());
});
const exported = embedded('overview');
if (exported) page.take(exported, false);
else follow();
