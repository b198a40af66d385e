// A line that says something about the page as a whole and goes away by itself.

import { announce } from '../announcer.js';
import { find, show } from '../dom.js';

const stay = 8000; // milliseconds
let timer = 0;

export function say(text) {
  const toast = find('toast');
  toast.textContent = text;
  show(toast, true);
  announce(text);
  clearTimeout(timer);
  timer = setTimeout(() => show(toast, false), stay);
}
