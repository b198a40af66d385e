// Conversations in the browser's own database. Several windows may have it open: a write adds to what is stored and tells the others.

import { merge } from './tree.js';

const table = 'conversations';
const pause = 300; // milliseconds from a change to its writing: an answer that comes changes with every token

// openStore opens the database. Where the browser keeps nothing (some private windows), persistent is false and everything lasts until
// the page is closed. changed(id) is called when another window has written or removed a conversation.
export async function openStore(changed) {
  const channel = new BroadcastChannel('antigravity.conversations');
  channel.addEventListener('message', (event) => changed(event.data));
  let database;
  try {
    database = await openDatabase();
  } catch {
    return new Store(null, channel);
  }
  return new Store(database, channel);
}

function openDatabase() {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open('antigravity', 1);
    request.onupgradeneeded = () => request.result.createObjectStore(table, { keyPath: 'id' });
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
    request.onblocked = () => reject(new Error('another window holds an older database'));
  });
}

function done(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

class Store {
  #database;
  #channel;
  #waiting = new Map(); // conversations by id that changed and are not written yet
  #timer = 0;
  onfailure = () => {}; // called with the error of a write that failed

  constructor(database, channel) {
    this.#database = database;
    this.#channel = channel;
    // The last chances to write: no event comes later that a browser is sure to send.
    addEventListener('pagehide', () => this.#flush(true));
    document.addEventListener('visibilitychange', () => document.hidden && this.flush());
  }

  get persistent() {
    return this.#database !== null;
  }

  // all is every conversation.
  async all() {
    if (!this.#database) return [];
    return done(this.#database.transaction(table).objectStore(table).getAll());
  }

  // load is the conversation of this id, or undefined.
  async load(id) {
    if (!this.#database) return undefined;
    return done(this.#database.transaction(table).objectStore(table).get(id));
  }

  // save writes the conversation soon.
  save(conversation) {
    this.#waiting.set(conversation.id, conversation);
    this.#timer ||= setTimeout(() => this.flush(), pause);
  }

  // flush writes now whatever waits.
  flush() {
    this.#flush(false);
  }

  #flush(leaving) {
    clearTimeout(this.#timer);
    this.#timer = 0;
    const conversations = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const conversation of conversations) {
      try {
        this.#write(conversation, leaving);
      } catch (error) {
        this.onfailure(error); // the browser has closed the database: somebody cleared what it keeps
      }
    }
  }

  // #write adds the conversation to what is stored. A page that is leaving gets no answers any more, so it cannot look at that first.
  #write(conversation, leaving) {
    if (!this.#database) return;
    const copy = structuredClone(conversation);
    const transaction = this.#database.transaction(table, 'readwrite');
    const rows = transaction.objectStore(table);
    if (leaving) {
      rows.put(copy);
      transaction.commit();
      return;
    }
    const mine = new Set(copy.messages.map((message) => message.id));
    const before = rows.get(copy.id);
    before.onsuccess = () => {
      if (before.result) merge(copy, before.result, (id) => mine.has(id));
      rows.put(copy);
    };
    transaction.oncomplete = () => this.#channel.postMessage(copy.id);
    transaction.onabort = () => this.onfailure(transaction.error);
  }

  // remove deletes the conversation, and forgets what of it waits to be written.
  async remove(id) {
    this.#waiting.delete(id);
    if (!this.#database) return;
    await done(this.#database.transaction(table, 'readwrite').objectStore(table).delete(id));
    this.#channel.postMessage(id);
  }
}
