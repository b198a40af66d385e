// A conversation is a tree of messages: every version of a turn is a child of the message before it.
//
// {version: 1, id, title, created, updated, settings, truncation, chosen, messages: [{id, parent, chosen, role, …}], removed}
//
// parent is the id of the message before, or null for a first one. chosen is the id of the child that is shown, or null where there is
// none; the conversation's own chosen is the first message's. A parent stands in messages before its children, so there are no
// circles. title is empty until somebody names the conversation.
// removed is the ids of messages that were deleted, so that another window does not bring them back; it may not be there.
// truncation is 'auto' where the reader lets the oldest messages be left out of what the model reads, otherwise it is not there. Times are
// milliseconds since 1970.
//
// What a message has besides depends on its role:
//   user       content, images: [{url, name}] if there are any (see images.js)
//   assistant  content, calls: [{id, name, arguments}], state, finish, problem, model, usage, stats, firstMs, totalMs, thought and thoughtMs
//              (what the model thought before it answered, and until when), earlier (tokens that it had before it went on), pieces (how many parts came, earlier tokens among them), progress (how much of
//              the prompt is computed, as the server says it, until something of the answer is there)
//   results    results: [{id, name, content}], one for each call of the message before
//
// state is 'coming' while the answer comes, then 'done', 'stopped' (by the reader) or 'failed' (then problem says why; see
// problems.js).

import { newID } from './identifiers.js';

export function newConversation(settings) {
  const now = Date.now();
  return {
    version: 1,
    id: newID(),
    title: '',
    created: now,
    updated: now,
    settings: structuredClone(settings),
    chosen: null,
    messages: [],
  };
}

// add puts a message after parent (null: as a first one) and shows it. It returns the message.
export function add(conversation, parent, fields) {
  const message = { id: newID(), parent: parent?.id ?? null, chosen: null, created: Date.now(), ...fields };
  conversation.messages.push(message);
  conversation.updated = message.created;
  choose(conversation, message);
  return message;
}

// choose shows this version instead of its siblings.
export function choose(conversation, message) {
  (parentOf(conversation, message) ?? conversation).chosen = message.id;
}

function messageOf(conversation, id) {
  return conversation.messages.find((message) => message.id === id);
}

export function parentOf(conversation, message) {
  return message.parent === null ? null : messageOf(conversation, message.parent);
}

// versionsOf is the message and its siblings, oldest first.
export function versionsOf(conversation, message) {
  return conversation.messages.filter((other) => other.parent === message.parent);
}

// shown is the messages that are shown, first to last.
export function shown(conversation) {
  const byID = new Map(conversation.messages.map((message) => [message.id, message]));
  const path = [];
  for (let id = conversation.chosen; byID.has(id); id = path.at(-1).chosen) path.push(byID.get(id));
  return path;
}

// until is the messages from the first to this one, whichever are shown.
export function until(conversation, message) {
  const path = [];
  for (let at = message; at; at = parentOf(conversation, at)) path.unshift(at);
  return path;
}

// canShorten says whether there is a turn before the last one, which the model could do without.
export function canShorten(conversation, message) {
  const roles = until(conversation, message).map(({ role, content }) => (role === 'assistant' && content === '' ? '' : role));
  const turns = roles.filter(Boolean).filter((role, index, all) => role === 'user' && all[index - 1] !== 'user');
  return conversation.truncation !== 'auto' && turns.length > 1;
}

// following is the message and all that follows it, in every version.
export function following(conversation, message) {
  const ids = new Set([message.id]);
  for (const other of conversation.messages) if (ids.has(other.parent)) ids.add(other.id); // a parent stands before its children
  return conversation.messages.filter(({ id }) => ids.has(id));
}

// remove deletes a message and all that follows it. Another version of it is shown, if there is one: the one before it, if it can be.
export function remove(conversation, message) {
  const versions = versionsOf(conversation, message);
  const at = versions.indexOf(message);
  const next = versions[at - 1] ?? versions[at + 1] ?? null;
  const above = parentOf(conversation, message) ?? conversation;
  const gone = following(conversation, message).map(({ id }) => id);
  conversation.removed = [...(conversation.removed ?? []), ...gone];
  withoutRemoved(conversation);
  if (!conversation.messages.some(({ id }) => id === above.chosen)) above.chosen = next?.id ?? null;
  conversation.updated = Date.now();
}

function withoutRemoved(conversation) {
  const removed = new Set(conversation.removed);
  conversation.messages = conversation.messages.filter(({ id, parent }) => {
    if (removed.has(parent)) removed.add(id); // what another window has said after it
    return !removed.has(id);
  });
}

// merge adds to conversation the messages that only other has, and takes over the others' newer state, except for those that keep
// names: two windows may write to one conversation, and neither may lose what the other has added.
export function merge(conversation, other, keep = () => false) {
  const at = new Map(conversation.messages.map((message, index) => [message.id, index]));
  for (const message of other.messages) {
    const index = at.get(message.id);
    if (index === undefined) conversation.messages.push(message);
    else if (!keep(message.id))
      conversation.messages[index] = { ...message, chosen: conversation.messages[index].chosen ?? message.chosen };
  }
  conversation.chosen ??= other.chosen;
  if (!conversation.removed && !other.removed) return;
  conversation.removed = [...new Set([...(conversation.removed ?? []), ...(other.removed ?? [])])];
  withoutRemoved(conversation);
  for (const above of [conversation, ...conversation.messages]) {
    if (!conversation.removed.includes(above.chosen)) continue;
    const parent = above === conversation ? null : above.id;
    above.chosen = conversation.messages.findLast((message) => message.parent === parent)?.id ?? null;
  }
}

const titleLength = 60;

// plain is a text without the marks of Markdown, on one line.
function plain(text) {
  return text
    .replace(/```(?:\w*\n)?/g, ' ')
    .replace(/!?\[([^\]\n]{1,200})\]\([^)\s]{0,500}\)/g, '$1')
    .replace(/^[ \t]*(?:#{1,6}|>|[-*+]|\d{1,3}[.)])[ \t]+/gm, '')
    .replace(/(\*\*|__|~~|`)(?=\S)([^\n]{1,200}?\S|\S)\1/g, '$2')
    .replace(/(?<![\w*])\*(?=\S)([^*\n]{1,200})(?<=\S)\*(?![\w*])/g, '$1')
    .trim()
    .replace(/\s+/g, ' ');
}

// textOf is what a message says, for whoever looks for a word in it.
export function textOf(message) {
  return message.content ?? message.results?.map((result) => result.content).join('\n') ?? '';
}

// titleOf is the name that somebody gave, or the beginning of the first question, without the marks of Markdown.
export function titleOf(conversation) {
  if (conversation.title) return conversation.title;
  const first = conversation.messages.find((message) => message.role === 'user');
  const words = Array.from(plain((first?.content ?? '').slice(0, 1000)));
  if (words.length === 0) return first?.images?.[0]?.name ?? 'New conversation';
  return words.length <= titleLength
    ? words.join('')
    : words
        .slice(0, titleLength - 1)
        .join('')
        .trimEnd() + '…';
}
