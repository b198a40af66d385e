// An answer that comes: chunks from the server become a message's content, calls and numbers.

// receive adds the chunks to message until there are no more, and calls changed after each that showed something. It throws what
// chunks throws. The tokens of an answer that goes on are counted with those that it has.
export async function receive(message, chunks, changed) {
  const start = performance.now();
  message.earlier = tokensOf(message)?.count ?? 0;
  message.pieces = message.earlier;
  delete message.usage; // of the part that was there
  for await (const chunk of chunks) {
    if (typeof chunk.model === 'string') message.model = chunk.model;
    if (chunk.usage) message.usage = { ...chunk.usage, completion_tokens: message.earlier + (chunk.usage.completion_tokens ?? 0) };
    if (chunk.stats) message.stats = chunk.stats;
    if (chunk.prompt_progress) {
      message.progress = chunk.prompt_progress;
      changed();
    }
    const choice = chunk.choices?.[0];
    if (!choice) continue;
    const { content, refusal, tool_calls: parts, reasoning_content: thought } = choice.delta ?? {};
    if (content || refusal || parts?.length || thought) {
      message.firstMs ??= performance.now() - start;
      delete message.progress;
      message.pieces++;
    }
    if (typeof thought === 'string' && thought !== '') {
      message.thought = (message.thought ?? '') + thought;
      message.thoughtMs = performance.now() - start;
    }
    if (typeof content === 'string') message.content += content;
    if (typeof refusal === 'string') message.content += refusal;
    for (const part of parts ?? []) addToCall(message.calls, part);
    if (choice.finish_reason) message.finish = choice.finish_reason;
    message.totalMs = performance.now() - start;
    changed();
  }
}

// addToCall adds a part of a call: the first brings the id and the name, the others more of the arguments.
function addToCall(calls, part) {
  const call = (calls[part.index ?? 0] ??= { id: '', name: '', arguments: '' });
  call.id ||= part.id ?? '';
  call.name += part.function?.name ?? '';
  call.arguments += part.function?.arguments ?? '';
}

// settle ends an answer. Of the calls that came it keeps those that can be answered: one whose arguments were cut off is none.
export function settle(message) {
  delete message.progress;
  message.calls = message.calls.filter((call) => {
    if (!call?.name) return false;
    call.arguments ||= '{}';
    try {
      JSON.parse(call.arguments);
      return true;
    } catch {
      return false;
    }
  });
}

// tokensOf is how many tokens an answer has, {count, exact}: the server's own number comes at an answer's end, and until then each piece
// that comes counts as one. It is undefined where nobody knows.
export function tokensOf({ usage, pieces }) {
  if (usage?.completion_tokens !== undefined) return { count: usage.completion_tokens, exact: true };
  return pieces > 0 ? { count: pieces, exact: false } : undefined;
}

// speed is the tokens per second of an answer: the server's own number or, of servers that tell none, what was seen here. It is
// undefined where nobody knows.
export function speed(message) {
  if (message.stats?.tokens_per_second > 0) return message.stats.tokens_per_second;
  const tokens = message.usage?.completion_tokens - (message.earlier ?? 0);
  const seconds = (message.totalMs - message.firstMs) / 1000;
  return tokens > 1 && seconds > 0 ? (tokens - 1) / seconds : undefined;
}
