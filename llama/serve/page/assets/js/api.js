// The server's interface: OpenAI's, with the statistics that this server adds.

import { readKey } from './key.js';
import { BrokenAnswer, ServerError } from './problems.js';
import { dataOf } from './sse.js';

// listModels is the server's models that one can talk to: [{id, meta?}]. What kind of model one is may not be known before it is loaded.
export async function listModels() {
  const response = await request('v1/models', {});
  const { data } = await response.json();
  return Array.isArray(data) ? data.filter((model) => typeof model?.id === 'string' && !model.meta?.alias_of && talks(model)) : [];
}

// talks returns whether a model may give answers: vectors and scores are all that others make.
const talks = (model) => !['embedder', 'reranker', 'classifier', 'tagger'].includes(model.meta?.kind);

// chunksOf asks for an answer and yields its chunks as they come. It throws a ServerError where the server refuses or fails, also
// within the stream, a BrokenAnswer where the stream ends before the answer does, and a TypeError where the connection fails.
export async function* chunksOf(body, signal) {
  const response = await request('v1/chat/completions', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
    signal,
  });
  for await (const data of dataOf(response.body)) {
    if (data === '[DONE]') return;
    let chunk;
    try {
      chunk = JSON.parse(data);
    } catch {
      throw new BrokenAnswer('The server sent something that is no part of an answer.');
    }
    if (chunk?.error) throw new ServerError(0, chunk, null);
    yield chunk;
  }
  throw new BrokenAnswer('The connection ended before the answer did.');
}

// request asks for a path below the page's own folder, so that a server may mount the page and the interface under a prefix.
async function request(path, options) {
  const headers = new Headers(options.headers);
  const key = readKey();
  if (key) headers.set('Authorization', `Bearer ${key}`);
  const response = await fetch(new URL(path, document.baseURI), {
    ...options,
    headers,
    credentials: 'same-origin',
    cache: 'no-store',
  });
  if (response.ok) return response;
  const body = await response.json().catch(() => null);
  throw new ServerError(response.status, body, response.headers.get('Retry-After'));
}
