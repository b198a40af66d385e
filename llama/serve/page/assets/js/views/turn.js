// What every message has below it: versions to switch between, and buttons.

import { h } from '../dom.js';
import { iconButton } from '../icons.js';

// versionSwitch is ‹ 1/2 ›, or null where there is one version only.
export function versionSwitch(app, message, { versions, busy }) {
  if (versions.length < 2) return null;
  const at = versions.indexOf(message);
  const step = (name, label, to) =>
    iconButton(
      name,
      label,
      () => {
        app.chooseVersion(versions[to]);
        focusSwitch(label);
      },
      { disabled: busy || !versions[to], 'data-step': label },
    );
  return h(
    'span',
    { class: 'versions', role: 'group', 'aria-label': `Version ${at + 1} of ${versions.length}` },
    step('back', 'Version before', at - 1),
    h('span', { 'aria-hidden': 'true' }, `${at + 1}/${versions.length}`),
    step('forth', 'Version after', at + 1),
  );
}

// focusSwitch keeps the focus where the reader switches: the buttons of the version that went away are gone.
function focusSwitch(label) {
  if (document.activeElement && document.activeElement !== document.body) return;
  const buttons = [...document.querySelectorAll(`[data-step="${label}"]:not([disabled])`)];
  (buttons.at(-1) ?? [...document.querySelectorAll('[data-step]:not([disabled])')].at(-1))?.focus();
}

// area is a field for text that grows with it.
export function area(label, value, attributes) {
  const field = h('textarea', { 'aria-label': label, rows: '2', dir: 'auto', ...attributes });
  field.value = value;
  field.addEventListener('input', () => grow(field));
  requestAnimationFrame(() => grow(field));
  return field;
}

// grow makes a field as high as its text; the stylesheet says how high it may become.
export function grow(field) {
  field.style.height = 'auto';
  field.style.height = `${field.scrollHeight + 2}px`;
}
