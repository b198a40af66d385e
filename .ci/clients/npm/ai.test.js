// The AI SDK, through its provider for servers that speak OpenAI's interface.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  APICallError, embed, embedMany, generateObject, generateText, jsonSchema, Output, stepCountIs, streamObject, streamText, tool,
} from 'ai';
import { capital, long, person, story, tooLong, weather } from './support/flint.js';
import { leaves } from './support/leaving.js';
import { key, smallURL, url } from './support/server.js';

globalThis.AI_SDK_LOG_WARNINGS = false; // it warns of what it itself leaves out, which no server changes

const options = { name: 'antigravity', apiKey: key, includeUsage: true, supportsStructuredOutputs: true };
const provider = createOpenAICompatible({ ...options, baseURL: `${url}/v1` });
const small = createOpenAICompatible({ ...options, baseURL: `${smallURL}/v1` });

const greedy = { model: provider('flint'), temperature: 0, maxRetries: 0 };
const asked = [];
const tools = {
  [weather.name]: tool({
    description: weather.description,
    inputSchema: weather.input,
    execute: (given) => {
      asked.push(given);
      return JSON.parse(weather.result);
    },
  }),
};

test('text', async () => {
  const { text, finishReason, usage } = await generateText({ ...greedy, prompt: capital.question });
  assert.equal(text, capital.answer);
  assert.equal(finishReason, 'stop');
  assert.ok(usage.inputTokens > 5 && usage.outputTokens > 3);
});

test('text streamed', async () => {
  const result = streamText({ ...greedy, system: 'You are Flint.', prompt: story.question, onError: () => {} });
  let text = '', pieces = 0;
  for await (const piece of result.textStream) {
    text += piece;
    pieces++;
  }
  assert.ok(text.startsWith('Once upon a time'), text);
  assert.ok(pieces > 10, `a story came in ${pieces} pieces`);
  assert.equal(await result.finishReason, 'stop');
  assert.ok((await result.usage).outputTokens > 10);
});

test('a function is called', async () => {
  asked.length = 0;
  const { text, steps } = await generateText({ ...greedy, prompt: weather.question, tools, stopWhen: stepCountIs(3) });
  assert.equal(text, weather.answer);
  assert.equal(steps.length, 2);
  assert.deepEqual(asked, [weather.arguments]);
});

test('a function is called, streamed', async () => {
  asked.length = 0;
  const result = streamText({ ...greedy, prompt: weather.question, tools, stopWhen: stepCountIs(3), onError: () => {} });
  let text = '';
  for await (const piece of result.textStream) text += piece;
  assert.equal(text, weather.answer);
  assert.deepEqual(asked, [weather.arguments]);
});

test('an object', async () => {
  const { object } = await generateObject({ ...greedy, schema: person.form, system: person.system, prompt: person.text });
  assert.deepEqual(object, person.value);
});

test('an object as the output of text', async () => {
  const { output } = await generateText({
    ...greedy, output: Output.object({ schema: person.form }), system: person.system, prompt: person.text,
  });
  assert.deepEqual(output, person.value);
});

test('an object streamed', async () => {
  const result = streamObject({ ...greedy, schema: person.form, system: person.system, prompt: person.text });
  let partial;
  for await (partial of result.partialObjectStream);
  assert.deepEqual(partial, person.value);
  assert.deepEqual(await result.object, person.value);
});

test('an object, where the client knows of json_object alone', async () => {
  const model = createOpenAICompatible({ ...options, supportsStructuredOutputs: false, baseURL: `${url}/v1` })('flint');
  const prompt = 'Write JSON for a person named Nina, age 64, who likes noodles.';
  const { object } = await generateObject({ ...greedy, model, output: 'no-schema', prompt });
  assert.equal(object.name, 'Nina');
});

test('a completion', async () => {
  const model = provider.completionModel('flint');
  const { text } = await generateText({ ...greedy, model, prompt: capital.question, maxOutputTokens: 30 });
  assert.ok(text.length > 0); // the client writes a conversation of its own form, which Flint has never seen
});

test('embeddings', async () => {
  const model = provider.embeddingModel('flint');
  const values = ['The harbor was quiet.', 'What is 31 + 54?'];
  const { embeddings } = await embedMany({ model, values, maxRetries: 0 });
  const { embedding } = await embed({ model, value: values[0], maxRetries: 0 });
  assert.equal(embeddings.length, 2);
  assert.deepEqual(embeddings[0], embedding);
});

test('errors', async (t) => {
  const failed = (promise) => promise.then(() => assert.fail('an answer came'), (e) => e);
  await t.test('a value out of range', async () => {
    const e = await failed(generateText({ ...greedy, temperature: 5, prompt: 'Hello' }));
    assert.ok(APICallError.isInstance(e), e);
    assert.equal(e.statusCode, 400);
    assert.equal(e.isRetryable, false);
    assert.equal(e.data.error.param, 'temperature');
    assert.equal(e.message, e.data.error.message);
  });
  await t.test('a prompt that is too long, streamed', async () => {
    let error;
    const result = streamText({ ...greedy, prompt: tooLong, onError: (event) => (error = event.error) });
    for await (const _ of result.textStream);
    assert.equal(error.statusCode, 400);
    assert.match(error.message, /\d+ tokens/);
  });
  await t.test('an unknown model', async () => {
    assert.equal((await failed(generateText({ ...greedy, model: provider('granite'), prompt: 'Hello' }))).statusCode, 404);
  });
  await t.test('a wrong key', async () => {
    const model = createOpenAICompatible({ ...options, apiKey: 'guessed', baseURL: `${url}/v1` })('flint');
    assert.equal((await failed(generateText({ ...greedy, model, prompt: 'Hello' }))).statusCode, 401);
  });
});

async function begin() {
  const controller = new AbortController();
  const output = Output.object({ schema: jsonSchema(long) });
  const result = streamText({
    ...greedy, model: small('flint'), output, prompt: 'Count.', abortSignal: controller.signal, onError: () => {},
  });
  const pieces = result.textStream[Symbol.asyncIterator]();
  await pieces.next();
  const rest = async () => {
    while (!(await pieces.next()).done);
  };
  return { whole: rest(), leave: () => controller.abort() };
}

test('a client that leaves costs nothing more', () =>
  leaves(begin, async () => {
    assert.equal((await generateText({ ...greedy, model: small('flint'), prompt: capital.question })).text, capital.answer);
  }));
