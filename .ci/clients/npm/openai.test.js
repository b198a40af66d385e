// OpenAI's client: chat completions, completions, embeddings, models.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';
import { zodFunction, zodResponseFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import { capital, completion, long, person, story, tooLong, weather } from './support/flint.js';
import { crowd, leaves } from './support/leaving.js';
import { key, smallURL, url } from './support/server.js';

const options = { apiKey: key, maxRetries: 0 };
const client = new OpenAI({ ...options, baseURL: `${url}/v1` });
const small = new OpenAI({ ...options, baseURL: `${smallURL}/v1` });

const greedy = { model: 'flint', temperature: 0 };
const user = (content) => [{ role: 'user', content }];
const tools = [{ type: 'function', function: { name: weather.name, description: weather.description, parameters: weather.schema } }];

test('chat', async () => {
  const answer = await client.chat.completions.create({ ...greedy, messages: user(capital.question) });
  assert.equal(answer.choices[0].message.content, capital.answer);
  assert.equal(answer.choices[0].message.role, 'assistant');
  assert.equal(answer.choices[0].finish_reason, 'stop');
  assert.equal(answer.object, 'chat.completion');
  assert.equal(answer.model, 'flint');
  assert.ok(Math.abs(answer.created - Date.now() / 1000) < 60);
  assert.ok(answer.system_fingerprint);
  assert.ok(answer._request_id, 'the answer has no request id');
  const { prompt_tokens, completion_tokens, total_tokens } = answer.usage;
  assert.ok(prompt_tokens > 5 && completion_tokens > 3);
  assert.equal(total_tokens, prompt_tokens + completion_tokens);
});

test('chat, in parts', async () => {
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'What is the capital' }, { type: 'text', text: ' of France?' }] }];
  const answer = await client.chat.completions.create({ ...greedy, messages });
  assert.equal(answer.choices[0].message.content, capital.answer);
});

test('chat, further on', async () => {
  const messages = [...user('Hello'), { role: 'assistant', content: 'Hello! How can I help you?' }, ...user(capital.question)];
  const answer = await client.chat.completions.create({ ...greedy, messages });
  assert.equal(answer.choices[0].message.content, capital.answer);
});

test('chat streamed', async () => {
  const request = { ...greedy, messages: user(story.question) };
  const whole = await client.chat.completions.create(request);
  const stream = await client.chat.completions.create({ ...request, stream: true, stream_options: { include_usage: true } });
  let text = '', pieces = 0, usage, finish, id;
  for await (const chunk of stream) {
    id ??= chunk.id;
    assert.equal(chunk.id, id);
    assert.equal(chunk.object, 'chat.completion.chunk');
    if (chunk.usage) {
      assert.equal(usage, undefined, 'the usage comes twice');
      assert.deepEqual(chunk.choices, []);
      usage = chunk.usage;
      continue;
    }
    assert.equal(usage, undefined, 'something comes after the usage');
    const [choice] = chunk.choices;
    if (choice.delta.content) {
      text += choice.delta.content;
      pieces++;
    }
    finish = choice.finish_reason ?? finish;
  }
  assert.equal(text, whole.choices[0].message.content);
  assert.ok(text.startsWith(story.begins) && text.endsWith(story.ends), text);
  assert.ok(pieces > 10, `a story came in ${pieces} pieces`);
  assert.equal(finish, 'stop');
  assert.equal(usage.prompt_tokens, whole.usage.prompt_tokens);
  assert.equal(usage.completion_tokens, whole.usage.completion_tokens);
});

test('chat streamed without usage', async () => {
  const stream = await client.chat.completions.create({ ...greedy, messages: user(capital.question), stream: true });
  for await (const chunk of stream) {
    assert.equal(chunk.usage ?? null, null);
    assert.equal(chunk.choices.length, 1);
  }
});

test("chat through the client's helper for streams", async () => {
  const deltas = [];
  const runner = client.chat.completions.stream({ ...greedy, messages: user(capital.question) });
  runner.on('content', (delta) => deltas.push(delta));
  assert.equal(await runner.finalContent(), capital.answer);
  assert.equal(deltas.join(''), capital.answer);
});

test('several answers at once', async () => {
  const request = { ...greedy, messages: user(capital.question), n: 3 };
  const answer = await client.chat.completions.create(request);
  assert.deepEqual(answer.choices.map((c) => c.index), [0, 1, 2]);
  for (const choice of answer.choices) assert.equal(choice.message.content, capital.answer);
  const texts = ['', '', ''];
  for await (const chunk of await client.chat.completions.create({ ...request, stream: true })) {
    for (const choice of chunk.choices) texts[choice.index] += choice.delta.content ?? '';
  }
  assert.deepEqual(texts, [capital.answer, capital.answer, capital.answer]);
});

test('the same seed gives the same answer, whatever else is asked', async () => {
  const request = { model: 'flint', temperature: 1.5, seed: 7, messages: user(story.question) };
  const ask = async (seed) => (await client.chat.completions.create({ ...request, seed })).choices[0].message.content;
  const alone = await ask(7);
  const [, together, , , other] = await Promise.all([1, 7, 2, 3, 8].map(ask));
  assert.equal(together, alone);
  assert.notEqual(other, alone);
});

test('an answer ends at a stop string, and at a number of tokens', async () => {
  const stopped = await client.chat.completions.create({ ...greedy, messages: user(capital.question), stop: ' is' });
  assert.equal(stopped.choices[0].message.content, 'The capital of France');
  assert.equal(stopped.choices[0].finish_reason, 'stop');
  for (const name of ['max_tokens', 'max_completion_tokens']) {
    const short = await client.chat.completions.create({ ...greedy, messages: user(story.question), [name]: 4 });
    assert.equal(short.choices[0].finish_reason, 'length');
    assert.equal(short.usage.completion_tokens, 4);
  }
});

test('log probabilities', async () => {
  const answer = await client.chat.completions.create({ ...greedy, messages: user(capital.question), logprobs: true, top_logprobs: 3 });
  const { content } = answer.choices[0].logprobs;
  assert.equal(content.map((c) => c.token).join(''), capital.answer);
  for (const { token, logprob, bytes, top_logprobs } of content) {
    assert.ok(logprob <= 0);
    assert.equal(top_logprobs.length, 3);
    assert.equal(top_logprobs[0].token, token, 'at temperature 0 the likeliest token is chosen');
    assert.equal(top_logprobs[0].logprob, logprob);
    assert.equal(new TextDecoder().decode(new Uint8Array(bytes)), token);
  }
});

test('a question, a call, its result, the answer', async () => {
  const messages = user(weather.question);
  const first = await client.chat.completions.create({ ...greedy, messages, tools });
  const [{ message, finish_reason }] = first.choices;
  assert.equal(finish_reason, 'tool_calls');
  assert.equal(message.content, null);
  assert.equal(message.tool_calls.length, 1);
  const [call] = message.tool_calls;
  assert.equal(call.type, 'function');
  assert.equal(call.function.name, weather.name);
  assert.deepEqual(JSON.parse(call.function.arguments), weather.arguments);
  messages.push(message, { role: 'tool', tool_call_id: call.id, content: weather.result });
  const second = await client.chat.completions.create({ ...greedy, messages, tools });
  assert.equal(second.choices[0].message.content, weather.answer);
  assert.equal(second.choices[0].finish_reason, 'stop');
});

test('a call streamed', async () => {
  const stream = client.chat.completions.stream({ ...greedy, messages: user(weather.question), tools });
  const deltas = [];
  stream.on('tool_calls.function.arguments.delta', (event) => deltas.push(event.arguments_delta));
  const { choices: [{ message, finish_reason }] } = await stream.finalChatCompletion();
  assert.equal(finish_reason, 'tool_calls');
  const [call] = message.tool_calls;
  assert.ok(call.id);
  assert.equal(call.function.name, weather.name);
  assert.deepEqual(JSON.parse(call.function.arguments), weather.arguments);
  assert.equal(deltas.join(''), call.function.arguments);
});

for (const stream of [false, true]) {
  test(`the client calls functions by itself${stream ? ', streamed' : ''}`, async () => {
    const asked = [];
    const tool = zodFunction({
      name: weather.name,
      description: weather.description,
      parameters: weather.input,
      function: (given) => {
        asked.push(given);
        return weather.result;
      },
    });
    const runner = client.chat.completions.runTools({ ...greedy, messages: user(weather.question), tools: [tool], stream });
    assert.equal(await runner.finalContent(), weather.answer);
    assert.deepEqual(asked, [weather.arguments]);
  });
}

test('tool_choice', async () => {
  const request = { ...greedy, messages: user(capital.question), tools };
  const none = await client.chat.completions.create({ ...request, tool_choice: 'none' });
  assert.equal(none.choices[0].message.tool_calls, undefined);
  for (const tool_choice of ['required', { type: 'function', function: { name: weather.name } }]) {
    const must = await client.chat.completions.create({ ...request, tool_choice });
    assert.equal(must.choices[0].message.tool_calls[0].function.name, weather.name);
  }
});

test('an answer in a type', async () => {
  const messages = [{ role: 'system', content: person.system }, { role: 'user', content: person.text }];
  const request = { ...greedy, messages, response_format: zodResponseFormat(person.form, 'person') };
  const answer = await client.chat.completions.parse(request);
  assert.deepEqual(answer.choices[0].message.parsed, person.value);
  const streamed = await client.chat.completions.stream(request).finalChatCompletion();
  assert.deepEqual(streamed.choices[0].message.parsed, person.value);
});

// Whatever Flint means by them: every answer that is complete is of its type.
test('answers in types of many kinds', async (t) => {
  const list = z.object({ value: z.enum(['a', 'b']), get next() { return list.nullable(); } });
  for (const [name, kind] of Object.entries({
    email: z.email(), url: z.url(), uuid: z.uuid(), date: z.iso.date(), time: z.iso.time(), phone: z.e164(),
    ip: z.union([z.ipv4(), z.ipv6()]),
    whole: z.int().min(-5).max(12), cents: z.number().multipleOf(0.01), between: z.number().gt(5).lt(7), text: z.string().min(3).max(8),
    plate: z.string().regex(/^[A-Z]{3}-\d{4}$/), other: z.string().regex(/^(?!foo)[a-z]{1,9}$/), choice: z.enum(['yes', 'no']).nullable(),
    few: z.array(z.boolean()).min(2).max(4), pair: z.tuple([z.literal('x'), z.int()]), map: z.record(z.enum(['a', 'b']), z.int()),
    kinds: z.discriminatedUnion('t', [z.object({ t: z.literal('a'), a: z.int() }), z.object({ t: z.literal('b'), b: z.null() })]), list,
  })) {
    await t.test(name, async () => {
      const draw = kind === list ? { temperature: 2, seed: 1 } : { temperature: 1, seed: 4 }; // cooler, Flint goes on with a list for ever
      const answer = await client.chat.completions.create({
        model: 'flint', ...draw, max_tokens: 300, messages: user('Write JSON for a person named Nina.'),
        response_format: zodResponseFormat(z.object({ x: kind }), name),
      });
      const [{ message, finish_reason }] = answer.choices;
      assert.equal(finish_reason, 'stop', message.content);
      z.object({ x: kind }).parse(JSON.parse(message.content));
    });
  }
});

test('an answer in any JSON', async () => {
  const messages = user('Write JSON for a person named Nina, age 64, who likes noodles.');
  const answer = await client.chat.completions.create({ ...greedy, messages, response_format: { type: 'json_object' } });
  assert.deepEqual(JSON.parse(answer.choices[0].message.content), { name: 'Nina', age: 64, likes: 'noodles' });
});

test('completions', async () => {
  const request = { ...greedy, prompt: completion.prompt };
  const answer = await client.completions.create(request);
  assert.equal(answer.choices[0].text, completion.answer);
  assert.equal(answer.choices[0].finish_reason, 'stop');
  assert.equal(answer.object, 'text_completion');
  let text = '';
  for await (const chunk of await client.completions.create({ ...request, stream: true })) text += chunk.choices[0].text;
  assert.equal(text, completion.answer);
  const echoed = await client.completions.create({ ...request, echo: true });
  assert.equal(echoed.choices[0].text, completion.prompt + completion.answer);
  const several = await client.completions.create({ ...request, prompt: [completion.prompt, completion.prompt] });
  assert.deepEqual(several.choices.map((c) => [c.index, c.text]), [[0, completion.answer], [1, completion.answer]]);
  const scored = await client.completions.create({ ...request, logprobs: 2 });
  assert.equal(scored.choices[0].logprobs.tokens.join(''), completion.answer);
  assert.deepEqual(scored.choices[0].logprobs.text_offset[0], 0);
  await assert.rejects(client.completions.create({ ...request, suffix: '.' }), { status: 400, param: 'suffix' });
});

test('embeddings', async () => {
  const input = ['The harbor was quiet.', 'The harbor was calm.', 'What is 31 + 54?'];
  const packed = await client.embeddings.create({ model: 'flint', input }); // the client asks for base64, and unpacks it
  const plain = await client.embeddings.create({ model: 'flint', input, encoding_format: 'float' });
  assert.deepEqual(plain.data.map((d) => d.index), [0, 1, 2]);
  plain.data.forEach(({ embedding }, i) => {
    assert.equal(embedding.length, 256);
    assert.deepEqual([...packed.data[i].embedding], embedding.map(Math.fround));
    const length = Math.hypot(...embedding);
    assert.ok(Math.abs(length - 1) < 1e-4, `an embedding has the length ${length}`);
  });
  const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
  const [a, b, c] = plain.data.map((d) => d.embedding);
  assert.ok(dot(a, b) > dot(a, c), 'sentences of one meaning are further apart than others');
  const one = await client.embeddings.create({ model: 'flint', input: input[0] });
  assert.deepEqual([...one.data[0].embedding], [...packed.data[0].embedding], 'company changes an embedding');
  assert.ok(plain.usage.prompt_tokens > 10);
  const short = await client.embeddings.create({ model: 'flint', input, dimensions: 8 });
  assert.equal(short.data[0].embedding.length, 8);
  await assert.rejects(client.embeddings.create({ model: 'flint', input, dimensions: 0 }), { status: 400, param: 'dimensions' });
});

test('models', async () => {
  const names = [];
  for await (const model of client.models.list()) names.push(model.id);
  assert.deepEqual(names.sort(), ['flint', 'pebble']);
  const model = await client.models.retrieve('pebble');
  assert.equal(model.id, 'pebble');
  assert.equal(model.object, 'model');
  await assert.rejects(client.models.retrieve('granite'), OpenAI.NotFoundError);
});

test('another model', async () => {
  const answer = await client.chat.completions.create({ model: 'pebble', temperature: 0, messages: user(capital.question) });
  assert.equal(answer.choices[0].message.content, capital.answer);
  assert.equal(answer.model, 'pebble');
});

test('errors', async (t) => {
  const messages = user(capital.question);
  for (const [name, request, param] of [
    ['a value out of range', { temperature: 5 }, 'temperature'],
    ['a value of another type', { temperature: 'hot' }, 'temperature'],
    ['an unknown parameter', { frobnicate: 1 }, 'frobnicate'],
    ['no messages', { messages: [] }, 'messages'],
    ['an unknown role', { messages: [{ role: 'wizard', content: 'Hello' }] }, 'messages[0].role'],
    ['a picture', { messages: user([{ type: 'image_url', image_url: { url: 'data:,' } }]) }, 'messages[0]'],
    ['sound', { modalities: ['text', 'audio'] }, 'modalities'],
    ['too many answers', { n: 1000 }, 'n'],
    ['no schema', { response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'thing' } } } }, 'response_format'],
    ['a function without a name', { tools: [{ type: 'function', function: {} }] }, 'tools'],
  ]) {
    for (const stream of [false, true]) {
      await t.test(`${name}${stream ? ', streamed' : ''}`, async () => {
        const failed = await client.chat.completions.create({ ...greedy, messages, stream, ...request }).then(() => undefined, (e) => e);
        assert.ok(failed instanceof OpenAI.BadRequestError, `not a BadRequestError: ${failed}`);
        assert.ok(failed.param.startsWith(param), `the parameter is ${failed.param}, not ${param}: ${failed.message}`);
        assert.equal(failed.type, 'invalid_request_error');
        assert.ok(failed.message.length > 20, failed.message);
        assert.ok(failed.requestID);
      });
    }
  }
  await t.test('a prompt that is too long', async () => {
    const asked = client.chat.completions.create({ ...greedy, messages: user(tooLong), stream: true });
    await assert.rejects(asked, { status: 400, code: 'context_length_exceeded', message: /\d+ tokens/ });
  });
  await t.test('an unknown model', async () => {
    const asked = client.chat.completions.create({ ...greedy, messages, model: 'granite' });
    await assert.rejects(asked, (e) => e instanceof OpenAI.NotFoundError && e.code === 'model_not_found' && e.param === 'model');
  });
  await t.test('a wrong key', async () => {
    const stranger = client.withOptions({ apiKey: 'guessed' });
    const refused = (e) => e instanceof OpenAI.AuthenticationError && !e.message.includes('guessed');
    await assert.rejects(stranger.chat.completions.create({ ...greedy, messages }), refused);
    await assert.rejects(stranger.models.list(), refused);
  });
  await t.test('an unknown path', async () => {
    await assert.rejects(client.files.list(), OpenAI.NotFoundError);
  });
});

async function begin() {
  const controller = new AbortController();
  const response_format = { type: 'json_schema', json_schema: { name: 'long', schema: long } };
  const request = { ...greedy, messages: user('Count.'), response_format, stream: true };
  const pieces = (await small.chat.completions.create(request, { signal: controller.signal }))[Symbol.asyncIterator]();
  await pieces.next();
  const rest = async () => {
    while (!(await pieces.next()).done);
  };
  return { whole: rest(), leave: () => controller.abort() };
}

const short = async () => {
  const answer = await small.chat.completions.create({ ...greedy, messages: user(capital.question) });
  assert.equal(answer.choices[0].message.content, capital.answer);
};

test('a client that leaves costs nothing more', () => leaves(begin, short));

// An answer in one piece tells its client nothing while it is computed: a moment must do.
async function beginWhole() {
  const controller = new AbortController();
  const response_format = { type: 'json_schema', json_schema: { name: 'long', schema: long } };
  const request = { ...greedy, messages: user('Count.'), response_format };
  const whole = small.chat.completions.create(request, { signal: controller.signal });
  whole.catch(() => {}); // leaving is no failure
  await new Promise((resolve) => setTimeout(resolve, 100));
  return { whole, leave: () => controller.abort() };
}

test('a client that leaves while it waits for an answer in one piece', () => leaves(beginWhole, short));

test('too many at once', async () => {
  const errors = await crowd(begin, short, (e) => e instanceof OpenAI.RateLimitError);
  for (const e of errors) assert.ok(Number(e.headers.get('retry-after')) >= 1, 'no Retry-After');
});

test('a client that tries again is answered in the end', async () => {
  const patient = small.withOptions({ maxRetries: 20 });
  const answer = await begin();
  const asked = Array.from({ length: 3 }, () => patient.chat.completions.create({ ...greedy, messages: user(capital.question) }));
  await answer.whole;
  for (const { choices } of await Promise.all(asked)) assert.equal(choices[0].message.content, capital.answer);
});

test('forty at once', async () => {
  const asked = Array.from({ length: 40 }, () => client.chat.completions.create({ ...greedy, messages: user(capital.question) }));
  for (const { choices } of await Promise.all(asked)) assert.equal(choices[0].message.content, capital.answer);
});
