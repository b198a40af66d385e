// Conversations as a file. A file may come from a stranger, so everything in it is checked and only what is known is taken over.

import { newID } from './identifiers.js';
import { isImageURL } from './images.js';
import { emptySettings } from './settings.js';

const format = 'antigravity-conversations';

// exported is the text of a file with these conversations.
export function exported(conversations) {
  return JSON.stringify({ format, version: 1, exported: new Date().toISOString(), conversations }, null, 1);
}

// imported is the conversations of such a file. It throws an Error in words where the text is no such file.
export function imported(text) {
  let file;
  try {
    file = JSON.parse(text);
  } catch {
    throw new Error('The file is no JSON.');
  }
  if (file?.format !== format || !Array.isArray(file.conversations)) throw new Error('The file holds no conversations of this page.');
  if (file.version !== 1) throw new Error(`The file is of version ${file.version}; this page reads version 1.`);
  return file.conversations.map((conversation, index) => {
    try {
      return readConversation(conversation);
    } catch (error) {
      throw new Error(`Conversation ${index + 1} cannot be read: ${error.message}.`);
    }
  });
}

function readConversation(from) {
  const settings = emptySettings();
  for (const name of Object.keys(settings)) {
    if (typeof from.settings?.[name] === 'string') settings[name] = from.settings[name];
  }
  const messages = [];
  const ids = new Set();
  for (const raw of list(from.messages, 'messages')) {
    const message = readMessage(raw);
    if (ids.has(message.id)) throw new Error(`two messages have the id ${message.id}`);
    if (message.parent !== null && !ids.has(message.parent)) throw new Error('a message stands before the one that it follows');
    ids.add(message.id);
    messages.push(message);
  }
  for (const place of [from, ...messages]) {
    if (!messages.some((child) => child.id === place.chosen && child.parent === (place === from ? null : place.id))) place.chosen = null;
  }
  return {
    version: 1,
    id: optional(from.id, 'string') || newID(),
    title: optional(from.title, 'string') ?? '',
    created: optional(from.created, 'number') ?? Date.now(),
    updated: optional(from.updated, 'number') ?? Date.now(),
    settings,
    truncation: from.truncation === 'auto' ? 'auto' : undefined,
    chosen: from.chosen,
    messages,
  };
}

function readMessage(raw) {
  const message = {
    id: text(raw?.id, 'id'),
    parent: raw.parent === null ? null : text(raw.parent, 'parent'),
    chosen: optional(raw.chosen, 'string') ?? null,
    created: optional(raw.created, 'number') ?? Date.now(),
  };
  if (!Object.hasOwn(readers, raw.role)) throw new Error(`no message has the role ${JSON.stringify(raw.role)}`);
  return { ...message, role: raw.role, ...readers[raw.role](raw) };
}

const readers = {
  user: (raw) => ({
    content: text(raw.content, 'content'),
    ...(raw.images !== undefined && { images: list(raw.images, 'images').map(readImage) }),
  }),
  results: (raw) => ({
    results: list(raw.results, 'results').map((result) => ({
      id: text(result?.id, 'id of a result'),
      name: text(result.name, 'name of a result'),
      content: text(result.content, 'content of a result'),
    })),
  }),
  assistant: (raw) => ({
    content: text(raw.content, 'content'),
    calls: list(raw.calls, 'calls').map((call) => ({
      id: text(call?.id, 'id of a call'),
      name: text(call.name, 'name of a call'),
      arguments: text(call.arguments, 'arguments of a call'),
    })),
    state: ['done', 'stopped', 'failed'].includes(raw.state) ? raw.state : 'stopped',
    finish: optional(raw.finish, 'string'),
    problem: raw.problem
      ? { kind: optional(raw.problem.kind, 'string') ?? 'server', message: optional(raw.problem.message, 'string') ?? '' }
      : undefined,
    model: optional(raw.model, 'string'),
    usage: numbers(raw.usage),
    stats: numbers(raw.stats),
    firstMs: optional(raw.firstMs, 'number'),
    totalMs: optional(raw.totalMs, 'number'),
    thought: optional(raw.thought, 'string'),
    thoughtMs: optional(raw.thoughtMs, 'number'),
    earlier: optional(raw.earlier, 'number'),
    pieces: optional(raw.pieces, 'number'),
  }),
};

function readImage(raw) {
  if (!isImageURL(text(raw?.url, 'url of a picture'))) throw new Error('the url of a picture must be a data: URL of one');
  return { url: raw.url, name: optional(raw.name, 'string') ?? 'picture' };
}

function text(value, what) {
  if (typeof value !== 'string') throw new Error(`${what} must be a string`);
  return value;
}

function list(value, what) {
  if (!Array.isArray(value)) throw new Error(`${what} must be a list`);
  return value;
}

function optional(value, type) {
  return typeof value === type ? value : undefined;
}

// numbers is the entries of an object that are numbers, and of objects in it.
function numbers(value) {
  if (!value || typeof value !== 'object') return undefined;
  const kept = Object.entries(value)
    .map(([name, entry]) => [name, typeof entry === 'number' ? entry : numbers(entry)])
    .filter(([, entry]) => entry !== undefined);
  return Object.fromEntries(kept);
}
