// Conversations in the browser's own database. Several windows may have it open: a write adds to what is stored and tells the others.

import { newID } from './identifiers.js';
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

// complete adds to a conversation what was stored of it before, if anything was.
function complete(conversation, before) {
  const mine = new Set(conversation.messages.map((message) => message.id));
  if (before) merge(conversation, before, (id) => mine.has(id));
}

// A page that is leaving writes to the database, and a browser may drop that write with the page; what it keeps in localStorage is there
// at once. The next page that starts puts the two together.
const leftKey = 'antigravity.left.';

function leave(conversations) {
  if (conversations.length === 0) return;
  try {
    localStorage.setItem(leftKey + newID(), JSON.stringify(conversations));
  } catch {
    // no space: the database may still have taken it
  }
}

// takeLeft is what pages have left, and forgets it.
function takeLeft() {
  const left = [];
  try {
    for (const key of Object.keys(localStorage)) {
      if (!key.startsWith(leftKey)) continue;
      left.push(...JSON.parse(localStorage.getItem(key)));
      localStorage.removeItem(key);
    }
  } catch {
    // the browser keeps nothing
  }
  return left;
}

class Store {
  #database;
  #channel;
  #waiting = new Map(); // conversations by id that changed and are not written yet
  #writing = new Map(); // conversations by their transactions, which have not come to an end
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

  // all is every conversation, with what pages that were left could not write any more.
  async all() {
    if (!this.#database) return [];
    const rows = new Map();
    for (const row of await done(this.#database.transaction(table).objectStore(table).getAll())) rows.set(row.id, row);
    for (const conversation of takeLeft()) {
      complete(conversation, rows.get(conversation.id));
      rows.set(conversation.id, conversation);
      this.save(conversation);
    }
    return [...rows.values()];
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
    if (leaving) this.#giveUp();
    const conversations = [...this.#waiting.values()];
    this.#waiting.clear();
    if (leaving) leave(conversations);
    for (const conversation of conversations) {
      try {
        this.#write(conversation, leaving);
      } catch (error) {
        this.onfailure(error); // the browser has closed the database: somebody cleared what it keeps
      }
    }
  }

  // #giveUp ends the writes that have not come to an end, which a page that is leaving would not, and lets what they were to write wait.
  #giveUp() {
    for (const [transaction, conversation] of this.#writing) {
      if (!this.#waiting.has(conversation.id)) this.#waiting.set(conversation.id, conversation);
      transaction.onabort = null;
      try {
        transaction.abort();
      } catch {
        // it has just come to its end
      }
    }
    this.#writing.clear();
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
    this.#writing.set(transaction, conversation);
    const before = rows.get(copy.id);
    before.onsuccess = () => {
      complete(copy, before.result);
      rows.put(copy);
    };
    transaction.oncomplete = () => {
      this.#writing.delete(transaction);
      this.#channel.postMessage(copy.id);
    };
    transaction.onabort = () => {
      this.#writing.delete(transaction);
      this.onfailure(transaction.error);
    };
  }

  // remove deletes the conversation, and forgets what of it waits to be written.
  async remove(id) {
    this.#waiting.delete(id);
    for (const [transaction, conversation] of this.#writing) if (conversation.id === id) this.#writing.delete(transaction);
    if (!this.#database) return;
    await done(this.#database.transaction(table, 'readwrite').objectStore(table).delete(id));
    this.#channel.postMessage(id);
  }
}
