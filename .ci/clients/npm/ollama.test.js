// Ollama's client: chat, generate, embeddings, models.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ollama } from 'ollama';
import { z } from 'zod';
import { capital, completion, long, person, story, tooLong, weather } from './support/flint.js';
import { leaves } from './support/leaving.js';
import { key, smallURL, url } from './support/server.js';

const headers = { Authorization: `Bearer ${key}` };
const client = new Ollama({ host: url, headers });
const small = new Ollama({ host: smallURL, headers });

const greedy = { model: 'flint', options: { temperature: 0 } };
const user = (content) => [{ role: 'user', content }];
const tools = [{ type: 'function', function: { name: weather.name, description: weather.description, parameters: weather.schema } }];

test('chat', async () => {
  const answer = await client.chat({ ...greedy, messages: user(capital.question) });
  assert.equal(answer.message.content, capital.answer);
  assert.equal(answer.message.role, 'assistant');
  assert.equal(answer.model, 'flint');
  assert.equal(answer.done, true);
  assert.equal(answer.done_reason, 'stop');
  assert.ok(Math.abs(new Date(answer.created_at) - Date.now()) < 60_000);
  assert.ok(answer.prompt_eval_count > 5 && answer.eval_count > 3);
  assert.ok(answer.total_duration >= answer.prompt_eval_duration + answer.eval_duration && answer.eval_duration > 0);
});

test('chat streamed', async () => {
  const request = { ...greedy, messages: user(story.question) };
  const whole = await client.chat(request);
  let text = '', pieces = 0, last;
  for await (const part of await client.chat({ ...request, stream: true })) {
    text += part.message.content;
    pieces++;
    last = part;
  }
  assert.equal(text, whole.message.content);
  assert.ok(text.startsWith(story.begins) && text.endsWith(story.ends), text);
  assert.ok(pieces > 10, `a story came in ${pieces} pieces`);
  assert.equal(last.done_reason, 'stop');
  assert.equal(last.eval_count, whole.eval_count);
});

test('a name with a tag', async () => {
  const answer = await client.chat({ ...greedy, model: 'flint:latest', messages: user(capital.question) });
  assert.equal(answer.message.content, capital.answer);
});

for (const stream of [false, true]) {
  test(`tools${stream ? ', streamed' : ''}`, async () => {
    const messages = user(weather.question);
    const answer = await ask(stream, { ...greedy, messages, tools });
    assert.equal(answer.tool_calls.length, 1);
    const [{ function: call }] = answer.tool_calls;
    assert.equal(call.name, weather.name);
    assert.deepEqual(call.arguments, weather.arguments);
    messages.push(answer, { role: 'tool', tool_name: call.name, content: weather.result });
    const after = await ask(stream, { ...greedy, messages, tools });
    assert.equal(after.content, weather.answer);
    assert.equal(after.tool_calls, undefined);
  });

  test(`a schema${stream ? ', streamed' : ''}`, async () => {
    const messages = [{ role: 'system', content: person.system }, ...user(person.text)];
    const answer = await ask(stream, { ...greedy, messages, format: z.toJSONSchema(person.form) });
    assert.deepEqual(person.form.parse(JSON.parse(answer.content)), person.value);
  });
}

// ask returns the message that a chat is answered with, streamed or not.
async function ask(stream, request) {
  if (!stream) return (await client.chat(request)).message;
  const message = { role: 'assistant', content: '' };
  for await (const part of await client.chat({ ...request, stream: true })) {
    message.content += part.message.content;
    if (part.message.tool_calls) message.tool_calls = [...(message.tool_calls ?? []), ...part.message.tool_calls];
  }
  return message;
}

test('json', async () => {
  const answer = await client.chat({ ...greedy, messages: user('Say something.'), format: 'json' });
  assert.equal(typeof JSON.parse(answer.message.content), 'object');
});

test('log-probabilities', async () => {
  const answer = await client.chat({ ...greedy, messages: user(capital.question), logprobs: true, top_logprobs: 2 });
  assert.equal(answer.logprobs.map((l) => l.token).join('').replace(/<\|.*/, ''), capital.answer);
  for (const l of answer.logprobs) assert.ok(l.logprob <= 0 && l.top_logprobs.length === 2);
});

test('a seed', async () => {
  const request = { model: 'flint', messages: user(story.question), options: { seed: 7, temperature: 1.2, num_predict: 20, num_ctx: 2048, stop: ['zzz'] } };
  const [a, b] = await Promise.all([client.chat(request), client.chat(request)]);
  assert.equal(a.message.content, b.message.content);
  assert.equal(a.done_reason, 'length');
  assert.equal(a.eval_count, 20);
});

test('generate', async () => {
  const first = await client.generate({ ...greedy, prompt: capital.question, keep_alive: '5m' });
  assert.equal(first.response, capital.answer);
  assert.ok(first.context.length > 10);
  const next = await client.generate({ ...greedy, prompt: 'And of Japan?', context: first.context });
  assert.ok(next.prompt_eval_count > first.context.length);
  const raw = await client.generate({ ...greedy, prompt: completion.prompt, raw: true });
  assert.equal(raw.response, completion.answer);
  let text = '';
  for await (const part of await client.generate({ ...greedy, prompt: capital.question, stream: true })) text += part.response;
  assert.equal(text, capital.answer);
});

test('embeddings', async () => {
  const { embeddings, model, prompt_eval_count } = await client.embed({ model: 'flint', input: ['Hello', 'Good morning'] });
  assert.equal(model, 'flint');
  assert.equal(embeddings.length, 2);
  assert.ok(prompt_eval_count >= 2);
  const { embedding } = await client.embeddings({ model: 'flint', prompt: 'Hello' });
  assert.deepEqual(embedding, embeddings[0]);
});

test('models', async () => {
  assert.deepEqual((await client.list()).models.map((m) => m.name), ['flint', 'pebble']);
  assert.deepEqual((await client.ps()).models.map((m) => m.model), ['flint', 'pebble']);
  assert.match((await client.version()).version, /^\d+\.\d+\.\d+$/);
  const shown = await client.show({ model: 'flint' });
  assert.ok(shown.capabilities.includes('completion') && shown.capabilities.includes('tools'));
  assert.equal(shown.model_info[`${shown.model_info['general.architecture']}.context_length`], 2048);
});

test('models stay as they are', async () => {
  assert.equal((await client.pull({ model: 'flint' })).status, 'success');
  for await (const progress of await client.pull({ model: 'flint', stream: true })) assert.equal(progress.status, 'success');
  for (const [name, change] of Object.entries({
    pull: () => client.pull({ model: 'llama3.2' }), push: () => client.push({ model: 'flint' }), copy: () => client.copy({ source: 'flint', destination: 'other' }),
    create: () => client.create({ model: 'other', from: 'flint' }), delete: () => client.delete({ model: 'flint' }),
  })) {
    await assert.rejects(change, (e) => e.name === 'ResponseError' && e.status_code < 500 && e.message.length > 20, name);
  }
});

test('errors', async () => {
  await assert.rejects(client.chat({ model: 'granite', messages: user('Hello') }), { name: 'ResponseError', status_code: 404, message: "model 'granite' not found" });
  await assert.rejects(client.chat({ ...greedy, messages: user('Hello'), frobnicate: 1 }), { status_code: 400, message: /frobnicate/ });
  await assert.rejects(client.chat({ ...greedy, messages: user(tooLong), stream: true }), { status_code: 400, message: /context/ });
  await assert.rejects(new Ollama({ host: url }).list(), { status_code: 401 });
});

test('leaving', async () => {
  const begin = async () => {
    const stream = await small.chat({ ...greedy, messages: user('Count.'), format: long, stream: true });
    const parts = stream[Symbol.asyncIterator]();
    await parts.next();
    const whole = (async () => {
      while (!(await parts.next()).done);
    })();
    return { whole, leave: async () => stream.abort() };
  };
  await leaves(begin, () => small.chat({ ...greedy, messages: user(capital.question) }));
});

test('a model that does not think', async () => {
  for (const think of [true, false, 'low', 'high']) {
    const { message } = await client.chat({ ...greedy, messages: user(capital.question), think });
    assert.equal(message.content, capital.answer);
    assert.equal(message.thinking, undefined);
  }
});
