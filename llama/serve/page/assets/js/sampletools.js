// Two tools to try calls with. Their results are computed here, in the page: the weather is made up.

const text = (description) => ({ type: 'string', description });
const whole = (description) => ({ type: 'integer', description });

function tool(name, description, properties) {
  const parameters = { type: 'object', properties, required: Object.keys(properties) };
  return { type: 'function', function: { name, description, parameters } };
}

export const sampleTools = [
  tool('get_weather', 'Tells the weather in a city.', { city: text('name of the city') }),
  tool('add', 'Adds two numbers.', { a: whole('first number'), b: whole('second number') }),
];

const skies = ['sunny', 'cloudy', 'rainy', 'windy', 'snowy'];

const compute = {
  get_weather: ({ city }) => {
    if (typeof city !== 'string') throw new Error('city must be a string');
    const sum = Array.from(city).reduce((total, letter) => total + letter.codePointAt(0), 0);
    return { temperature: sum % 35, sky: skies[sum % skies.length] };
  },
  add: ({ a, b }) => {
    if (typeof a !== 'number' || typeof b !== 'number') throw new Error('a and b must be numbers');
    return { result: a + b };
  },
};

// sampleResult is what the call of a sample tool gives, as JSON; it is '' for other tools and for arguments that do not fit.
export function sampleResult(call) {
  if (!Object.hasOwn(compute, call.name)) return '';
  try {
    return JSON.stringify(compute[call.name](JSON.parse(call.arguments)));
  } catch {
    return '';
  }
}
