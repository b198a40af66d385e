// The results of an answer's calls. Like what the user says they can be edited, which gives another version.

import { h } from '../dom.js';
import { iconButton } from '../icons.js';
import { area, versionSwitch } from './turn.js';
import { deleteButton } from './delete.js';
import { indented } from './calls.js';

export class ResultsView {
  element = h('li', { class: 'message results' });
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
    this.element.replaceChildren(
      h('h2', { class: 'visually-hidden' }, message.results.length === 1 ? 'Result' : 'Results'),
      ...message.results.map((result) =>
        h(
          'div',
          { class: 'card' },
          h('span', { class: 'card-label' }, `Result of ${result.name}`),
          h('pre', { tabindex: '0', role: 'group', 'aria-label': `Result of ${result.name}` }, h('code', null, indented(result.content))),
        ),
      ),
      h(
        'div',
        { class: 'turn-foot' },
        versionSwitch(this.app, message, context),
        iconButton('edit', 'Edit the results', () => this.#edit(), { disabled: context.busy }),
        deleteButton(this.app, message, context),
      ),
    );
  }

  #edit() {
    this.#editing = true;
    const fields = this.message.results.map((result) => area(`Result of ${result.name}`, result.content, { spellcheck: 'false' }));
    const leave = () => {
      this.#editing = false;
      this.draw(this.message, this.context);
      this.element.querySelector('[aria-label="Edit the results"]')?.focus();
    };
    const send = () => {
      this.#editing = false;
      this.app.edit(this.message, {
        results: this.message.results.map((result, index) => ({ ...result, content: fields[index].value })),
      });
    };
    const editor = h(
      'div',
      { class: 'editor' },
      ...this.message.results.map((result, index) =>
        h('div', null, h('span', { class: 'card-label', 'aria-hidden': 'true' }, `Result of ${result.name}`), fields[index]),
      ),
      h(
        'div',
        { class: 'buttons' },
        h('button', { type: 'button', class: 'button', onclick: leave }, 'Cancel'),
        h('button', { type: 'button', class: 'button primary', onclick: send }, 'Save and send'),
      ),
    );
    editor.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape') return;
      event.stopPropagation();
      leave();
    });
    this.element.replaceChildren(h('h2', { class: 'visually-hidden' }, 'Editing the results'), editor);
    fields[0]?.focus();
  }
}
