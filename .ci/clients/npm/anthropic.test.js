// Anthropic's client: messages.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod';
import { capital, long, person, story, tooLong, weather } from './support/flint.js';
import { crowd, leaves } from './support/leaving.js';
import { key, smallURL, url } from './support/server.js';

const options = { apiKey: key, maxRetries: 0 };
const client = new Anthropic({ ...options, baseURL: url });
const small = new Anthropic({ ...options, baseURL: smallURL });

const greedy = { model: 'flint', temperature: 0, max_tokens: 200 };
const user = (content) => [{ role: 'user', content }];
// promptTokens counts a prompt's tokens: Anthropic's interface counts those that were computed before apart.
const promptTokens = ({ usage }) => usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0);

const tools = [{ name: weather.name, description: weather.description, input_schema: weather.schema }];

test('a message', async () => {
  const message = await client.messages.create({ ...greedy, messages: user(capital.question) });
  assert.deepEqual(message.content.map(({ type, text }) => ({ type, text })), [{ type: 'text', text: capital.answer }]);
  assert.equal(message.type, 'message');
  assert.equal(message.role, 'assistant');
  assert.equal(message.model, 'flint');
  assert.equal(message.stop_reason, 'end_turn');
  assert.equal(message.stop_sequence, null);
  assert.ok(promptTokens(message) > 5 && message.usage.output_tokens > 3);
  assert.ok(message._request_id, 'the answer has no request id');
});

test('a message with a system prompt, in parts, further on', async () => {
  const message = await client.messages.create({
    ...greedy,
    system: [{ type: 'text', text: 'You are Flint.' }],
    messages: [
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: [{ type: 'text', text: 'Hello! How can I help you?' }] },
      { role: 'user', content: [{ type: 'text', text: capital.question }] },
    ],
  });
  assert.equal(message.content[0].text, capital.answer);
});

test('a message streamed', async () => {
  const whole = await client.messages.create({ ...greedy, messages: user(story.question) });
  const events = [];
  for await (const event of await client.messages.create({ ...greedy, messages: user(story.question), stream: true })) events.push(event);
  const types = events.map((e) => e.type).filter((type) => type !== 'ping');
  assert.deepEqual(types.filter((type) => type !== 'content_block_delta'),
    ['message_start', 'content_block_start', 'content_block_stop', 'message_delta', 'message_stop']);
  const deltas = events.filter((e) => e.type === 'content_block_delta');
  assert.ok(deltas.length > 10, `a story came in ${deltas.length} pieces`);
  assert.equal(deltas.map((e) => e.delta.text).join(''), whole.content[0].text);
  const end = events.find((e) => e.type === 'message_delta');
  assert.equal(end.delta.stop_reason, 'end_turn');
  assert.equal(end.usage.output_tokens, whole.usage.output_tokens);
});

test("a message through the client's helper for streams", async () => {
  const deltas = [];
  const stream = client.messages.stream({ ...greedy, messages: user(capital.question) }).on('text', (delta) => deltas.push(delta));
  assert.equal(await stream.finalText(), capital.answer);
  assert.equal(deltas.join(''), capital.answer);
  const message = await stream.finalMessage();
  assert.equal(message.stop_reason, 'end_turn');
  assert.ok(promptTokens(message) > 5);
});

test('an answer ends at a stop string, and at a number of tokens', async () => {
  const stopped = await client.messages.create({ ...greedy, messages: user(capital.question), stop_sequences: [' is'] });
  assert.equal(stopped.content[0].text, 'The capital of France');
  assert.equal(stopped.stop_reason, 'stop_sequence');
  assert.equal(stopped.stop_sequence, ' is');
  const short = await client.messages.create({ ...greedy, messages: user(story.question), max_tokens: 4 });
  assert.equal(short.stop_reason, 'max_tokens');
  assert.equal(short.usage.output_tokens, 4);
});

test('a question, a call, its result, the answer', async () => {
  const messages = user(weather.question);
  const first = await client.messages.create({ ...greedy, messages, tools });
  assert.equal(first.stop_reason, 'tool_use');
  const call = first.content.find((block) => block.type === 'tool_use');
  assert.equal(call.name, weather.name);
  assert.deepEqual(call.input, weather.arguments);
  messages.push({ role: 'assistant', content: first.content });
  messages.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: weather.result }] });
  const second = await client.messages.create({ ...greedy, messages, tools });
  assert.equal(second.content[0].text, weather.answer);
  assert.equal(second.stop_reason, 'end_turn');
});

test('a call streamed', async () => {
  const parts = [];
  const stream = client.messages.stream({ ...greedy, messages: user(weather.question), tools });
  stream.on('inputJson', (part) => parts.push(part));
  const message = await stream.finalMessage();
  assert.equal(message.stop_reason, 'tool_use');
  const call = message.content.find((block) => block.type === 'tool_use');
  assert.equal(call.name, weather.name);
  assert.deepEqual(call.input, weather.arguments);
  assert.deepEqual(JSON.parse(parts.join('')), weather.arguments);
});

for (const stream of [false, true]) {
  test(`the client calls functions by itself${stream ? ', streamed' : ''}`, async () => {
    const asked = [];
    const tool = betaZodTool({
      name: weather.name,
      description: weather.description,
      inputSchema: weather.input,
      run: (given) => {
        asked.push(given);
        return weather.result;
      },
    });
    const runner = client.beta.messages.toolRunner({ ...greedy, messages: user(weather.question), tools: [tool], stream });
    const message = await runner.runUntilDone();
    assert.equal(message.content[0].text, weather.answer);
    assert.deepEqual(asked, [weather.arguments]);
  });
}

test('what programs send besides', async () => {
  const cache_control = { type: 'ephemeral' };
  const call = { type: 'tool_use', id: 'toolu_1', name: weather.name, input: weather.arguments, cache_control };
  const content = [{ type: 'text', text: weather.result }];
  const answer = await client.messages.create({
    ...greedy,
    metadata: { user_id: 'somebody' },
    service_tier: 'auto',
    thinking: { type: 'disabled' },
    top_k: 5,
    top_p: 0.9,
    system: [{ type: 'text', text: 'You are Flint.', cache_control }],
    tools: [{ ...tools[0], cache_control, type: 'custom' }],
    messages: [
      { role: 'user', content: [{ type: 'text', text: weather.question, cache_control }] },
      { role: 'assistant', content: [{ type: 'text', text: '' }, call] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, is_error: false, content, cache_control }] },
    ],
  }, { headers: { 'anthropic-beta': 'prompt-caching-2024-07-31' } });
  assert.equal(answer.content[0].text, weather.answer);
});

test('models', async () => {
  const names = [];
  for await (const model of client.models.list()) names.push(model.id);
  assert.deepEqual(names.sort(), ['flint', 'pebble']);
});

test('tool_choice', async () => {
  const request = { ...greedy, messages: user(capital.question), tools };
  const none = await client.messages.create({ ...request, tool_choice: { type: 'none' } });
  assert.equal(none.content[0].type, 'text');
  for (const tool_choice of [{ type: 'any' }, { type: 'tool', name: weather.name }]) {
    const must = await client.messages.create({ ...request, tool_choice });
    assert.equal(must.content[0].name, weather.name);
  }
});

test('an answer in a type', async () => {
  const message = await client.messages.parse({
    ...greedy, system: person.system, messages: user(person.text), output_config: { format: zodOutputFormat(person.form) },
  });
  assert.deepEqual(message.parsed_output, person.value);
});

test('tokens are counted', async () => {
  const messages = user(capital.question);
  const { input_tokens } = await client.messages.countTokens({ model: 'flint', messages });
  const message = await client.messages.create({ ...greedy, messages });
  assert.equal(input_tokens, promptTokens(message));
  const more = await client.messages.countTokens({ model: 'flint', messages, system: 'You are Flint.', tools });
  assert.ok(more.input_tokens > input_tokens + 20);
});

test('errors', async (t) => {
  const messages = user(capital.question);
  for (const [name, request, about] of [
    ['a value out of range', { temperature: 5 }, 'temperature'],
    ['an unknown parameter', { frobnicate: 1 }, 'frobnicate'],
    ['no max_tokens', { max_tokens: undefined }, 'max_tokens'],
    ['no messages', { messages: [] }, 'messages'],
    ['a system prompt among the messages', { messages: [{ role: 'wizard', content: 'Hello' }] }, 'messages[0]'],
    ['a picture', { messages: user([{ type: 'image', source: { type: 'url', url: 'http://127.0.0.1' } }]) }, 'messages[0]'],
    ['a tool without a name', { tools: [{ input_schema: { type: 'object' } }] }, 'tools'],
  ]) {
    await t.test(name, async () => {
      const failed = await client.messages.create({ ...greedy, messages, ...request }).then(() => undefined, (e) => e);
      assert.ok(failed instanceof Anthropic.BadRequestError, `not a BadRequestError: ${failed}`);
      assert.equal(failed.error.type, 'error');
      assert.equal(failed.error.error.type, 'invalid_request_error');
      assert.ok(failed.error.error.message.includes(about), failed.message);
      assert.ok(failed.requestID);
    });
  }
  await t.test('a prompt that is too long', async () => {
    const asked = client.messages.create({ ...greedy, messages: user(tooLong), stream: true });
    await assert.rejects(asked, (e) => e instanceof Anthropic.BadRequestError && /\d+ tokens/.test(e.message));
  });
  await t.test('an unknown model', async () => {
    const asked = client.messages.create({ ...greedy, messages, model: 'granite' });
    await assert.rejects(asked, (e) => e instanceof Anthropic.NotFoundError && e.error.error.type === 'not_found_error');
  });
  await t.test('what the server does not do', async () => {
    await assert.rejects(client.messages.batches.list(), (e) => e instanceof Anthropic.NotFoundError && e.error.error.type === 'not_found_error');
  });
  await t.test('a wrong key', async () => {
    const asked = client.withOptions({ apiKey: 'guessed' }).messages.create({ ...greedy, messages });
    await assert.rejects(asked, (e) => e instanceof Anthropic.AuthenticationError && e.error.error.type === 'authentication_error');
  });
});

async function begin() {
  const output_config = { format: { type: 'json_schema', schema: long } };
  const request = { ...greedy, max_tokens: 2000, messages: user('Count.'), output_config };
  const stream = small.messages.stream(request);
  await new Promise((resolve, reject) => stream.once('text', resolve).once('error', reject));
  return { whole: stream.done(), leave: () => stream.abort() };
}

const short = async () => {
  const message = await small.messages.create({ ...greedy, messages: user(capital.question) });
  assert.equal(message.content[0].text, capital.answer);
};

test('a client that leaves costs nothing more', () => leaves(begin, short));

test('too many at once', async () => {
  const errors = await crowd(begin, short, (e) => e instanceof Anthropic.RateLimitError && e.error.error.type === 'rate_limit_error');
  for (const e of errors) assert.ok(Number(e.headers.get('retry-after')) >= 1, 'no Retry-After');
});

test('a tool of the server is left out, which a header says', async () => {
  const { data, response } = await client.messages.create({ ...greedy, max_tokens: 2048, messages: user(capital.question), thinking: { type: 'enabled', budget_tokens: 1024 },
    tools: [{ type: 'web_search_20250305', name: 'web_search' }] }).withResponse();
  assert.equal(data.stop_reason, 'end_turn');
  assert.match(response.headers.get('x-warnings'), /^tools\[0\] is left out/);
});
