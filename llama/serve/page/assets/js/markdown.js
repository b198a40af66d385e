// What a model writes, as elements that cannot run, load or send anything.
//
// Two walls stand one behind the other. marked reads the Markdown with HTML switched off: a tag that a model writes is shown as the
// text that it is. Then DOMPurify keeps, of what came out, only the elements and attributes below. The page's Content-Security-Policy
// is a third. Colours of code and formulas come after the second wall: they are elements made one by one of a text that has passed it.

import { Marked } from '../vendor/marked/marked.esm.js';
import DOMPurify from '../vendor/dompurify/purify.es.mjs';
import { icon } from './icons.js';
import { h } from './dom.js';
import { copyText } from './clipboard.js';

const escapes = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escaped = (text) => text.replace(/[&<>"']/g, (letter) => escapes[letter]);

// Tags without attributes that models write where Markdown has nothing for them.
const plainTag = /^<\/?(?:br|sub|sup|kbd)\s*\/?>$/i;

const marked = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    html: ({ text }) => (plainTag.test(text.trim()) ? text : escaped(text)),
    // A picture would be a request to wherever the model says: its description stands in its place.
    image: ({ text }) => `<em>${escaped(text || 'picture')}</em>`,
    checkbox: ({ checked }) => (checked ? '☑ ' : '☐ '),
  },
});

// Formulas: $…$ and \(…\) within a line, $$…$$ and \[…\] as blocks. Amounts of money are none: a formula begins and ends with no space
// inside, and no digit follows it. The lengths bound how far a beginning without an end is looked after.
const inlineFormula =
  /^(?:\$\$(?:[^$\\]|\\[^]){1,2000}\$\$|\$(?![\s$])(?:[^$\\\n]|\\.){0,1000}(?:[^$\\\s]|\\\S)\$(?!\d)|\\\((?:[^\\]|\\(?!\))[^]){1,1000}\\\))/;
const blockFormula = /^ {0,3}(\$\$(?:[^$\\]|\\[^]){1,5000}\$\$|\\\[(?:[^\\]|\\(?!\])[^]){1,5000}\\\])[ \t]*(?:\n|$)/;
const sight = 2000; // characters of a paragraph in which a block's beginning is looked for

const indexIn = (text, ...beginnings) => {
  const found = beginnings.map((beginning) => text.indexOf(beginning)).filter((index) => index >= 0);
  return found.length > 0 ? Math.min(...found) : undefined;
};
const shownFormula = ({ formula }) => `<code class="formula">${escaped(formula)}</code>`;

marked.use({
  extensions: [
    {
      name: 'blockFormula',
      level: 'block',
      start: (text) => {
        const index = indexIn(text.slice(0, sight), '\n$$', '\n\\[');
        return index === undefined ? undefined : index + 1;
      },
      tokenizer: (text) => {
        const match = blockFormula.exec(text);
        return match ? { type: 'blockFormula', raw: match[0], formula: match[1] } : undefined;
      },
      renderer: (token) => `<p>${shownFormula(token)}</p>`,
    },
    {
      name: 'inlineFormula',
      level: 'inline',
      start: (text) => indexIn(text, '$'),
      tokenizer: (text) => {
        const match = text[0] === '$' || text[0] === '\\' ? inlineFormula.exec(text) : null;
        return match ? { type: 'inlineFormula', raw: match[0], formula: match[0] } : undefined;
      },
      renderer: shownFormula,
    },
  ],
});

// beginsWithBox says whether an entry of a list begins with a box, which stands in the place of its bullet.
function beginsWithBox(item) {
  const text = item.firstChild?.textContent.trim() || item.firstElementChild?.textContent.trim() || '';
  return /^[☐☑]/.test(text);
}

const purifier = DOMPurify(window);
const allowed = {
  ALLOWED_TAGS: [
    'a',
    'blockquote',
    'br',
    'code',
    'del',
    'em',
    'h1',
    'h2',
    'h3',
    'h4',
    'h5',
    'h6',
    'hr',
    'kbd',
    'li',
    'ol',
    'p',
    'pre',
    'strong',
    'sub',
    'sup',
    'table',
    'tbody',
    'td',
    'th',
    'thead',
    'tr',
    'ul',
    '#text',
  ],
  ALLOWED_ATTR: ['href', 'align', 'start', 'class'],
  ADD_URI_SAFE_ATTR: ['align', 'start'], // they hold no address
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i,
  RETURN_DOM_FRAGMENT: true,
};

// clean is the DocumentFragment of what may stay of some HTML.
export function clean(html) {
  const fragment = purifier.sanitize(html, allowed);
  for (const link of fragment.querySelectorAll('a')) dressLink(link);
  for (const block of fragment.querySelectorAll('pre')) dressCode(block);
  for (const table of fragment.querySelectorAll('table')) {
    const frame = h('div', { class: 'table', tabindex: '0', role: 'group', 'aria-label': 'Table' });
    table.replaceWith(frame);
    frame.append(table);
  }
  for (const heading of fragment.querySelectorAll('h1, h2, h3, h4, h5, h6')) lowerHeading(heading);
  const formulas = fragment.querySelectorAll('code.formula');
  for (const element of fragment.querySelectorAll('[class]:not(.table, .code, .code *)')) element.removeAttribute('class');
  for (const item of fragment.querySelectorAll('li')) if (beginsWithBox(item)) item.classList.add('task');
  for (const element of formulas) dressFormula(element);
  return fragment;
}

// later is what loads a module when it is first needed, and then calls use with it: at once, if it is there already.
function later(load) {
  let loaded = null;
  return (use) => {
    if (loaded) return use(loaded);
    load().then(
      (module) => use((loaded = module)),
      () => {}, // the text stays as it is
    );
  };
}
const withHighlighter = later(() => import('./highlight.js'));
const withFormulas = later(() => import('./formula.js'));

const longInline = 40; // letters of a formula's text

// dressFormula draws a formula in the place of its text. One that cannot be read stays a text.
function dressFormula(element) {
  withFormulas(({ formula }) => {
    try {
      const drawn = formula(element.textContent);
      const kind = drawn.getAttribute('display') === 'block' ? 'formula' : 'formula in-line';
      const wide = kind === 'formula' || element.textContent.length > longInline; // it may be wider than the page, and can be scrolled
      element.replaceWith(wide ? h('span', { class: kind, tabindex: '0', role: 'group', 'aria-label': 'Formula' }, drawn) : drawn);
    } catch {
      // its beginning, perhaps: more of it comes
    }
  });
}

function dressLink(link) {
  link.removeAttribute('class');
  const href = link.getAttribute('href');
  if (!href) {
    link.replaceWith(...link.childNodes);
    return;
  }
  link.rel = 'noopener noreferrer';
  link.target = '_blank';
}

function dressCode(block) {
  const language = /^language-([\w+#.-]{1,30})$/.exec(block.querySelector('code')?.className ?? '')?.[1] ?? '';
  const text = block.textContent.replace(/\n$/, ''); // a line's end that is pasted into a terminal would run the line
  const button = h('button', { type: 'button', class: 'copy-code', 'aria-label': 'Copy the code' }, icon('copy'), 'Copy');
  // Only text comes over into the block that is shown: the model's own elements stay behind.
  const lines = h('code', null, text);
  const code = h('pre', { tabindex: '0', role: 'group', 'aria-label': language ? `Code in ${language}` : 'Code' }, lines);
  if (language) withHighlighter(({ coloured }) => lines.replaceChildren(...coloured(language, text)));
  button.addEventListener('click', () => copyText(text, button));
  block.replaceWith(h('div', { class: 'code' }, h('div', { class: 'code-head' }, h('span', null, language || 'code'), button), code));
}

// The conversation's own headings are of the second level: a model's begin at the third.
function lowerHeading(heading) {
  const level = Math.min(6, Number(heading.tagName[1]) + 2);
  const lower = h(`h${level}`, { class: `as-${heading.tagName.toLowerCase()}` });
  lower.append(...heading.childNodes);
  heading.replaceWith(lower);
}

const longest = 400_000; // characters that are read as Markdown
const longestParagraph = 20_000; // emphasis in one paragraph takes time that grows with the square of its length
const slowest = 400; // milliseconds that one drawing may take

// How many elements a text may make, and how many there may be in the page: beyond it a text is shown as it is. A table of 14 KB can have six
// million cells, and 390 KB can have 130,000 paragraphs; either would hold the page up for minutes.
const mostBlocks = 2_000;
const mostElements = 20_000;
const mostInPage = 100_000;

// cellsOf is how many cells the tables of a text have at most: for each line that may be under a table's header, its columns times the lines
// until an empty one. It is asked before the text is read as Markdown, which makes something of each cell.
function cellsOf(text) {
  let cells = 0;
  let columns = 0;
  for (const line of text.split('\n')) {
    if (line.trim() === '') columns = 0;
    else if (line.includes('-') && /^[\s>*+\d.)|:-]*$/.test(line)) columns = Math.max(columns, line.split('|').length);
    cells += columns;
  }
  return cells;
}

// elementsOf is about how many elements tokens make; it stops counting beyond mostElements.
function elementsOf(tokens) {
  let count = 0;
  const left = [tokens];
  while (left.length > 0 && count <= mostElements) {
    for (const token of left.pop()) {
      count++;
      if (token.tokens) left.push(token.tokens);
      if (token.items) left.push(token.items);
      if (token.type === 'table') for (const row of [token.header, ...token.rows]) left.push(row);
    }
  }
  return count;
}

// paragraphOf is how many characters the longest paragraph has. Blocks of code are none.
function paragraphOf(text) {
  let length = 0;
  let most = 0;
  let fenced = false;
  for (const line of text.split('\n')) {
    if (/^\s*(?:```|~~~)/.test(line)) fenced = !fenced;
    length = fenced || line.trim() === '' ? 0 : length + line.length + 1;
    most = Math.max(most, length);
  }
  return most;
}

// Prose draws a text that grows. Of the blocks that it is made of, only those are made anew that changed, so that a selection or a
// focus in what stands already stays. A text on which Markdown takes too long, or fails, is shown as it is.
export class Prose {
  #blocks = []; // {raw, html, element}, in order
  #plain = false;

  constructor(element) {
    this.element = element;
  }

  // draw shows the text and returns how many milliseconds that took. whole says that no more will come: then blocks are compared by
  // what they look like, because the end of a text may say where a link in its beginning leads.
  draw(text, whole) {
    const start = performance.now();
    this.#plain ||= text.length > longest || paragraphOf(text) > longestParagraph || cellsOf(text) > mostElements;
    if (!this.#plain) {
      try {
        this.#drawBlocks(text, whole);
      } catch {
        this.#plain = true; // too deeply nested, for example, or too many elements
      }
    }
    const took = performance.now() - start;
    if (took > slowest && !whole) this.#plain = true;
    if (this.#plain) {
      this.#blocks = [];
      this.element.replaceChildren(h('p', { class: 'plain' }, text));
    }
    return took;
  }

  #drawBlocks(text, whole) {
    const tokens = marked.lexer(text);
    const drawn = tokens.filter((token) => token.type !== 'space' && token.type !== 'def');
    const elements = elementsOf(drawn);
    if (drawn.length > mostBlocks || elements > mostElements) throw new RangeError('the text has too many elements');
    if (whole && elements + document.getElementsByTagName('*').length > mostInPage) throw new RangeError('the page has too many elements');
    drawn.forEach((token, index) => {
      const block = this.#blocks[index];
      if (block?.raw === token.raw && !whole) return;
      const html = marked.parser(Object.assign([token], { links: tokens.links }));
      if (block?.html === html) {
        block.raw = token.raw;
        return;
      }
      const element = h('div', { class: 'block', dir: 'auto' }, clean(html));
      if (block) block.element.replaceWith(element);
      else this.element.append(element);
      this.#blocks[index] = { raw: token.raw, html, element };
    });
    for (const block of this.#blocks.splice(drawn.length)) block.element.remove();
  }
}
