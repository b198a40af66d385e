// What a conversation asks the server for besides its messages. A setting that is empty is not sent: the server's own value holds.

const number = (least, most) => (text) => {
  const value = Number(text);
  if (!Number.isFinite(value) || value < least || value > most) throw new Error(`This must be a number from ${least} to ${most}.`);
  return value;
};

const whole = (least, most, what) => (text) => {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < least || value > most) throw new Error(what);
  return value;
};

// lines is one string a line; \n, \t and \\ stand for a line break, a tabulator and a backslash.
function lines(text) {
  const escapes = { n: '\n', t: '\t', '\\': '\\' };
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.replace(/\\([nt\\])/g, (_, letter) => escapes[letter]));
}

function toolsOf(text) {
  let tools;
  try {
    tools = JSON.parse(text);
  } catch (error) {
    throw new Error(`This is no JSON: ${error.message}`);
  }
  if (!Array.isArray(tools)) throw new Error('This must be a list: [{"type": "function", "function": {"name": …}}, …].');
  tools.forEach((tool, index) => {
    if (tool?.type !== 'function' || typeof tool.function?.name !== 'string' || tool.function.name === '') {
      throw new Error(`Tool ${index + 1} must have "type": "function" and a "function" with a "name".`);
    }
  });
  return tools;
}

// schemaOf reads a JSON schema, and is what a request asks for with it.
function schemaOf(text) {
  let schema;
  try {
    schema = JSON.parse(text);
  } catch (error) {
    throw new Error(`This is no JSON: ${error.message}`);
  }
  if (schema === null || typeof schema !== 'object' || Array.isArray(schema)) throw new Error('This must be a JSON schema: {"type": "object", …}.');
  return { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } };
}

function effort(text) {
  if (!['none', 'low', 'medium', 'high'].includes(text)) throw new Error('This must be none, low, medium or high.');
  return text;
}

// fields says, for each setting that is a text in the form, how it is read. read throws an Error in words for whoever typed it.
export const fields = {
  system: { read: (text) => text },
  temperature: { read: number(0, 2) },
  top_p: { read: number(0, 1) },
  top_k: { read: whole(0, 1e9, 'This must be a whole number, 0 or more.') },
  min_p: { read: number(0, 1) },
  max_completion_tokens: { read: whole(1, 1e9, 'This must be a whole number, 1 or more.') },
  reasoning_effort: { read: effort },
  seed: { read: whole(0, Number.MAX_SAFE_INTEGER, 'This must be a whole number, 0 or more.') },
  stop: { read: lines },
  tools: { read: toolsOf },
  response_format: { read: schemaOf },
};

// defaultOf is what holds while a setting is empty, in words: values are the server's own, by the names of settings, null where it has none.
// It is '' where nobody knows.
export function defaultOf(name, values, context) {
  if (!values || !Object.hasOwn(values, name)) return '';
  const value = values[name];
  const words = {
    top_k: () => (value === 0 ? 'all tokens' : value),
    max_completion_tokens: () => value ?? (context ? `up to ${context.toLocaleString('en')}` : 'as many as fit'),
    seed: () => value ?? 'random',
  };
  return String(words[name]?.() ?? value ?? '');
}

// emptySettings is what a first conversation has: the server's own values for everything.
export function emptySettings() {
  return { model: '', ...Object.fromEntries(Object.keys(fields).map((name) => [name, ''])) };
}

// complaint is what is wrong with this text for a setting, or ''.
export function complaint(name, text) {
  if (text.trim() === '') return '';
  try {
    fields[name].read(text);
    return '';
  } catch (error) {
    return error.message;
  }
}

// parametersOf is the part of a request that the settings make. A text that cannot be read is left out; the form has told whoever
// typed it.
export function parametersOf(settings) {
  const parameters = {};
  for (const [name, { read }] of Object.entries(fields)) {
    const text = settings[name] ?? '';
    if (name === 'system' || text.trim() === '' || complaint(name, text)) continue;
    const value = read(text);
    if (Array.isArray(value) && value.length === 0) continue;
    parameters[name] = value;
  }
  return parameters;
}

const key = 'antigravity.settings';

// lastSettings is what a new conversation starts with: the settings that were changed last.
export function lastSettings() {
  const settings = emptySettings();
  try {
    const kept = JSON.parse(localStorage.getItem(key) ?? '{}');
    for (const name of Object.keys(settings)) {
      if (typeof kept?.[name] === 'string') settings[name] = kept[name];
    }
  } catch {
    // Nothing was kept, or nothing that can be read.
  }
  return settings;
}

export function keepSettings(settings) {
  try {
    localStorage.setItem(key, JSON.stringify(settings));
  } catch {
    // They last until the page is closed.
  }
}
