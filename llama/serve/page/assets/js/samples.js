// The models that are part of Antigravity, and what one may try with them: they are samples, which do little else.

import { drawnShapes } from './images.js';
import { sampleTools } from './sampletools.js';

const text = (description) => ({ type: 'string', description });

const person = {
  type: 'object',
  properties: {
    name: text('name of the person'),
    age: { type: 'integer', description: 'age in years' },
    city: text('where the person lives'),
    likes: { type: 'array', items: { type: 'string' }, description: 'food the person likes' },
  },
  required: ['name', 'age', 'city', 'likes'],
  additionalProperties: false,
};

// samples are the parameters of each, in millions.
const samples = { pebble: 7, flint: 9, opal: 10 };

// tries are first messages, each with the settings of its conversation, and with pictures if draw makes them.
const tries = [
  { title: 'Ask for a capital', content: 'What is the capital of Japan?', settings: { model: 'pebble' } },
  { title: 'Read a story', content: 'Tell me a story about a fox.', settings: { model: 'pebble' } },
  {
    title: 'Call a function',
    content: 'What is the weather in Nairobi?',
    settings: { model: 'flint', tools: JSON.stringify(sampleTools, null, 2) },
  },
  {
    title: 'Fill a form',
    content: 'Nina lives in Lisbon, is 34 years old and likes soup and bread.',
    settings: {
      model: 'flint',
      system: `Answer in JSON of this schema:\n${JSON.stringify(person)}`,
      response_format: JSON.stringify(person, null, 2),
    },
  },
  { title: 'Show a picture', content: 'How many red circles are there?', draw: () => [drawnShapes()], settings: { model: 'opal' } },
];

// plain is what a try sets back, whatever the last conversation had.
const plain = { system: '', temperature: '0', tools: '', response_format: '', stop: '', max_completion_tokens: '' };

// triesOf is what may be tried with these models of a server.
export function triesOf(models) {
  return tries
    .filter(({ settings }) => models.some(({ id }) => id === settings.model))
    .map((one) => ({ ...one, settings: { ...plain, ...one.settings } }));
}

// sampleWords says of a model that it is a sample; it is '' for others.
export function sampleWords(model) {
  if (!Object.hasOwn(samples, model)) return '';
  return `It is a sample of ${samples[model]} million parameters, a thousandth of what is usual. It does these things right, and little else.`;
}
