// Asking before something is lost.

import { find } from '../dom.js';

// confirmRemoval asks whether the conversation of this title shall go, and gives the answer.
export function confirmRemoval(title) {
  const dialog = find('confirm');
  find('confirm-text').textContent = `“${title}” will be gone from this browser. This cannot be undone.`;
  dialog.returnValue = '';
  dialog.showModal();
  find('confirm-no').focus();
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes'), { once: true });
  });
}

export function attachConfirm() {
  find('confirm-yes').addEventListener('click', () => find('confirm').close('yes'));
  find('confirm-no').addEventListener('click', () => find('confirm').close('no'));
}
