// An answer: its text, its calls, what it cost, and what ended it.

import { speed } from '../answer.js';
import { copyText } from '../clipboard.js';
import { h, show } from '../dom.js';
import { iconButton } from '../icons.js';
import { Prose } from '../markdown.js';
import { canShorten } from '../tree.js';
import { CallCards } from './calls.js';
import { problemNotice } from './problem.js';
import { versionSwitch } from './turn.js';

export class AssistantView {
  #head = h('h2', { class: 'model' });
  #prose = new Prose(h('div', { class: 'prose' }));
  #dots = h('p', { class: 'dots', role: 'img', 'aria-label': 'The answer is coming' }, h('span'), h('span'), h('span'));
  #cards;
  #end = h('div', { class: 'turn-end' });
  #foot = h('div', { class: 'turn-foot' });
  #drawnEnd = ''; // what #end was drawn from
  #next = 0; // timer of the next drawing
  #pause = 0; // milliseconds until then: several times what the last drawing took, so that drawing never keeps the page from its work

  constructor(app) {
    this.app = app;
    this.#cards = new CallCards(app);
    this.element = h(
      'li',
      { class: 'message assistant' },
      this.#head,
      this.#prose.element,
      this.#dots,
      this.#cards.element,
      this.#end,
      this.#foot,
    );
  }

  // text is what is shown of the answer, without its form and its buttons.
  get text() {
    const copy = this.#prose.element.cloneNode(true);
    copy.querySelectorAll('.code-head').forEach((head) => head.remove());
    return [...copy.children].map((block) => block.textContent.trim()).join('\n');
  }

  // grow draws what has come, soon.
  grow(message) {
    this.#next ||= setTimeout(
      () => {
        this.#next = 0;
        if (message.state !== 'coming') return;
        this.#pause = 4 * this.#prose.draw(message.content, false);
        this.#cards.draw(message, { open: false });
        show(this.#dots, message.content === '' && message.calls.length === 0);
        this.context?.scrolled();
      },
      Math.max(30, this.#pause),
    );
  }

  draw(message, context) {
    this.context = context;
    const coming = message.state === 'coming';
    this.element.setAttribute('aria-busy', String(coming));
    this.#head.textContent = message.model || 'Answer';
    this.#prose.draw(message.content, !coming);
    show(this.#prose.element, coming || message.content !== '');
    show(this.#dots, coming && message.content === '' && message.calls.length === 0);
    this.#cards.draw(message, { open: context.last && !coming && message.state !== 'failed', busy: context.busy });
    const end = JSON.stringify([message.state, message.finish, message.problem, context.busy]);
    if (end !== this.#drawnEnd) this.#end.replaceChildren(...this.#endOf(message, context)); // a notice that stays is said once
    this.#drawnEnd = end;
    this.#foot.replaceChildren(...(coming ? [] : this.#footOf(message, context)));
  }

  #endOf(message, context) {
    if (message.state === 'failed') {
      const problem = { ...message.problem, kept: message.content !== '' };
      return [problemNotice(this.app, problem, wayOn(this.app, message), !context.busy)];
    }
    const note = endings[message.state === 'stopped' ? 'stopped' : message.finish];
    const empty = message.state === 'done' && message.content === '' && message.calls.length === 0;
    return [leftOut(message), note, empty && !note ? 'The answer is empty.' : null].filter(Boolean).map((text) => h('p', { class: 'note' }, text));
  }

  #footOf(message, context) {
    const copy = iconButton('copy', 'Copy the answer', () => copyText(message.content, copy));
    return [
      versionSwitch(this.app, message, context),
      message.content && copy,
      message.state !== 'failed' && iconButton('again', 'Another answer', () => this.app.again(message), { disabled: context.busy }),
      costs(message),
    ].filter(Boolean);
  }
}

// wayOn is what can be done after an answer that failed: {label, act}, or null where the same would only happen again.
function wayOn(app, message) {
  if (message.problem?.kind !== 'full') return { label: 'Try again', act: () => app.again(message) };
  if (!canShorten(app.current, message)) return null;
  return { label: 'Go on without the oldest messages', act: () => app.goOn(message) };
}

// leftOut says how many messages the model did not read, or nothing where it read all.
function leftOut(message) {
  const count = message.stats?.dropped_messages;
  if (!(count > 0)) return null;
  return count === 1 ? 'The model did not read the oldest message.' : `The model did not read the oldest ${format(count, 0)} messages.`;
}

const endings = {
  stopped: 'You stopped this answer.',
  length: 'The answer ends here because it has reached the greatest number of tokens, or the end of the context.',
  content_filter: 'The server left the rest of the answer out.',
};

const format = (value, digits) => value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });

// costs is the line of numbers below an answer, or null where none are known.
function costs(message) {
  const perSecond = speed(message);
  const tokens = message.usage?.completion_tokens;
  const parts = [
    tokens !== undefined && [`${format(tokens, 0)} ${tokens === 1 ? 'token' : 'tokens'}`, 'Length of the answer'],
    perSecond !== undefined && [`${format(perSecond, perSecond < 100 ? 1 : 0)} tokens/s`, 'Tokens per second'],
    message.firstMs !== undefined && [`first after ${seconds(message.firstMs)}`, 'Time until the first token was here'],
  ].filter(Boolean);
  if (parts.length === 0) return null;
  return h(
    'span',
    { class: 'costs' },
    parts.map(([text, title]) => h('span', { title }, text)),
  );
}

const seconds = (ms) => (ms < 1000 ? `${format(ms, 0)} ms` : `${format(ms / 1000, 1)} s`);
