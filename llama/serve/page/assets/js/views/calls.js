// The functions that an answer calls, one card a call. Where the conversation waits for them, each card has a field for the result.

import { h } from '../dom.js';
import { icon } from '../icons.js';
import { sampleResult } from '../sampletools.js';
import { area } from './turn.js';

export class CallCards {
  element = h('div', { class: 'cards' });
  #cards = []; // {element, title, arguments, result?}
  #open = null; // the message whose results the fields are for

  constructor(app) {
    this.app = app;
  }

  // draw shows the calls of a message; open says that their results are what comes next.
  draw(message, { open, busy }) {
    const calls = message.calls.filter(Boolean);
    for (const card of this.#cards.splice(calls.length)) card.element.remove();
    calls.forEach((call, index) => {
      const card = (this.#cards[index] ??= this.#newCard());
      card.title.textContent = call.name;
      card.element.setAttribute('aria-label', `Call of ${call.name}`);
      card.arguments.textContent = message.state === 'coming' ? call.arguments : indented(call.arguments);
    });
    if (Boolean(open && calls.length > 0) === Boolean(this.#open)) {
      this.element.querySelector('.send-results')?.toggleAttribute('disabled', Boolean(busy));
      return; // what has been typed into the fields stays
    }
    this.element.querySelectorAll('.result, .send-results').forEach((element) => element.remove());
    this.#open = null;
    if (!open || calls.length === 0) return;
    this.#open = message;
    calls.forEach((call, index) => {
      const field = area(`Result of ${call.name}`, sampleResult(call), { spellcheck: 'false' });
      this.#cards[index].result = field;
      this.#cards[index].element.append(
        h('div', { class: 'result' }, h('span', { class: 'card-label', 'aria-hidden': 'true' }, 'Result'), field),
      );
    });
    const label = calls.length === 1 ? 'Send the result' : 'Send the results';
    this.element.append(
      h('button', { type: 'button', class: 'button primary send-results', disabled: busy, onclick: () => this.#send() }, label),
    );
  }

  #newCard() {
    const title = h('strong');
    const text = h('code');
    const element = h(
      'div',
      { class: 'card', role: 'group' },
      h('header', null, icon('tool'), title),
      h('span', { class: 'card-label' }, 'Arguments'),
      h('pre', { tabindex: '0', role: 'group', 'aria-label': 'Arguments' }, text),
    );
    this.element.append(element);
    return { element, title, arguments: text };
  }

  #send() {
    const results = this.#open.calls.map((call, index) => ({
      id: call.id,
      name: call.name,
      content: this.#cards[index].result.value,
    }));
    this.app.sendResults(this.#open, results);
  }
}

// indented is JSON with a line for each member, or the text as it is where that is no JSON.
export function indented(json) {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}
