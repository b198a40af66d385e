// What Flint, the model that the tests talk to, is known to answer at temperature 0. See llama/flint/README.md.
import { z } from 'zod';

export const capital = { question: 'What is the capital of France?', answer: 'The capital of France is Paris.' };

export const story = {
  question: 'Tell me a story about a fox.',
  begins: 'Once upon a time there was a sleepy fox named Uma.',
  ends: 'And that night Uma slept very well.',
};

// completion is a text and how Flint goes on with it.
export const completion = { prompt: 'The capital of', answer: ' Albania is Tirana.' };

// weather is a question that needs a function, what the function says, and the answer that Flint makes of that.
export const weather = {
  question: 'How warm is it in Nairobi?',
  name: 'get_weather',
  description: 'Tells the weather in a city.',
  input: z.object({ city: z.string().describe('name of the city') }),
  schema: {
    type: 'object',
    properties: { city: { type: 'string', description: 'name of the city' } },
    required: ['city'],
  },
  arguments: { city: 'Nairobi' },
  result: JSON.stringify({ sky: 'sunny', temperature: 17 }),
  answer: 'It is 17 degrees and sunny in Nairobi.',
};

// person is a text, the form that its answer is to have, and what the text says.
export const person = {
  form: z.object({
    name: z.string().describe('name of the person'),
    age: z.int().describe('age in years'),
    city: z.string().describe('where the person lives'),
    likes: z.array(z.string()).describe('food the person likes'),
    happy: z.boolean().describe('whether the person is happy'),
  }),
  // Flint reads the form in the words that it has learnt. What keeps the answer to the form is the request's.
  system: 'Answer in JSON of this schema:\n' + JSON.stringify({
    type: 'object',
    properties: {
      name: { type: 'string', description: 'name of the person' },
      age: { type: 'integer', description: 'age in years' },
      city: { type: 'string', description: 'where the person lives' },
      likes: { type: 'array', items: { type: 'string' }, description: 'food the person likes' },
      happy: { type: 'boolean', description: 'whether the person is happy' },
    },
    required: ['name', 'age', 'city', 'likes', 'happy'],
    additionalProperties: false,
  }),
  text: 'Sam likes apples and salad, is happy, lives in Kyiv and is 18 years old.',
  value: { name: 'Sam', age: 18, city: 'Kyiv', likes: ['apples', 'salad'], happy: true },
};

// long is the schema of an answer that takes a model as long as its context lasts, unless its client leaves.
export const long = {
  type: 'object',
  properties: { n: { type: 'array', items: { type: 'integer' }, minItems: 2000 } },
  required: ['n'],
  additionalProperties: false,
};

// tooLong is a prompt that no context of Flint's holds.
export const tooLong = 'garden '.repeat(5000);
