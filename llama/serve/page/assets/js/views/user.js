// What the user said. Editing it says something else in its place and keeps the old version beside it.

import { copyText } from '../clipboard.js';
import { h } from '../dom.js';
import { iconButton } from '../icons.js';
import { area, versionSwitch } from './turn.js';
import { deleteButton } from './delete.js';
import { thumbnails } from './pictures.js';

export class UserView {
  element = h('li', { class: 'message user' });
  #editing = false;

  constructor(app) {
    this.app = app;
  }

  draw(message, context) {
    if (this.#editing) {
      // what is being typed stays
      this.element.querySelector('.primary').disabled = context.busy;
      return;
    }
    this.message = message;
    this.context = context;
    const copy = iconButton('copy', 'Copy the message', () => copyText(message.content, copy));
    const edit = iconButton('edit', 'Edit the message', () => this.#edit(), { disabled: context.busy });
    const parts = [
      h('h2', { class: 'visually-hidden' }, 'You'),
      thumbnails(message.images, 'Pictures'),
      (message.content.trim() !== '' || !message.images) && h('div', { class: 'bubble', dir: 'auto' }, message.content),
      h('div', { class: 'turn-foot' }, versionSwitch(this.app, message, context), copy, edit, deleteButton(this.app, message, context)),
    ];
    this.element.replaceChildren(...parts.filter(Boolean));
  }

  #edit() {
    this.#editing = true;
    const field = area('Your message', this.message.content);
    const leave = () => {
      this.#editing = false;
      this.draw(this.message, this.context);
      this.element.querySelector('[aria-label="Edit the message"]')?.focus();
    };
    const send = () => {
      const { images } = this.message;
      if ((field.value.trim() === '' && !images) || this.app.busy) return;
      this.#editing = false;
      this.app.edit(this.message, { content: field.value, ...(images && { images }) });
    };
    field.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') leave();
      else if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) send();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    const pictures = thumbnails(this.message.images, 'Pictures');
    this.element.replaceChildren(
      h('h2', { class: 'visually-hidden' }, 'Editing your message'),
      ...(pictures ? [pictures] : []),
      h(
        'div',
        { class: 'editor' },
        field,
        h(
          'div',
          { class: 'buttons' },
          h('button', { type: 'button', class: 'button', onclick: leave }, 'Cancel'),
          h('button', { type: 'button', class: 'button primary', onclick: send }, 'Save and send'),
        ),
      ),
    );
    field.focus();
  }
}
