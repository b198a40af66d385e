// The pictures on buttons: strokes on a grid of 24 by 24. They say nothing to a screen reader; the button's label does.

import { h, svg } from './dom.js';

const strokes = {
  plus: ['M12 5v14', 'M5 12h14'],
  menu: ['M4 7h16', 'M4 12h16', 'M4 17h10'],
  close: ['M6 6l12 12', 'M18 6L6 18'],
  sliders: [
    'M4 8h9',
    'M19 8h1',
    'M4 16h1',
    'M11 16h9',
    'M16 5.5a2.5 2.5 0 1 0 0 5a2.5 2.5 0 1 0 0-5',
    'M8 13.5a2.5 2.5 0 1 0 0 5a2.5 2.5 0 1 0 0-5',
  ],
  send: ['M12 19V5', 'M5.5 11.5L12 5l6.5 6.5'],
  stop: ['M8 8h8v8H8z'],
  copy: ['M9 9h10v11H9z', 'M15 9V4H5v11h4'],
  check: ['M5 12.5l4.5 4.5L19 7.5'],
  edit: ['M4 20h4L19 9l-4-4L4 16z', 'M13 7l4 4'],
  again: ['M20 12a8 8 0 1 1-2.4-5.7', 'M20 3v5h-5'],
  back: ['M14.5 6l-6 6l6 6'],
  forth: ['M9.5 6l6 6l-6 6'],
  trash: ['M5 7h14', 'M9 7V4h6v3', 'M7 7l1 13h8l1-13', 'M10.5 11v5', 'M13.5 11v5'],
  down: ['M12 5v14', 'M5.5 12.5L12 19l6.5-6.5'],
  out: ['M12 15V4', 'M7 8.5L12 4l5 4.5', 'M5 14v6h14v-6'],
  in: ['M12 4v11', 'M7 10.5l5 4.5l5-4.5', 'M5 14v6h14v-6'],
  picture: ['M4 5h16v14H4z', 'M4 16l5-5l4.5 4.5l3-3L20 16', 'M15.5 8a1.2 1.2 0 1 0 0 2.4a1.2 1.2 0 1 0 0-2.4'],
  tool: ['M14.5 6.5a4 4 0 0 0-5.3 5L4 16.7l3.3 3.3l5.2-5.2a4 4 0 0 0 5-5.3l-2.5 2.5l-2.7-.3l-.3-2.7z'],
  sun: [
    'M12 8a4 4 0 1 0 0 8a4 4 0 1 0 0-8',
    'M12 2.5v2',
    'M12 19.5v2',
    'M2.5 12h2',
    'M19.5 12h2',
    'M5.3 5.3l1.4 1.4',
    'M17.3 17.3l1.4 1.4',
    'M5.3 18.7l1.4-1.4',
    'M17.3 6.7l1.4-1.4',
  ],
  moon: ['M19.5 14.5A8 8 0 0 1 9.5 4.5a8 8 0 1 0 10 10z'],
  auto: ['M4 5h16v11H4z', 'M9 20h6', 'M12 16v4'],
};

// icon is the picture of this name.
export function icon(name) {
  const paths = strokes[name].map((d) => svg('path', { d }));
  return svg('svg', { class: 'icon', viewBox: '0 0 24 24', 'aria-hidden': 'true', focusable: 'false' }, paths);
}

// iconButton is a button that shows a picture; label is what it is called, and what a pointer that rests on it reads.
export function iconButton(name, label, onclick, attributes) {
  return h('button', { type: 'button', class: 'icon-button', 'aria-label': label, title: label, onclick, ...attributes }, icon(name));
}
