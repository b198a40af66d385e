// OpenAI's client: the Responses interface.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';
import { zodResponsesFunction, zodTextFormat } from 'openai/helpers/zod';
import { capital, long, person, story, tooLong, weather } from './support/flint.js';
import { leaves } from './support/leaving.js';
import { key, smallURL, url } from './support/server.js';

const options = { apiKey: key, maxRetries: 0 };
const client = new OpenAI({ ...options, baseURL: `${url}/v1` });
const small = new OpenAI({ ...options, baseURL: `${smallURL}/v1` });

// Nothing is kept on the server: clients that rely on that say so.
const greedy = { model: 'flint', temperature: 0, store: false };
const tools = [{ type: 'function', name: weather.name, description: weather.description, parameters: weather.schema, strict: false }];

test('text', async () => {
  const response = await client.responses.create({ ...greedy, input: capital.question });
  assert.equal(response.output_text, capital.answer);
  assert.equal(response.object, 'response');
  assert.equal(response.status, 'completed');
  assert.equal(response.model, 'flint');
  assert.ok(response.usage.input_tokens > 5 && response.usage.output_tokens > 3);
  assert.equal(response.usage.total_tokens, response.usage.input_tokens + response.usage.output_tokens);
  const [message] = response.output;
  assert.equal(message.type, 'message');
  assert.equal(message.role, 'assistant');
  assert.equal(message.status, 'completed');
});

test('instructions and a conversation', async () => {
  const first = await client.responses.create({ ...greedy, instructions: 'You are Flint.', input: 'Hello' });
  const input = [
    { role: 'user', content: 'Hello' },
    ...first.output, // as it came
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: capital.question }] },
  ];
  const second = await client.responses.create({ ...greedy, instructions: 'You are Flint.', input });
  assert.equal(second.output_text, capital.answer);
});

test('text streamed', async () => {
  const whole = await client.responses.create({ ...greedy, input: story.question });
  const events = [];
  for await (const event of await client.responses.create({ ...greedy, input: story.question, stream: true })) events.push(event);
  assert.deepEqual(events.map((e) => e.sequence_number), events.map((_, i) => i));
  const types = events.map((e) => e.type);
  const deltas = events.filter((e) => e.type === 'response.output_text.delta');
  assert.ok(deltas.length > 10, `a story came in ${deltas.length} pieces`);
  assert.equal(deltas.map((e) => e.delta).join(''), whole.output_text);
  assert.deepEqual(types.filter((type) => type !== 'response.output_text.delta'), [
    'response.created', 'response.in_progress', 'response.output_item.added', 'response.content_part.added',
    'response.output_text.done', 'response.content_part.done', 'response.output_item.done', 'response.completed',
  ]);
  const { response } = events.at(-1);
  assert.equal(response.output[0].content[0].text, whole.output_text);
  // What the cache had of the prompt differs.
  for (const name of ['input_tokens', 'output_tokens', 'total_tokens']) assert.equal(response.usage[name], whole.usage[name]);
});

test("text through the client's helper for streams", async () => {
  const deltas = [];
  const stream = client.responses.stream({ ...greedy, input: capital.question });
  stream.on('response.output_text.delta', (event) => deltas.push(event.delta));
  const response = await stream.finalResponse();
  assert.equal(response.output[0].content[0].text, capital.answer);
  assert.equal(deltas.join(''), capital.answer);
});

test('an answer ends at a number of tokens', async () => {
  const response = await client.responses.create({ ...greedy, input: story.question, max_output_tokens: 16 });
  assert.equal(response.status, 'incomplete');
  assert.equal(response.incomplete_details.reason, 'max_output_tokens');
  assert.equal(response.usage.output_tokens, 16);
});

test('a question, a call, its result, the answer', async () => {
  const input = [{ role: 'user', content: weather.question }];
  const first = await client.responses.create({ ...greedy, input, tools });
  assert.equal(first.output.length, 1);
  const [call] = first.output;
  assert.equal(call.type, 'function_call');
  assert.equal(call.name, weather.name);
  assert.deepEqual(JSON.parse(call.arguments), weather.arguments);
  input.push(...first.output, { type: 'function_call_output', call_id: call.call_id, output: weather.result });
  const second = await client.responses.create({ ...greedy, input, tools });
  assert.equal(second.output_text, weather.answer);
});

test('a call streamed', async () => {
  const deltas = [], types = [];
  const tool = zodResponsesFunction({ name: weather.name, description: weather.description, parameters: weather.input });
  const stream = client.responses.stream({ ...greedy, input: weather.question, tools: [tool] });
  stream.on('event', (event) => types.push(event.type));
  stream.on('response.function_call_arguments.delta', (event) => deltas.push(event.delta));
  const { output } = await stream.finalResponse();
  const [call] = output;
  assert.deepEqual(JSON.parse(call.arguments), weather.arguments);
  assert.equal(deltas.join(''), call.arguments);
  assert.deepEqual(types.filter((type) => !type.endsWith('.delta')), [
    'response.created', 'response.in_progress', 'response.output_item.added',
    'response.function_call_arguments.done', 'response.output_item.done', 'response.completed',
  ]);
  // The helper's items have members of its own, such as parsed_arguments, and are sent back with them.
  const result = { type: 'function_call_output', call_id: call.call_id, output: weather.result };
  const input = [{ role: 'user', content: weather.question }, ...output, result];
  const next = await client.responses.stream({ ...greedy, input, tools: [tool] }).finalResponse();
  assert.equal(next.output[0].content[0].text, weather.answer);
  input.push(...next.output, { role: 'user', content: capital.question });
  assert.equal((await client.responses.create({ ...greedy, input, tools })).output_text, capital.answer);
});

test('tool_choice', async () => {
  const request = { ...greedy, input: capital.question, tools };
  const none = await client.responses.create({ ...request, tool_choice: 'none' });
  assert.equal(none.output[0].type, 'message');
  for (const tool_choice of ['required', { type: 'function', name: weather.name }]) {
    const must = await client.responses.create({ ...request, tool_choice });
    assert.equal(must.output[0].name, weather.name);
  }
});

test('an answer in a type', async () => {
  const request = { ...greedy, instructions: person.system, input: person.text, text: { format: zodTextFormat(person.form, 'person') } };
  const response = await client.responses.parse(request);
  assert.deepEqual(response.output_parsed, person.value);
  const streamed = await client.responses.stream(request).finalResponse();
  assert.deepEqual(streamed.output_parsed, person.value);
});

test('errors', async (t) => {
  for (const [name, request, param] of [
    ['a value out of range', { temperature: 5 }, 'temperature'],
    ['an unknown parameter', { frobnicate: 1 }, 'frobnicate'],
    ['no input', { input: undefined }, 'input'],
    ['an answer that is kept nowhere', { previous_response_id: 'resp_1' }, 'previous_response_id'],
    ['a conversation that is kept nowhere', { conversation: 'conv_1' }, 'conversation'],
    ['an answer in the background', { background: true }, 'background'],
    ['a tool without a name', { tools: [{ type: 'function' }] }, 'tools'],
  ]) {
    await t.test(name, async () => {
      const failed = await client.responses.create({ ...greedy, input: capital.question, ...request }).then(() => undefined, (e) => e);
      assert.ok(failed instanceof OpenAI.BadRequestError, `not a BadRequestError: ${failed}`);
      assert.ok(failed.param.startsWith(param), `the parameter is ${failed.param}, not ${param}: ${failed.message}`);
    });
  }
  await t.test('a prompt that is too long', async () => {
    const asked = client.responses.create({ ...greedy, input: tooLong, stream: true });
    await assert.rejects(asked, { status: 400, code: 'context_length_exceeded' });
  });
  await t.test('an unknown model', async () => {
    await assert.rejects(client.responses.create({ ...greedy, model: 'granite', input: 'Hello' }), OpenAI.NotFoundError);
  });
  await t.test('an answer of before, which nobody kept', async () => {
    await assert.rejects(client.responses.retrieve('resp_1'), OpenAI.NotFoundError);
  });
});

async function begin() {
  const controller = new AbortController();
  const request = { ...greedy, input: 'Count.', text: { format: { type: 'json_schema', name: 'long', schema: long } }, stream: true };
  const events = (await small.responses.create(request, { signal: controller.signal }))[Symbol.asyncIterator]();
  while ((await events.next()).value.type !== 'response.output_text.delta');
  const rest = async () => {
    while (!(await events.next()).done);
  };
  return { whole: rest(), leave: () => controller.abort() };
}

test('a client that leaves costs nothing more', () =>
  leaves(begin, async () => {
    assert.equal((await small.responses.create({ ...greedy, input: capital.question })).output_text, capital.answer);
  }));

test('a tool of the server is left out, which a header says', async () => {
  const { data, response } = await client.responses.create({ ...greedy, input: capital.question, tools: [{ type: 'web_search' }], reasoning: { effort: 'low', summary: 'auto' } })
    .withResponse();
  assert.equal(data.output_text, capital.answer);
  assert.match(response.headers.get('x-warnings'), /^tools\[0\] is left out/);
});
