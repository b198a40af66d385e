// Asking before something is lost.

import { find } from '../dom.js';

// confirmRemoval asks whether the conversation of this title shall go, and gives the answer.
export function confirmRemoval(title) {
  const dialog = find('confirm');
  find('confirm-text').textContent = `“${title}” will be gone from this browser. This cannot be undone.`;
  dialog.showModal();
  find('confirm-no').focus();
  return new Promise((resolve) => {
    const listeners = new AbortController();
    const answer = (yes) => {
      listeners.abort();
      dialog.close();
      resolve(yes);
    };
    const { signal } = listeners;
    find('confirm-yes').addEventListener('click', () => answer(true), { signal });
    find('confirm-no').addEventListener('click', () => answer(false), { signal });
    // The event of a dialog that was closed comes late, perhaps when the next question is open already: then it is not about this one.
    dialog.addEventListener('close', () => dialog.open || answer(false), { signal });
  });
}
