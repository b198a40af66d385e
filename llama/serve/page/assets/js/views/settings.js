// The sheet with the settings of a conversation, and the list of models above it.

import { find, h, show } from '../dom.js';
import { icon } from '../icons.js';
import { readKey } from '../key.js';
import { sampleTools } from '../sampletools.js';
import { complaint, defaultOf, fields } from '../settings.js';

// labelOf is what a setting is called in the form.
const labelOf = (name) => document.querySelector(`label[for="set-${name}"]`).firstChild.textContent.trim();

export function attachSettings(app) {
  const sheet = find('settings');
  find('open-settings').append(icon('sliders'));
  find('open-settings').addEventListener('click', () => open());
  find('settings-problem').addEventListener('click', () => open());
  find('close-settings').append(icon('close'));
  find('close-settings').addEventListener('click', () => sheet.close());
  // A click beside the sheet lands on the dialog itself: its shade belongs to it.
  sheet.addEventListener('click', (event) => event.target === sheet && sheet.close());

  for (const name of Object.keys(fields)) {
    const field = find(`set-${name}`);
    field.addEventListener('input', () => {
      app.set(name, field.value);
      judge(name);
    });
  }
  find('sample-tools').addEventListener('click', () => {
    put('tools', JSON.stringify(sampleTools, null, 2));
  });
  find('no-tools').addEventListener('click', () => put('tools', ''));
  find('set-key').addEventListener('change', () => app.setKey(find('set-key').value.trim()));

  const put = (name, text) => {
    find(`set-${name}`).value = text;
    app.set(name, text);
    judge(name);
  };

  const draw = () => {
    for (const name of Object.keys(fields)) {
      find(`set-${name}`).value = app.current.settings[name] ?? '';
      judge(name);
    }
    drawDefaults();
    find('set-key').value = readKey();
    show(find('key-part'), readKey() !== '' || app.modelsProblem?.kind === 'key');
  };

  // drawDefaults shows in empty fields what holds without them.
  const drawDefaults = () => {
    const meta = app.models.find(({ id }) => id === app.model)?.meta;
    for (const name of ['temperature', 'top_p', 'top_k', 'min_p', 'max_completion_tokens', 'seed']) {
      find(`set-${name}`).placeholder = defaultOf(name, meta?.defaults, meta?.context);
    }
    show(find('recommended'), meta?.defaults?.recommended === true);
    find('recommended').textContent = `The files of ${app.model} recommend how its tokens are drawn, and these values are in use where a field is empty.`;
  };

  const judge = (name) => {
    const text = complaint(name, find(`set-${name}`).value);
    find(`set-${name}`).setAttribute('aria-invalid', String(text !== ''));
    const place = find(`complaint-${name}`);
    if (place) place.textContent = text && `${text} It is not sent.`;
    drawMark();
  };

  const open = () => {
    draw();
    sheet.showModal();
  };

  // drawMark shows on the button that something is set, or set wrongly, behind it, and says above the next message what of it is not sent.
  const drawMark = () => {
    const { settings } = app.current;
    const wrong = Object.keys(fields).find((name) => complaint(name, settings[name] ?? ''));
    show(find('settings-problem'), Boolean(wrong));
    if (wrong) find('settings-problem').textContent = `${labelOf(wrong)} is not sent: ${complaint(wrong, settings[wrong])}`;
    const set = Object.keys(fields).some((name) => (settings[name] ?? '').trim() !== '');
    const button = find('open-settings');
    button.classList.toggle('marked', set);
    button.classList.toggle('wrong', Boolean(wrong));
    const label = wrong ? 'Settings (one of them cannot be used)' : set ? 'Settings (some are set)' : 'Settings';
    button.setAttribute('aria-label', label);
    button.title = label;
  };

  const models = find('model');
  models.addEventListener('change', () => app.set('model', models.value));
  const drawModels = () => {
    const options = app.models.map(({ id, meta }) =>
      h('option', { value: id, title: meta?.context ? `A context of ${meta.context} tokens` : null }, id),
    );
    models.replaceChildren(...options);
    models.value = app.model;
    models.disabled = app.models.length === 0;
  };

  app.addEventListener('models', drawModels);
  app.addEventListener('thread', () => {
    drawModels();
    drawMark();
  });
}
