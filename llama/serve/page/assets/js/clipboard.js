// Copying, and saying on the button that it worked.

import { icon } from './icons.js';
import { announce } from './announcer.js';

// copyText puts text on the clipboard and shows a tick on the button for a moment.
export async function copyText(text, button) {
  const copied = await write(text);
  announce(copied ? 'Copied' : 'The browser did not let the page copy');
  if (!copied) return;
  const picture = button.querySelector('.icon');
  const tick = icon('check');
  picture.replaceWith(tick);
  setTimeout(() => tick.replaceWith(picture), 1200);
}

async function write(text) {
  try {
    await navigator.clipboard.writeText(text); // missing where the page comes over plain HTTP from another machine
    return true;
  } catch {
    return writeBySelection(text);
  }
}

function writeBySelection(text) {
  const focused = document.activeElement;
  const area = document.createElement('textarea');
  area.value = text;
  area.className = 'visually-hidden';
  document.body.append(area);
  area.select();
  try {
    return document.execCommand('copy');
  } finally {
    area.remove();
    focused?.focus();
  }
}
