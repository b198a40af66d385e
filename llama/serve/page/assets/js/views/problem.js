// What went wrong, in words, where it went wrong, with what can be done about it.

import { h } from '../dom.js';

// problemNotice shows a problem (see problems.js); its kept says that a part of the answer is there. ways are what can be done; enabled says
// whether it can be done now. A new key is followed by the first way.
export function problemNotice(app, problem, ways, enabled = true) {
  return h(
    'div',
    { class: `problem ${problem.kind}`, role: 'alert' },
    h(
      'p',
      null,
      titles[problem.kind] ? h('strong', null, titles[problem.kind] + ': ') : null,
      ended(problem.message),
      problem.kind === 'full' ? ` ${ended(fullness(ways))}` : null,
      waitOf(problem),
      problem.kept ? ' What came is kept.' : null,
    ),
    problem.kind === 'key' ? keyField(app, ways[0].act) : buttonsOf(ways, enabled),
  );
}

// buttonsOf is a button for each way, {label, act, away?}; away says that it can be gone while an answer comes.
export function buttonsOf(ways, enabled) {
  const buttons = ways.map(({ label, act, away }) =>
    h('button', { type: 'button', class: 'button', disabled: !enabled && !away, onclick: act }, label),
  );
  return buttons.length > 0 ? h('div', { class: 'buttons' }, buttons) : null;
}

const titles = {
  key: 'The server asks for a key',
  busy: 'The server is busy',
  limit: 'The limit of this key is reached',
  full: 'This is more than the model can read at once',
  refused: 'The server did not take this request',
  server: 'The server could not answer',
};

// fullness says what helps where a conversation is too long.
const fullness = (ways) =>
  ways.length > 1
    ? 'It can go on without the oldest messages. They stay here, and the model no longer reads them'
    : 'The last message is too long by itself: make it shorter, or begin a new conversation';

// ended is a message as a sentence that another may follow.
function ended(message) {
  return /[.!?]$/.test(message) ? message : `${message}.`;
}

function waitOf({ wait }) {
  return wait ? ` It asks to try again in ${wait} ${wait === 1 ? 'second' : 'seconds'}.` : null;
}

function keyField(app, act) {
  const field = h('input', {
    type: 'password',
    'aria-label': 'API key',
    placeholder: 'API key',
    autocomplete: 'off',
    spellcheck: 'false',
  });
  const use = async () => {
    await app.setKey(field.value.trim());
    if (!app.modelsProblem) act();
  };
  field.addEventListener('keydown', (event) => event.key === 'Enter' && use());
  return h(
    'div',
    { class: 'buttons key-field' },
    field,
    h('button', { type: 'button', class: 'button primary', onclick: use }, 'Use this key'),
  );
}
