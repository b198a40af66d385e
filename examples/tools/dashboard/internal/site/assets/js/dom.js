// Elements are made node by node and text is only ever set as text: nothing here turns a string into HTML.

// h makes an element. A function under a key like "onclick" listens to that event, true sets an attribute without a value, and false, null or
// undefined leaves it out. Children are nodes or text; what is null, undefined or false is left out.
function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === false || value === null || value === undefined) continue;
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat(2).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// find is the element of the document that has this id; index.html holds all of them.
function find(id) {
  return document.getElementById(id);
}

// select is a labelled choice. Its id lets the focus come back to it when everything is drawn anew.
function select(id, label, options, chosen, change, wide) {
  return h('label', { class: wide ? 'control wide' : 'control' }, h('span', null, label),
    h('select', { id, onchange: (event) => change(event.target.value) },
      options.map(([value, text]) => h('option', { value, selected: value === chosen }, text))));
}
