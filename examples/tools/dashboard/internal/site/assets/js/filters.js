// The filters: of each axis on which runs differ, which values are let through. What all runs share stands beneath, once.

function renderFilters(r, state, go) {
  const groups = r.varying.map((axis) => {
    const chosen = new Set(state.filters.get(axis.name));
    const all = axis.name === 'commit' ? r.commits.map(({ title }) => title) : ordered(r, axis, r.cells);
    const values = [...new Set([...all, ...chosen])]; // a link may name what is not there
    return h('fieldset', { class: 'filter' }, h('legend', null, axis.name === 'commit' ? 'commit (none chosen: the newest)' : axis.title),
      h('div', { class: 'choices' }, values.map((value, i) => h('label', { class: 'choice', title: shown(axis, value) },
        h('input', { type: 'checkbox', id: `filter-${axis.name}-${i}`, name: axis.name, value, checked: chosen.has(value), onchange: (event) => {
          const next = values.filter((v) => (v === value ? event.target.checked : chosen.has(v)));
          const filters = new Map(state.filters);
          if (next.length) filters.set(axis.name, next);
          else filters.delete(axis.name);
          go(other(state, { filters }));
        } }), h('span', null, short(shown(axis, value), 60))))));
  });
  const same = r.cells.length ? r.axes.filter((axis) => !r.varying.includes(axis) && !['', '0', 'false'].includes(axis.of(r.cells[0]))) : [];
  const count = [...state.filters.values()].length;
  const details = h('details', { id: 'filter-details', open: find('filter-details')?.open ?? matchMedia('(min-width: 900px)').matches },
    h('summary', { id: 'filter-summary' }, count ? `Filters (${count})` : 'Filters'),
    groups.length ? groups : h('p', { class: 'quiet' }, 'All runs are of one configuration.'),
    count > 0 && h('p', null, h('a', { href: link(other(state, { filters: new Map() })), id: 'clear' }, 'Clear the filters')),
    same.length > 0 && h('section', { class: 'same' }, h('h2', null, 'The same in all runs'),
      h('dl', null, same.map((axis) => [h('dt', null, axis.title), h('dd', null, short(shown(axis, axis.of(r.cells[0])), 80))]))));
  find('filters').replaceChildren(details);
}
