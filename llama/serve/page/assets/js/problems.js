// What went wrong, in words: {kind, message, wait?}. It is kept with the message that it ended.
//
// kind is what can be done about it: 'key' (the server wants another key), 'busy' (ask again later; wait is how many seconds, where
// the server says), 'limit' (the key has used what it may; message says until when), 'full' (the conversation is longer than the model can read),
// 'refused' (the request must change), 'lost' (the connection or the page went away), 'server' (it failed), 'page' (anything else).

export class ServerError extends Error {
  // status is the HTTP status, or 0 within a stream; body is the parsed JSON of the answer, or null; retryAfter is that header, or
  // null.
  constructor(status, body, retryAfter) {
    super(textOf(body) || `it answered with status ${status}`);
    this.status = status;
    this.code = body?.error?.code;
    this.figures = { prompt: body?.error?.n_prompt_tokens, context: body?.error?.n_ctx }; // of a conversation that is too long
    this.retryAfter = retryAfter;
  }
}

// BrokenAnswer is an answer that is no answer: the stream ends early or holds something else.
export class BrokenAnswer extends Error {}

function textOf(body) {
  const message = body?.error?.message;
  return typeof message === 'string' ? message : '';
}

// figuresOf says how much too long a conversation is, if the server says that in numbers, which its own words to programs need not be.
function figuresOf({ message, figures }) {
  const { prompt, context } = figures;
  const words = (value) => value.toLocaleString('en');
  return prompt && context ? `it has ${words(prompt)} tokens, and the model can read ${words(context)}` : message;
}

export function problemOf(error) {
  if (error instanceof ServerError) {
    if (error.status === 401 || error.status === 403) return { kind: 'key', message: error.message };
    if (error.code === 'rate_limit_exceeded' || error.code === 'insufficient_quota') return { kind: 'limit', message: error.message };
    if (error.status === 429 || error.status === 503 || error.code === 'queue_full') return { kind: 'busy', message: error.message, wait: secondsOf(error.retryAfter) };
    if (error.code === 'context_length_exceeded') return { kind: 'full', message: figuresOf(error) };
    if (error.status >= 400 && error.status < 500) return { kind: 'refused', message: error.message };
    return { kind: 'server', message: error.message };
  }
  if (error instanceof BrokenAnswer) return { kind: 'lost', message: error.message };
  if (error instanceof TypeError) return { kind: 'lost', message: 'The connection to the server was lost.' };
  return { kind: 'page', message: String(error?.message ?? error) };
}

// secondsOf is what the header Retry-After asks for: a number of seconds or a date. It is undefined without one.
function secondsOf(header) {
  if (!header) return undefined;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return Math.max(0, Math.ceil(seconds));
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, Math.ceil((date - Date.now()) / 1000));
}
