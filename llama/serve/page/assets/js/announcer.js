// What a screen reader is to say without being asked: finished answers and short notices, never single tokens.

import { find } from './dom.js';

// announce has text read when nothing else is being read.
export function announce(text) {
  const region = find('announcer');
  region.textContent = '';
  // Two notices with the same words are two notices: the region changes only if it is empty in between.
  setTimeout(() => (region.textContent = text), 50);
}
