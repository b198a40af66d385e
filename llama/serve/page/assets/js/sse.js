// Server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html, without ids and retries.

// dataOf yields the data of each event that comes through body, a ReadableStream of bytes.
export async function* dataOf(body) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = ''; // the beginning of a line whose end has not come
  let data = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      // A carriage return at the very end may be half of a line's end: it waits for what follows.
      const lines = rest.split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop();
      for (const line of lines) {
        if (line === '') {
          if (data.length > 0) yield data.join('\n');
          data = [];
        } else if (line.startsWith('data:')) {
          data.push(line.slice(line[5] === ' ' ? 6 : 5));
        }
      }
      if (done) return;
    }
  } finally {
    reader.cancel().catch(() => {}); // whoever stops reading lets the server stop too
  }
}
