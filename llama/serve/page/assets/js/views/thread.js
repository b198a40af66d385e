// The conversation that is shown: one view a message, kept while the message is shown.

import { announce } from '../announcer.js';
import { find, h, show } from '../dom.js';
import { sampleWords, triesOf } from '../samples.js';
import { shown, titleOf, versionsOf } from '../tree.js';
import { AssistantView } from './assistant.js';
import { focusComposer } from './composer.js';
import { ResultsView } from './results.js';
import { UserView } from './user.js';
import { problemNotice } from './problem.js';

const views = { user: UserView, assistant: AssistantView, results: ResultsView };
const near = 96; // pixels from the end within which the page follows an answer that grows

export function attachThread(app) {
  const scroller = find('scroller');
  const list = find('messages');
  const welcome = find('welcome');
  const toEnd = find('to-end');
  let kept = new Map(); // views by the message's id
  let conversationID = '';
  let following = true;

  const toBottom = () => (scroller.scrollTop = scroller.scrollHeight);
  const follow = () => following && toBottom();

  scroller.addEventListener('scroll', () => {
    following = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < near;
    show(toEnd, !following);
  });
  toEnd.addEventListener('click', () => {
    toBottom();
    find('prompt').focus();
  });
  new ResizeObserver(follow).observe(list);

  const draw = () => {
    const conversation = app.current;
    const path = shown(conversation);
    if (conversation.id !== conversationID) {
      conversationID = conversation.id;
      following = true;
    }
    const drawn = new Map();
    path.forEach((message, index) => {
      const view = kept.get(message.id) ?? new views[message.role](app);
      drawn.set(message.id, view);
      view.draw(message, {
        busy: app.busy,
        last: index === path.length - 1,
        versions: versionsOf(conversation, message),
        scrolled: follow,
      });
    });
    for (const [id, view] of kept) if (!drawn.has(id)) view.element.remove();
    kept = drawn;
    // Moving an element takes the focus from it: only what stands in the wrong place is moved.
    [...kept.values()].forEach((view, index) => {
      if (list.children[index] !== view.element) list.insertBefore(view.element, list.children[index] ?? null);
    });
    drawWelcome(path.length === 0);
    follow();
  };

  const drawWelcome = (empty) => {
    show(welcome, empty);
    show(list, !empty);
    find('welcome-model').textContent = app.model ? `You are talking to ${app.model}.` : '';
    const words = sampleWords(app.model);
    find('welcome-samples').textContent = words;
    show(find('welcome-samples'), words !== '');
    find('tries').replaceChildren(
      ...triesOf(app.models).map((one) =>
        h('li', null, h('button', { type: 'button', class: 'try', onclick: () => app.try(one) }, h('strong', null, one.title), one.content)),
      ),
    );
    const title = empty ? 'New conversation' : titleOf(app.current);
    find('title').textContent = title;
    document.title = empty ? 'Antigravity' : `${title} – Antigravity`;
  };

  const drawProblem = () => {
    const problem = app.modelsProblem;
    const notice = problem && problemNotice(app, problem, [{ label: 'Try again', act: () => app.loadModels() }]);
    find('server-problem').replaceChildren(...(notice ? [notice] : []));
  };

  app.addEventListener('thread', draw);
  app.addEventListener('list', () => drawWelcome(shown(app.current).length === 0));
  app.addEventListener('models', () => {
    drawWelcome(shown(app.current).length === 0);
    drawProblem();
  });
  app.addEventListener('message', ({ detail: { message } }) => kept.get(message.id)?.grow(message));
  app.addEventListener('finished', ({ detail: { conversation, message } }) => {
    if (conversation === app.current) announce(spoken(message, kept.get(message.id)));
  });
  app.addEventListener('sent', () => {
    following = true;
    toBottom();
    // What was pressed to ask is often gone, and the focus with it.
    if (document.activeElement === document.body) focusComposer();
  });
}

// spoken is an answer that has ended, in words for a screen reader.
function spoken(message, view) {
  if (message.state === 'failed') return ''; // its notice speaks for itself
  const calls = message.calls.map((call) => `The model calls ${call.name} and waits for the result.`);
  return [message.state === 'stopped' ? 'Stopped.' : '', view?.text ?? '', ...calls].filter(Boolean).join(' ');
}
