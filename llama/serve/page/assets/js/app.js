// What the page knows and does. Views show it and call it; it knows no element.
//
// Events:
//   list      which conversations there are, or their titles
//   thread    which messages are shown, or whether an answer comes
//   message   an answer has grown; detail is {conversation, message}
//   sent      an answer has been asked for
//   finished  an answer has ended; detail is {conversation, message}
//   models    which models there are, or that they cannot be had
//   notice    something to say; detail is the text

import { receive, settle } from './answer.js';
import { chunksOf, listModels } from './api.js';
import { writeKey } from './key.js';
import { newID } from './identifiers.js';
import { problemOf } from './problems.js';
import { requestFor } from './request.js';
import { keepSettings, lastSettings } from './settings.js';
import { openStore } from './store.js';
import { exported, imported } from './transfer.js';
import { add, choose, following, merge, newConversation, parentOf, remove, shown, until } from './tree.js';

const currentKey = 'antigravity.current';
const interrupted = { kind: 'lost', message: 'The page was closed or loaded again while this answer came.' };

export class App extends EventTarget {
  conversations = new Map(); // by id; the one that was begun and has no message yet is not among them
  current = newConversation(lastSettings());
  models = [];
  modelsProblem = null; // why there are no models, as in problems.js
  #answering = new Map(); // {controller, message} by the conversation's id
  #store;

  // start reads what is kept and asks for the models.
  async start() {
    this.#store = await openStore((id) => this.#refresh(id));
    this.#store.onfailure = (error) =>
      this.#notice(`The browser could not keep this conversation: ${error?.message ?? 'no space is left'}.`);
    if (!this.#store.persistent) this.#notice('This browser keeps nothing: conversations last until the page is closed.');
    for (const conversation of await this.#store.all()) {
      markInterrupted(conversation);
      this.conversations.set(conversation.id, conversation);
    }
    const last = this.conversations.get(readCurrent());
    if (last) this.current = last;
    this.#emit('list');
    this.#emit('thread');
    await this.loadModels();
  }

  async loadModels() {
    try {
      this.models = await listModels();
      this.modelsProblem = this.models.length > 0 ? null : { kind: 'page', message: 'The server has no model.' };
    } catch (error) {
      this.modelsProblem = problemOf(error);
    }
    this.#emit('models');
  }

  // model is the id of the model that the next answer comes from: the one that was chosen while the server has it, otherwise its
  // first.
  get model() {
    const chosen = this.current.settings.model;
    return this.models.some((model) => model.id === chosen) ? chosen : (this.models[0]?.id ?? chosen);
  }

  // sees says whether the model takes pictures, or may: of one that was never loaded the server may not know it.
  get sees() {
    const inputs = this.models.find(({ id }) => id === this.model)?.meta?.inputs;
    return inputs === null || (inputs?.includes('image') ?? false);
  }

  // busy says whether an answer comes in the conversation that is shown.
  get busy() {
    return this.#answering.has(this.current.id);
  }

  isAnswering(conversation) {
    return this.#answering.has(conversation.id);
  }

  open(id) {
    this.current = this.conversations.get(id) ?? this.current;
    writeCurrent(this.current.id);
    this.#emit('list');
    this.#emit('thread');
  }

  begin() {
    this.current = newConversation(lastSettings());
    writeCurrent('');
    this.#emit('list');
    this.#emit('thread');
  }

  rename(id, title) {
    const conversation = this.conversations.get(id);
    conversation.title = title.trim();
    this.#store.save(conversation);
    this.#emit('list');
  }

  async remove(id) {
    this.stop(id);
    this.conversations.delete(id);
    await this.#store.remove(id);
    if (this.current.id === id) this.begin();
    else this.#emit('list');
  }

  // set changes a setting of this conversation; the next new one starts with it too.
  set(name, text) {
    this.current.settings[name] = text;
    keepSettings(this.current.settings);
    this.#keep(this.current);
    if (name === 'model') this.#emit('models');
  }

  // try begins a conversation with these settings and this first message, with the pictures that draw makes. The next new one starts without them.
  try({ settings, content, draw }) {
    if (this.busy) return;
    this.current = newConversation({ ...lastSettings(), ...settings });
    this.send(content, draw?.());
  }

  setKey(key) {
    writeKey(key);
    return this.loadModels();
  }

  // send says something. images is the pictures that come with it, as in images.js.
  send(content, images = []) {
    if (this.busy) return;
    const tip = shown(this.current).at(-1) ?? null;
    this.#answerTo(add(this.current, tip, { role: 'user', content, ...(images.length > 0 && { images }) }));
  }

  // edit says something else in the place of a message of the user or of results: fields is {content, images?} or {results}.
  edit(message, fields) {
    if (this.busy) return;
    this.#answerTo(add(this.current, parentOf(this.current, message), { role: message.role, ...fields }));
  }

  // again asks for another version of an answer.
  again(message) {
    this.#answerTo(parentOf(this.current, message));
  }

  // shorten lets the oldest messages be left out from now on where need be.
  shorten() {
    this.current.truncation = 'auto';
  }

  // goOn asks for the rest of an answer that ended early.
  goOn(message) {
    if (this.busy) return;
    this.#receive(message, this.#requestUntil(message, true));
  }

  // removal is the messages that go when this one is deleted: what was said after it was said to it.
  removal(message) {
    return following(this.current, message);
  }

  // removeMessage deletes a message and what follows it. A conversation without messages is none.
  async removeMessage(message) {
    if (this.busy) return;
    const { current } = this;
    remove(current, message);
    if (current.messages.length === 0) return this.remove(current.id);
    this.#store.save(current);
    this.#emit('list');
    this.#emit('thread');
  }

  sendResults(message, results) {
    if (this.busy) return;
    this.#answerTo(add(this.current, message, { role: 'results', results }));
  }

  // chooseVersion shows a version of a turn, and of what follows it the versions that were shown last.
  chooseVersion(message) {
    choose(this.current, message);
    this.#store.save(this.current);
    this.#emit('thread');
  }

  // stop ends the answer that comes; what came stays.
  stop(id = this.current.id) {
    this.#answering.get(id)?.controller.abort();
  }

  exportFile() {
    return exported([...this.conversations.values()]);
  }

  // importFile adds the conversations of a file and returns how many. One that is here already stays; another with its id gets a new
  // one.
  importFile(text) {
    let added = 0;
    for (const conversation of imported(text)) {
      const here = this.conversations.get(conversation.id);
      if (here?.updated === conversation.updated) continue;
      if (here) conversation.id = newID();
      this.conversations.set(conversation.id, conversation);
      this.#store.save(conversation);
      added++;
    }
    this.#emit('list');
    return added;
  }

  async #answerTo(parent) {
    if (this.busy) return;
    const body = this.#requestUntil(parent, false);
    await this.#receive(add(this.current, parent, { role: 'assistant', content: '', calls: [], model: this.model }), body);
  }

  #requestUntil(message, goesOn) {
    const { current, model } = this;
    return requestFor(current.settings, model, until(current, message), { truncation: current.truncation, goesOn });
  }

  // receive asks for what a message says, or for more of it, and adds what comes.
  async #receive(message, body) {
    const conversation = this.current;
    Object.assign(message, { state: 'coming', finish: undefined, problem: undefined, firstMs: undefined, totalMs: undefined });
    const controller = new AbortController();
    this.#answering.set(conversation.id, { controller, message });
    this.conversations.set(conversation.id, conversation);
    writeCurrent(conversation.id);
    this.#store.save(conversation);
    this.#store.flush();
    this.#emit('list');
    this.#emit('thread');
    this.#emit('sent');
    try {
      await receive(message, chunksOf(body, controller.signal), () => {
        this.#keep(conversation);
        this.#emit('message', { conversation, message });
      });
      message.state = 'done';
    } catch (error) {
      message.state = controller.signal.aborted ? 'stopped' : 'failed';
      if (message.state === 'failed') message.problem = problemOf(error);
    }
    settle(message);
    this.#answering.delete(conversation.id);
    conversation.updated = Date.now();
    this.#keep(conversation);
    this.#store.flush();
    this.#emit('list');
    if (conversation === this.current) this.#emit('thread');
    this.#emit('finished', { conversation, message });
  }

  // refresh takes over what another window did to a conversation.
  async #refresh(id) {
    this.#store.flush(); // what changed here goes first, or it would be taken for older
    const stored = await this.#store.load(id);
    const here = this.conversations.get(id);
    if (!stored) {
      if (!here || this.#answering.has(id)) return;
      this.conversations.delete(id);
      if (this.current.id === id) this.begin();
    } else if (!here) {
      this.conversations.set(id, stored);
    } else {
      merge(here, stored, (messageID) => this.#answering.get(id)?.message.id === messageID);
      here.title = stored.title;
      here.settings = stored.settings;
      here.truncation = stored.truncation;
      here.updated = Math.max(here.updated, stored.updated);
    }
    this.#emit('list');
    if (this.current.id === id) this.#emit('thread');
  }

  // #keep writes the conversation soon, unless it has been deleted or has no message yet.
  #keep(conversation) {
    if (this.conversations.has(conversation.id)) this.#store.save(conversation);
  }

  #notice(text) {
    this.#emit('notice', text);
  }

  #emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

// markInterrupted says of answers that were coming when the page went away that they will not go on.
function markInterrupted(conversation) {
  for (const message of conversation.messages) {
    if (message.state !== 'coming') continue;
    message.state = 'failed';
    message.problem = interrupted;
    settle(message);
  }
}

function readCurrent() {
  try {
    return sessionStorage.getItem(currentKey) ?? '';
  } catch {
    return '';
  }
}

function writeCurrent(id) {
  try {
    sessionStorage.setItem(currentKey, id);
  } catch {
    // A reload begins a new conversation.
  }
}
