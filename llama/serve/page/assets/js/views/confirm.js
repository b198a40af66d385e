// Asking before something is lost.

import { find } from '../dom.js';

// confirmRemoval asks a question, with a text that says what will be gone, and gives the answer.
export function confirmRemoval(question, text) {
  const dialog = find('confirm');
  find('confirm-title').textContent = question;
  find('confirm-text').textContent = text;
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
