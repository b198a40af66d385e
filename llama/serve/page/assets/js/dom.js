// Elements are made node by node and text is only ever set as text: nothing in this folder but markdown.js turns a string into HTML.

const svgNamespace = 'http://www.w3.org/2000/svg';

// h makes an element. A function under a key like "onclick" listens to that event, true sets an attribute without a value, and false,
// null or undefined leaves it out. Children are nodes or text; what is null, undefined or false is left out.
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

// svg is h for elements of pictures.
export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(svgNamespace, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === false || value === null || value === undefined) continue;
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// show hides an element from everybody, or ends that.
export function show(element, visible) {
  element.hidden = !visible;
}

// find is the element of the document that has this id; index.html holds all of them.
export function find(id) {
  return document.getElementById(id);
}
