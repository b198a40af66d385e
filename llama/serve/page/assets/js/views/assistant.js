// An answer: what the model thought, its text, its calls, what it cost, and what ended it.

import { speed, tokensOf } from '../answer.js';
import { copyText } from '../clipboard.js';
import { h, show } from '../dom.js';
import { iconButton } from '../icons.js';
import { Prose } from '../markdown.js';
import { canShorten } from '../tree.js';
import { CallCards } from './calls.js';
import { focusComposer } from './composer.js';
import { deleteButton } from './delete.js';
import { buttonsOf, problemNotice } from './problem.js';
import { Thought } from './thought.js';
import { versionSwitch } from './turn.js';

export class AssistantView {
  #head = h('h2', { class: 'model' });
  #thought = new Thought();
  #prose = new Prose(h('div', { class: 'prose' }));
  #dots = h('p', { class: 'dots', role: 'img', 'aria-label': 'The answer is coming' }, h('span'), h('span'), h('span'));
  #reading = h('p', { class: 'quiet', hidden: true });
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
      this.#thought.element,
      this.#prose.element,
      this.#dots,
      this.#reading,
      this.#cards.element,
      this.#end,
      this.#foot,
    );
  }

  // text is what is shown of the answer, without its form and its buttons.
  get text() {
    const copy = this.#prose.element.cloneNode(true);
    copy.querySelectorAll('.code-head').forEach((head) => head.remove());
    copy.querySelectorAll('math').forEach((formula) => formula.replaceWith(formula.getAttribute('alttext')));
    return [...copy.children].map((block) => block.textContent.trim()).join('\n');
  }

  // grow draws what has come, soon.
  grow(message) {
    this.#next ||= setTimeout(
      () => {
        this.#next = 0;
        if (message.state !== 'coming') return;
        this.#pause = 4 * (this.#prose.draw(message.content, false) + this.#thought.draw(message));
        this.#cards.draw(message, { open: false });
        show(this.#dots, message.content === '' && message.calls.length === 0);
        this.#drawReading(message);
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
    this.#thought.draw(message);
    this.#prose.draw(message.content, !coming);
    show(this.#prose.element, coming || message.content !== '');
    show(this.#dots, coming && message.content === '' && message.calls.length === 0);
    this.#drawReading(message);
    this.#cards.draw(message, { open: context.last && !coming && message.state !== 'failed', busy: context.busy });
    const end = JSON.stringify([message.state, message.finish, message.problem, context.busy, context.last]);
    if (end !== this.#drawnEnd) this.#end.replaceChildren(...this.#endOf(message, context)); // a notice that stays is said once
    this.#drawnEnd = end;
    this.#foot.replaceChildren(...(coming ? [] : this.#footOf(message, context)));
  }

  // drawReading says how far the model is in reading, if that takes long enough to be looked at.
  #drawReading({ state, progress }) {
    const slow = state === 'coming' && progress?.time_ms > longReading && progress.processed < progress.total;
    show(this.#reading, slow);
    if (slow) this.#reading.textContent = `Reading: ${format(progress.processed, 0)} of ${format(progress.total, 0)} tokens`;
  }

  #endOf(message, context) {
    if (message.state === 'failed') {
      const problem = { ...message.problem, kept: message.content !== '' };
      return [problemNotice(this.app, problem, waysOn(this.app, message), !context.busy)];
    }
    const note = endingOf(message);
    const empty = message.state === 'done' && message.content === '' && message.calls.length === 0;
    const notes = [leftOut(message), note, empty && !note ? 'The answer is empty.' : null].filter(Boolean);
    return [
      ...notes.map((text) => h('p', { class: 'note' }, text)),
      context.last && message.state !== 'coming' && buttonsOf(waysToContinue(this.app, message), !context.busy),
    ].filter(Boolean);
  }

  #footOf(message, context) {
    const copy = iconButton('copy', 'Copy the answer', () => copyText(message.content, copy));
    return [
      versionSwitch(this.app, message, context),
      message.content && copy,
      message.state !== 'failed' && iconButton('again', 'Another answer', () => this.app.again(message), { disabled: context.busy }),
      deleteButton(this.app, message, context),
      costs(message),
    ].filter(Boolean);
  }
}

const longReading = 500; // milliseconds

const anew = (app) => ({
  label: 'New conversation',
  act: () => {
    app.begin();
    focusComposer();
  },
  away: true,
});

// without is a way that begins by letting the oldest messages be left out.
const without = (app, label, act) => ({
  label,
  act: () => {
    if (app.busy) return;
    app.shorten();
    act();
  },
});

// waysOn is what can be done after an answer that failed: [{label, act}, …]. What would only fail again is not among them.
function waysOn(app, message) {
  const again = () => app.again(message);
  if (message.problem?.kind !== 'full') {
    return [{ label: 'Try again', act: again }, ...(canContinue(message) ? [{ label: 'Continue', act: () => app.goOn(message) }] : [])];
  }
  const shorter = canShorten(app.current, message) ? [without(app, 'Go on without the oldest messages', again)] : [];
  return [...shorter, anew(app)];
}

// canContinue says whether a part of a text is there that the model can go on with.
const canContinue = (message) => message.content !== '' && message.calls.length === 0;

// waysToContinue is how an answer can go on that ended before the model was done.
function waysToContinue(app, message) {
  const stopped = message.state === 'stopped' || message.finish === 'length';
  const goOn = () => app.goOn(message);
  if (!isFull(message)) return stopped && canContinue(message) ? [{ label: 'Continue', act: goOn }] : [];
  const shorter = canContinue(message) && canShorten(app.current, message);
  return [...(shorter ? [without(app, 'Continue without the oldest messages', goOn)] : []), anew(app)];
}

// isFull says whether an answer ended because the model can read no more.
function isFull({ finish, usage, stats }) {
  return finish === 'length' && stats?.cache_capacity > 0 && !(stats.evictions > 0) && usage?.total_tokens >= stats.cache_capacity - 1;
}

// leftOut says how many messages the model did not read, or nothing where it read all.
function leftOut(message) {
  const count = message.stats?.dropped_messages;
  if (!(count > 0)) return null;
  return count === 1 ? 'The model did not read the oldest message.' : `The model did not read the oldest ${format(count, 0)} messages.`;
}

// endingOf says why an answer ended that was not at its end, or nothing.
function endingOf(message) {
  if (message.state === 'stopped') return 'You stopped this answer.';
  if (message.finish === 'content_filter') return 'The server left the rest of the answer out.';
  if (message.finish !== 'length') return undefined;
  if (isFull(message)) {
    return `The answer ends here because the context is full: the model can read ${format(message.stats.cache_capacity, 0)} tokens at once.`;
  }
  return 'The answer ends here because it has reached the greatest number of tokens.';
}

const format = (value, digits) => value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });

// costs is the line of numbers below an answer, or null where none are known.
function costs(message) {
  const perSecond = speed(message);
  const tokens = tokensOf(message);
  const parts = [
    tokens && [`${tokens.exact ? '' : 'about '}${format(tokens.count, 0)} ${tokens.count === 1 ? 'token' : 'tokens'}`, 'Length of the answer'],
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
