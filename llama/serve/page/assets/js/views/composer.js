// The field for the next message, and the button that sends it or stops the answer.

import { find } from '../dom.js';
import { icon } from '../icons.js';
import { grow } from './turn.js';

export function attachComposer(app) {
  const field = find('prompt');
  const button = find('send');

  const send = () => {
    const text = field.value;
    if (text.trim() === '' || app.busy || app.models.length === 0) return;
    field.value = '';
    grow(field);
    app.send(text);
    draw();
  };

  const draw = () => {
    const { busy } = app;
    button.replaceChildren(icon(busy ? 'stop' : 'send'));
    const label = busy ? 'Stop' : 'Send';
    button.setAttribute('aria-label', label);
    button.title = busy ? 'Stop (Esc)' : 'Send (Enter)';
    button.disabled = !busy && (field.value.trim() === '' || app.models.length === 0);
    button.classList.toggle('stopping', busy);
  };

  button.addEventListener('click', () => {
    if (app.busy) app.stop();
    else send();
    field.focus();
  });
  field.addEventListener('input', () => {
    grow(field);
    draw();
  });
  field.addEventListener('keydown', (event) => {
    // While an input method composes a letter, Enter belongs to it.
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  });
  app.addEventListener('thread', draw);
  app.addEventListener('models', draw);
  draw();
}

// focusComposer puts the cursor into the field, except where that would bring up a keyboard on the screen.
export function focusComposer() {
  if (!matchMedia('(pointer: coarse)').matches) find('prompt').focus();
}
