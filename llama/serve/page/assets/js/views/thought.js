// What a model thought before it answered: folded, until somebody wants to read it.

import { h, show } from '../dom.js';
import { Prose } from '../markdown.js';

export class Thought {
  #summary = h('summary');
  #prose = null; // once somebody has wanted to read it
  #message = null;

  constructor() {
    this.element = h('details', { class: 'thought', hidden: true, ontoggle: () => this.#drawProse() }, this.#summary);
  }

  // draw shows the thought of a message and returns how many milliseconds that took.
  draw(message) {
    this.#message = message;
    show(this.element, Boolean(message.thought));
    if (!message.thought) return 0;
    const thinking = message.state === 'coming' && message.content === '' && message.calls.length === 0;
    const label = thinking ? 'Thinking …' : message.thoughtMs === undefined ? 'Thoughts' : `Thought for ${duration(message.thoughtMs)}`;
    if (this.#summary.textContent !== label) this.#summary.textContent = label;
    return this.#drawProse();
  }

  // A thought that nobody sees is not drawn: it may be long.
  #drawProse() {
    if (!this.element.open || !this.#message?.thought) return 0;
    if (!this.#prose) {
      this.#prose = new Prose(h('div', { class: 'prose' }));
      this.element.append(this.#prose.element);
    }
    return this.#prose.draw(this.#message.thought, this.#message.state !== 'coming');
  }
}

function duration(ms) {
  const seconds = Math.max(ms / 1000, 0.1);
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}
