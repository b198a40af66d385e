// The list of conversations. On a narrow screen it is a drawer over the conversation.

import { confirmRemoval } from './confirm.js';
import { find, h, show } from '../dom.js';
import { icon, iconButton } from '../icons.js';
import { textOf, titleOf } from '../tree.js';
import { announce } from '../announcer.js';

const narrow = matchMedia('(max-width: 860px)');

export function attachSidebar(app) {
  const list = find('conversations');
  const search = find('search');
  let renaming = ''; // id of the conversation whose title is being typed

  const draw = () => {
    if (renaming) return;
    const all = [...app.conversations.values()].sort((a, b) => b.updated - a.updated);
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const conversations = wanted.length === 0 ? all : all.filter((conversation) => has(conversation, wanted));
    const focused = list.contains(document.activeElement) ? document.activeElement.dataset.focus : '';
    list.replaceChildren(...conversations.map(row));
    show(search, all.length > 0);
    show(find('no-conversations'), all.length === 0);
    show(find('none-found'), all.length > 0 && conversations.length === 0);
    if (focused) list.querySelector(`[data-focus="${CSS.escape(focused)}"]`)?.focus();
  };

  const row = (conversation) => {
    const { id } = conversation;
    const title = titleOf(conversation);
    const current = conversation === app.current;
    const open = h(
      'button',
      {
        type: 'button',
        class: 'conversation',
        'aria-current': current ? 'true' : null,
        'data-focus': `open ${id}`,
        title,
        onclick: () => {
          app.open(id);
          closeDrawer();
        },
      },
      h('span', { class: 'conversation-title' }, title),
      app.isAnswering(conversation) ? h('span', { class: 'pulse', role: 'img', 'aria-label': 'is being answered' }) : null,
    );
    return h(
      'li',
      { class: current ? 'current' : null },
      open,
      iconButton('edit', `Rename ${title}`, () => rename(conversation), { 'data-focus': `rename ${id}` }),
      iconButton('trash', `Delete ${title}`, () => remove(conversation), { 'data-focus': `remove ${id}` }),
    );
  };

  const rename = (conversation) => {
    renaming = conversation.id;
    const item = list.querySelector(`[data-focus="rename ${conversation.id}"]`).closest('li');
    const field = h('input', {
      type: 'text',
      'aria-label': 'Title of the conversation',
      maxlength: '200',
      value: titleOf(conversation),
    });
    const finish = (keep) => {
      if (renaming !== conversation.id) return;
      renaming = '';
      if (keep) app.rename(conversation.id, field.value);
      draw();
      list.querySelector(`[data-focus="rename ${conversation.id}"]`)?.focus();
    };
    field.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && !event.isComposing) finish(true);
      else if (event.key === 'Escape') finish(false);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    field.addEventListener('blur', () => finish(true));
    item.replaceChildren(field);
    field.focus();
    field.select();
  };

  const remove = async (conversation) => {
    const text = `“${titleOf(conversation)}” will be gone from this browser. This cannot be undone.`;
    if (!(await confirmRemoval('Delete this conversation?', text))) return;
    await app.remove(conversation.id);
    announce('The conversation is deleted');
    find('new-conversation').focus();
  };

  app.addEventListener('list', draw);
  search.addEventListener('input', () => {
    draw();
    const count = list.children.length;
    if (search.value.trim() !== '') announce(count === 1 ? '1 conversation is found' : `${count || 'No'} conversations are found`);
  });
  search.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || search.value === '') return;
    event.preventDefault(); // it ends the search, and nothing else
    search.value = '';
    draw();
  });
  attachDrawer();
}

const texts = new WeakMap(); // what is said in a conversation, in small letters: {updated, title, text}

// has says whether all these words, in small letters, are in a conversation or in its title.
function has(conversation, words) {
  const { updated } = conversation;
  const title = titleOf(conversation);
  let known = texts.get(conversation);
  if (known?.updated !== updated || known.title !== title) {
    known = { updated, title, text: [title, ...conversation.messages.map(textOf)].join('\n').toLowerCase() };
    texts.set(conversation, known);
  }
  return words.every((word) => known.text.includes(word));
}

// closeDrawer puts the list away where it is a drawer.
export function closeDrawer() {
  if (drawerOpen()) setDrawer(false);
}

export function drawerOpen() {
  return document.body.classList.contains('drawer-open');
}

function attachDrawer() {
  find('open-sidebar').append(icon('menu'));
  find('open-sidebar').addEventListener('click', () => setDrawer(true));
  find('close-sidebar').append(icon('close'));
  find('close-sidebar').addEventListener('click', () => setDrawer(false));
  find('drawer-shade').addEventListener('click', () => setDrawer(false));
  narrow.addEventListener('change', () => setDrawer(false, false));
  setDrawer(false, false);
}

// setDrawer opens or closes the drawer. What lies under an open one cannot be reached, and neither can a closed one.
function setDrawer(open, moveFocus = true) {
  document.body.classList.toggle('drawer-open', open);
  find('sidebar').inert = narrow.matches && !open;
  find('main').inert = narrow.matches && open;
  find('open-sidebar').setAttribute('aria-expanded', String(open));
  if (moveFocus) (open ? find('close-sidebar') : find('open-sidebar')).focus();
}
