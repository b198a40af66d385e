// Formulas: the LaTeX that models write, as MathML, which browsers draw themselves.
//
// A formula is read in two steps. "\frac{a}{2}" is cut into the tokens \frac { a } { 2 }, and an atom is read from them: \frac takes two
// arguments, each an atom, and becomes <mfrac><mi>a</mi><mn>2</mn></mfrac>. A row is atoms up to what ends it, each with what is above and
// below it. A command that is not in these tables is shown as it is written. Elements are made one by one, never from text.

const namespace = 'http://www.w3.org/1998/Math/MathML';

function m(tag, attributes, ...children) {
  const element = document.createElementNS(namespace, tag);
  for (const [name, value] of Object.entries(attributes ?? {})) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// table makes a map of "name sign name sign …".
function table(text) {
  const entries = text.trim().split(/\s+/);
  return new Map(Array.from({ length: entries.length / 2 }, (_, i) => [entries[2 * i], entries[2 * i + 1]]));
}

const words = (text) => new Set(text.trim().split(/\s+/));

// Letters and what is set like them.
const letters =
  table(`alpha α beta β gamma γ delta δ epsilon ϵ varepsilon ε zeta ζ eta η theta θ vartheta ϑ iota ι kappa κ lambda λ mu μ nu ν xi ξ
    omicron ο pi π varpi ϖ rho ρ varrho ϱ sigma σ varsigma ς tau τ upsilon υ phi ϕ varphi φ chi χ psi ψ omega ω Gamma Γ Delta Δ Theta Θ
    Lambda Λ Xi Ξ Pi Π Sigma Σ Upsilon Υ Phi Φ Psi Ψ Omega Ω ell ℓ hbar ℏ imath ı jmath ȷ Re ℜ Im ℑ wp ℘ aleph ℵ beth ℶ infty ∞ emptyset ∅
    varnothing ∅ nabla ∇ partial ∂ forall ∀ exists ∃ nexists ∄ top ⊤ bot ⊥ angle ∠ triangle △ square □ blacksquare ■ degree ° prime ′ dots
    … ldots … cdots ⋯ vdots ⋮ ddots ⋱ dotsc … dotsb ⋯ S § P ¶ pounds £ euro € checkmark ✓ clubsuit ♣ diamondsuit ♢ heartsuit ♡ spadesuit ♠
    flat ♭ sharp ♯ natural ♮ complement ∁ mho ℧ eth ð Box □ Diamond ◇ $ $ % % # # & & _ _`);

// Signs between things.
const signs =
  table(`pm ± mp ∓ times × div ÷ cdot ⋅ ast ∗ star ⋆ circ ∘ bullet • oplus ⊕ ominus ⊖ otimes ⊗ oslash ⊘ odot ⊙ dagger † ddagger ‡ amalg ⨿
    cap ∩ cup ∪ uplus ⊎ sqcap ⊓ sqcup ⊔ vee ∨ lor ∨ wedge ∧ land ∧ setminus ∖ smallsetminus ∖ wr ≀ bmod mod leq ≤ le ≤ leqslant ⩽ geq ≥ ge
    ≥ geqslant ⩾ neq ≠ ne ≠ ll ≪ gg ≫ equiv ≡ sim ∼ simeq ≃ approx ≈ cong ≅ propto ∝ asymp ≍ doteq ≐ triangleq ≜ coloneqq ≔ prec ≺ succ ≻
    preceq ⪯ succeq ⪰ subset ⊂ supset ⊃ subseteq ⊆ supseteq ⊇ subsetneq ⊊ supsetneq ⊋ nsubseteq ⊈ sqsubseteq ⊑ sqsupseteq ⊒ in ∈ notin ∉
    ni ∋ vdash ⊢ dashv ⊣ models ⊨ vDash ⊨ perp ⟂ parallel ∥ nparallel ∦ mid ∣ nmid ∤ bowtie ⋈ smile ⌣ frown ⌢ neg ¬ lnot ¬ to → rightarrow
    → leftarrow ← gets ← leftrightarrow ↔ Rightarrow ⇒ Leftarrow ⇐ Leftrightarrow ⇔ implies ⟹ impliedby ⟸ iff ⟺ mapsto ↦ longrightarrow ⟶
    longleftarrow ⟵ longleftrightarrow ⟷ Longrightarrow ⟹ Longleftarrow ⟸ longmapsto ⟼ hookrightarrow ↪ hookleftarrow ↩ uparrow ↑
    downarrow ↓ updownarrow ↕ Uparrow ⇑ Downarrow ⇓ nearrow ↗ searrow ↘ swarrow ↙ nwarrow ↖ rightleftharpoons ⇌ leftrightharpoons ⇋
    rightharpoonup ⇀ leftharpoonup ↼ rightsquigarrow ⇝ leadsto ⇝ twoheadrightarrow ↠ therefore ∴ because ∵ colon : lt < gt > surd √
    backslash \\ ltimes ⋉ rtimes ⋊ boxplus ⊞ boxtimes ⊠ vartriangleleft ⊲ trianglelefteq ⊴ lesssim ≲ gtrsim ≳ nleq ≰ ngeq ≱ nless ≮ ngtr ≯`);

// Signs that take limits above and below, and those that take them at the side.
const large = table('sum ∑ prod ∏ coprod ∐ bigcup ⋃ bigcap ⋂ bigvee ⋁ bigwedge ⋀ bigoplus ⨁ bigotimes ⨂ bigodot ⨀ biguplus ⨄ bigsqcup ⨆');
const integrals = table('int ∫ iint ∬ iiint ∭ oint ∮ oiint ∯');
const limits = words('lim max min sup inf limsup liminf argmax argmin det gcd Pr injlim projlim');
const functions = words(
  `sin cos tan cot sec csc arcsin arccos arctan arccot sinh cosh tanh coth exp log ln lg arg deg dim hom ker sgn tr rank span diag erf mod`,
);

const brackets = table(
  `{ { } } lbrace { rbrace } lbrack [ rbrack ] langle ⟨ rangle ⟩ lfloor ⌊ rfloor ⌋ lceil ⌈ rceil ⌉ lvert | rvert | vert | lVert ‖ rVert ‖
    Vert ‖ | ‖ lgroup ⟮ rgroup ⟯ ulcorner ⌜ urcorner ⌝`,
);
const plainBrackets = new Set('()[]|/'.split(''));
const accents = table(
  'hat ^ widehat ^ check ˇ tilde ~ widetilde ~ acute ´ grave ` dot ˙ ddot ¨ dddot ⃛ breve ˘ bar ¯ vec → mathring ˚ ' +
    'overline ‾ overrightarrow → overleftarrow ← overleftrightarrow ↔ overbrace ⏞ overparen ⏜',
);
const below = table('underline _ underbrace ⏟ underrightarrow → underleftarrow ← underparen ⏝');
const wide =
  words(`widehat widetilde overline overrightarrow overleftarrow overleftrightarrow overbrace overparen underline underbrace underrightarrow
    underleftarrow underparen`);
const spaces = new Map([
  [',', 0.167],
  [':', 0.222],
  [';', 0.278],
  ['>', 0.222],
  ['!', -0.167],
  [' ', 0.25],
  ['~', 0.25],
  ['quad', 1],
  ['qquad', 2],
  ['enspace', 0.5],
  ['thinspace', 0.167],
  ['medspace', 0.222],
  ['thickspace', 0.278],
  ['negthinspace', -0.167],
]);
const texts = words('text textrm textnormal textup textsf texttt textbf textit mbox hbox mathrm mathup mathsf mathtt operatorname');
const alphabets = {
  mathbf: 'bold',
  boldsymbol: 'bold',
  bm: 'bold',
  pmb: 'bold',
  mathbb: 'double',
  mathcal: 'script',
  mathscr: 'script',
  mathfrak: 'fraktur',
  mathit: 'italic',
  mathnormal: 'italic',
};
const styles = { displaystyle: 'true', textstyle: 'false', scriptstyle: 'false', scriptscriptstyle: 'false' };
const environments = {
  matrix: ['', ''],
  smallmatrix: ['', ''],
  pmatrix: ['(', ')'],
  bmatrix: ['[', ']'],
  Bmatrix: ['{', '}'],
  vmatrix: ['|', '|'],
  Vmatrix: ['‖', '‖'],
  array: ['', ''],
  cases: ['{', ''],
  rcases: ['', '}'],
  aligned: ['', ''],
  align: ['', ''],
  alignat: ['', ''],
  split: ['', ''],
  gathered: ['', ''],
  gather: ['', ''],
  equation: ['', ''],
  eqnarray: ['', ''],
  multline: ['', ''],
  substack: ['', ''],
};
const aligned = new Set(['aligned', 'align', 'alignat', 'split', 'eqnarray']);

// Where the letters of an alphabet begin: capitals, small letters, digits. Some have stood elsewhere for longer.
const starts = {
  bold: [0x1d400, 0x1d41a, 0x1d7ce],
  double: [0x1d538, 0x1d552, 0x1d7d8],
  script: [0x1d49c, 0x1d4b6],
  fraktur: [0x1d504, 0x1d51e],
};
const elsewhere = {
  double: table('C ℂ H ℍ N ℕ P ℙ Q ℚ R ℝ Z ℤ'),
  script: table('B ℬ E ℰ F ℱ H ℋ I ℐ L ℒ M ℳ R ℛ e ℯ g ℊ o ℴ'),
  fraktur: table('C ℭ H ℌ I ℑ R ℜ Z ℨ'),
};

function inAlphabet(name, text) {
  return Array.from(text, (sign) => {
    const kind = /[A-Z]/.test(sign) ? 0 : /[a-z]/.test(sign) ? 1 : /\d/.test(sign) ? 2 : 3;
    const start = starts[name]?.[kind];
    if (start === undefined) return sign;
    return elsewhere[name]?.get(sign) ?? String.fromCodePoint(start + sign.codePointAt(0) - ['A', 'a', '0'][kind].codePointAt(0));
  }).join('');
}

const most = 3000; // tokens of a formula
const deepest = 50; // levels of it

class Reader {
  #tokens;
  #at = 0;
  #depth = 0;

  constructor(source) {
    this.#tokens = source.match(/\\(?:[A-Za-z]+\*?|[^])|%.*(?:\n|$)|\d+(?:[.,]\d+)*|\s+|[^]/gu)?.filter((token) => token[0] !== '%') ?? [];
    if (this.#tokens.length > most) throw new Error('the formula is too long');
  }

  // whole reads all tokens. Several lines need no environment around them.
  whole() {
    const grid = this.grid(() => false);
    if (this.#peek() !== undefined) throw new Error(`${this.#peek()} has no beginning`);
    if (grid.length === 1 && grid[0].length === 1) return grid[0][0];
    return [m('mtable', { displaystyle: 'true' }, ...grid.map((line) => m('mtr', null, ...line.map((cell) => m('mtd', null, ...cell)))))];
  }

  #peek() {
    while (/^\s/.test(this.#tokens[this.#at] ?? '')) this.#at++;
    return this.#tokens[this.#at];
  }

  #take(want) {
    const token = this.#peek();
    if (token === undefined || (want && token !== want)) throw new Error(`the formula lacks ${want ?? 'something at its end'}`);
    this.#at++;
    return token;
  }

  #takes(token) {
    if (this.#peek() !== token) return false;
    this.#at++;
    return true;
  }

  // row reads atoms up to a token of which ends says so, which it leaves.
  #row(ends) {
    if (++this.#depth > deepest) throw new Error('the formula is nested too deeply');
    const row = [];
    for (let token = this.#peek(); token !== undefined && !ends(token); token = this.#peek()) {
      if (token === '}' || token === '&' || token === '\\\\' || token === '\\right' || token === '\\end') break;
      if (styles[token.slice(1)] && token[0] === '\\') {
        this.#at++;
        row.push(m('mstyle', { displaystyle: styles[token.slice(1)] }, ...this.#row(ends)));
      } else {
        row.push(this.#scripted());
      }
    }
    this.#depth--;
    return row;
  }

  // scripted reads an atom and what is above and below it.
  #scripted() {
    const { element, over } = /^[\^_']/.test(this.#peek()) ? { element: m('mrow') } : this.#atom();
    let sup = null;
    let sub = null;
    let limitsOver = over;
    for (;;) {
      if (this.#takes('\\limits')) limitsOver = true;
      else if (this.#takes('\\nolimits')) limitsOver = false;
      else if (this.#peek() === "'") {
        let primes = '';
        while (this.#takes("'")) primes += '′';
        sup = together([sup, m('mo', null, primes)].filter(Boolean));
      } else if (!sub && this.#takes('_')) sub = this.#argument();
      else if (this.#peek() === '^' && (!sup || sup.tagName === 'mo')) {
        this.#at++;
        sup = together([sup, this.#argument()].filter(Boolean));
      } else break;
    }
    if (!sup && !sub) return element;
    const tag = limitsOver ? (sub && sup ? 'munderover' : sub ? 'munder' : 'mover') : sub && sup ? 'msubsup' : sub ? 'msub' : 'msup';
    return m(tag, null, ...[element, sub, sup].filter(Boolean));
  }

  // argument reads what a command takes: a group, a single atom, or a single digit of a number.
  #argument() {
    const token = this.#peek();
    if (/^\d\d/.test(token ?? '')) {
      this.#tokens[this.#at] = token.slice(1);
      return m('mn', null, token[0]);
    }
    return this.#nested(() => this.#atom().element);
  }

  #nested(read) {
    if (++this.#depth > deepest) throw new Error('the formula is nested too deeply');
    const got = read();
    this.#depth--;
    return got;
  }

  // atom reads one thing: {element, over?}. over says that limits stand above and below it.
  #atom() {
    const token = this.#take();
    if (token === '{') {
      const row = this.#row((next) => next === '}');
      this.#take('}');
      return { element: together(row) };
    }
    if (token === '^' || token === '_' || token === '}') throw new Error(`${token} stands alone`);
    if (token[0] === '\\' && token.length > 1) return this.#command(token.slice(1).replace(/(?<=[a-z])\*$/, ''));
    if (/^\d/.test(token)) return { element: m('mn', null, token) };
    if (/^\p{L}$/u.test(token)) return { element: m('mi', null, token) };
    if (token === '~') return { element: m('mspace', { width: '0.25em' }) };
    if (plainBrackets.has(token)) return { element: m('mo', { stretchy: 'false' }, token) };
    return { element: m('mo', null, { '-': '−', '*': '∗' }[token] ?? token) };
  }

  #command(name) {
    if (letters.has(name)) {
      const sign = letters.get(name);
      return { element: m('mi', /^[Α-Ω∞∅∇]$/.test(sign) ? { mathvariant: 'normal' } : null, sign) };
    }
    if (signs.has(name)) return { element: m('mo', null, signs.get(name)) };
    if (large.has(name)) return { element: m('mo', { movablelimits: 'true' }, large.get(name)), over: true };
    if (integrals.has(name)) return { element: m('mo', null, integrals.get(name)) };
    if (limits.has(name))
      return {
        element: m('mo', { movablelimits: 'true', lspace: '0', rspace: '0.167em' }, name.replace(/^(lim|arg)(?=...)/, '$1 ')),
        over: true,
      };
    if (functions.has(name)) return { element: m('mo', { lspace: '0.05em', rspace: '0.167em' }, name) };
    if (brackets.has(name)) return { element: m('mo', { stretchy: 'false' }, brackets.get(name)) };
    if (spaces.has(name)) return { element: m('mspace', { width: `${spaces.get(name)}em` }) };
    if (accents.has(name)) return this.#accented('mover', name, accents.get(name));
    if (below.has(name)) return this.#accented('munder', name, below.get(name));
    if (texts.has(name)) return this.#text(name);
    if (Object.hasOwn(alphabets, name)) return { element: changed(this.#argument(), alphabets[name]) };
    if (/^(?:[bB]igg?|[bB]igg?[lrm])$/.test(name)) return { element: m('mo', { stretchy: 'false' }, this.#bracket()) };
    if (Object.hasOwn(commands, name)) return commands[name](this);
    return { element: m('mtext', null, `\\${name}`) };
  }

  #accented(tag, name, sign) {
    const base = this.#argument();
    const accent = m(
      tag,
      tag === 'mover' ? { accent: 'true' } : { accentunder: 'true' },
      base,
      m('mo', { stretchy: String(wide.has(name)) }, sign),
    );
    return { element: accent, over: /brace|paren/.test(name) };
  }

  // text reads letters that stand upright, as words do.
  #text(name) {
    this.#takes('*');
    if (!this.#takes('{')) return { element: m('mi', { mathvariant: 'normal' }, this.#take()) };
    let text = '';
    let open = 1;
    for (; this.#at < this.#tokens.length; this.#at++) {
      const token = this.#tokens[this.#at];
      open += token === '{' ? 1 : token === '}' ? -1 : 0;
      if (open === 0) break;
      if (token === '{' || token === '}' || (token === '$' && name.startsWith('text'))) continue;
      text +=
        token === '~' || token === '\\ ' || token === '\\,'
          ? '\u00a0'
          : letters.get(token.slice(1)) && token[0] === '\\'
            ? letters.get(token.slice(1))
            : token;
    }
    this.#take('}');
    if (name === 'textbf') text = inAlphabet('bold', text);
    const operator = name === 'operatorname' || name === 'mathrm';
    if (operator)
      return {
        element: m(
          name === 'mathrm' ? 'mi' : 'mo',
          name === 'mathrm' ? { mathvariant: 'normal' } : { lspace: '0.05em', rspace: '0.167em' },
          text,
        ),
      };
    return { element: m('mtext', null, text.replace(/^\s+|\s+$/g, '\u00a0')) };
  }

  // bracket reads what \left, \right and \big take: '' for a dot.
  #bracket() {
    const token = this.#take();
    if (token === '.') return '';
    if (token === '<') return '⟨';
    if (token === '>') return '⟩';
    const name = token[0] === '\\' && token.length > 1 ? token.slice(1) : '';
    return name ? (brackets.get(name) ?? signs.get(name) ?? name) : token;
  }

  // fenced reads what stands between \left and \right.
  fenced() {
    const fence = (sign) => (sign ? [m('mo', { fence: 'true', stretchy: 'true' }, sign)] : []);
    const row = fence(this.#bracket());
    for (;;) {
      row.push(...this.#row((token) => token === '\\middle'));
      if (!this.#takes('\\middle')) break;
      row.push(...fence(this.#bracket()));
    }
    this.#take('\\right');
    row.push(...fence(this.#bracket()));
    return { element: m('mrow', null, ...row) };
  }

  // option reads [ … ], or nothing.
  option() {
    if (!this.#takes('[')) return null;
    const row = this.#row((token) => token === ']');
    this.#take(']');
    return together(row);
  }

  argument() {
    return this.#argument();
  }

  // word reads { … } as letters.
  word() {
    this.#take('{');
    let word = '';
    while (this.#peek() !== '}') word += this.#take();
    this.#take('}');
    return word;
  }

  skipWord() {
    if (this.#peek() === '{') this.word();
  }

  // environment reads what stands between \begin and \end.
  environment() {
    const name = this.word().replace(/\*$/, '');
    if (!Object.hasOwn(environments, name)) throw new Error(`the environment ${name} is not known`);
    const columns = name === 'array' || name === 'alignat' ? this.word() : '';
    const grid = this.grid((token) => token === '\\end');
    this.#take('\\end');
    if (this.word().replace(/\*$/, '') !== name) throw new Error(`${name} ends as something else`);
    const sides = (index) =>
      aligned.has(name)
        ? index % 2
          ? 'left'
          : 'right'
        : name.endsWith('cases')
          ? 'left'
          : ({ l: 'left', r: 'right' }[columns.replace(/[^lcr]/g, '')[index]] ?? '');
    const cells = grid.map((line) =>
      m('mtr', null, ...line.map((cell, index) => m('mtd', sides(index) ? { class: `side-${sides(index)}` } : null, ...cell))),
    );
    const [open, close] = environments[name];
    const fence = (sign) => (sign ? [m('mo', { fence: 'true', stretchy: 'true' }, sign)] : []);
    const display = aligned.has(name) || name.startsWith('gather') ? { displaystyle: 'true' } : null;
    return { element: m('mrow', null, ...fence(open), m('mtable', display, ...cells), ...fence(close)) };
  }

  // grid reads rows of cells.
  grid(ends) {
    const lines = [[]];
    for (;;) {
      lines.at(-1).push(this.#row(ends));
      if (this.#takes('&')) continue;
      if (!this.#takes('\\\\')) break;
      while (this.#takes('\\hline')) continue;
      if (ends(this.#peek() ?? '')) break;
      lines.push([]);
    }
    return lines;
  }

  substack() {
    this.#take('{');
    const lines = this.grid((token) => token === '}');
    this.#take('}');
    return { element: m('mtable', null, ...lines.map((line) => m('mtr', null, m('mtd', null, ...line.flat())))) };
  }
}

// commands are those that take arguments in a way of their own.
const fraction = (display, attributes) => (r) => {
  const element = m('mfrac', attributes, r.argument(), r.argument());
  return { element: display === null ? element : m('mstyle', { displaystyle: display }, element) };
};
const stacked = (tag) => (r) => {
  const first = r.argument();
  return { element: m(tag, null, r.argument(), first) };
};
const binomial = (r) => ({
  element: m(
    'mrow',
    null,
    m('mo', { fence: 'true' }, '('),
    m('mfrac', { linethickness: '0' }, r.argument(), r.argument()),
    m('mo', { fence: 'true' }, ')'),
  ),
});
const arrow = (sign) => (r) => {
  const under = r.option();
  const over = r.argument();
  return { element: m(under ? 'munderover' : 'mover', null, ...[m('mo', { stretchy: 'true' }, sign), under, over].filter(Boolean)) };
};
const nothing = () => ({ element: m('mrow') });
const ignored = (r) => {
  r.skipWord();
  return nothing();
};
const commands = {
  frac: fraction(null),
  cfrac: fraction('true'),
  dfrac: fraction('true'),
  tfrac: fraction('false'),
  binom: binomial,
  dbinom: binomial,
  tbinom: binomial,
  sqrt: (r) => {
    const index = r.option();
    return { element: index ? m('mroot', null, r.argument(), index) : m('msqrt', null, r.argument()) };
  },
  left: (r) => r.fenced(),
  begin: (r) => r.environment(),
  substack: (r) => r.substack(),
  overset: stacked('mover'),
  stackrel: stacked('mover'),
  underset: stacked('munder'),
  xrightarrow: arrow('→'),
  xleftarrow: arrow('←'),
  boxed: (r) => ({ element: m('mrow', { class: 'boxed' }, r.argument()) }),
  phantom: (r) => ({ element: m('mphantom', null, r.argument()) }),
  not: (r) => {
    const element = r.argument();
    element.append('\u0338');
    return { element };
  },
  pmod: (r) => ({
    element: m(
      'mrow',
      null,
      m('mspace', { width: '0.5em' }),
      m('mo', { stretchy: 'false' }, '('),
      m('mi', null, 'mod'),
      m('mspace', { width: '0.25em' }),
      r.argument(),
      m('mo', { stretchy: 'false' }, ')'),
    ),
  }),
  mathop: (r) => ({ element: r.argument(), over: true }),
  mathbin: (r) => ({ element: r.argument() }),
  mathrel: (r) => ({ element: r.argument() }),
  mathord: (r) => ({ element: r.argument() }),
  tag: (r) => ({ element: m('mtext', null, `\u2003(${r.word()})`) }),
  color: ignored,
  label: ignored,
  hspace: ignored,
  vspace: ignored,
  textcolor: (r) => {
    r.skipWord();
    return { element: r.argument() };
  },
  nonumber: nothing,
  notag: nothing,
  hline: nothing,
  hfill: nothing,
  limits: nothing,
  nolimits: nothing,
  displaylimits: nothing,
};

// together is elements as one.
function together(elements) {
  return elements.length === 1 ? elements[0] : m('mrow', null, ...elements);
}

// changed is an element whose letters are those of another alphabet.
function changed(element, alphabet) {
  for (const leaf of element.matches('mi, mn') ? [element] : element.querySelectorAll('mi, mn')) {
    const text = inAlphabet(alphabet, leaf.textContent);
    leaf.textContent = text;
    if (leaf.localName === 'mi' && alphabet === 'bold' && text.length > 0) leaf.setAttribute('mathvariant', 'normal');
  }
  return element;
}

const delimiters = [
  ['$$', '$$', true],
  ['\\[', '\\]', true],
  ['$', '$', false],
  ['\\(', '\\)', false],
];

// formula is the element that draws a text in delimiters, such as "$x^2$". It throws an Error where the text is no formula that it can read.
export function formula(text) {
  const [open, close, display] = delimiters.find(([begin]) => text.startsWith(begin));
  const source = text.slice(open.length, -close.length).trim();
  const row = new Reader(source).whole();
  return m('math', { display: display ? 'block' : 'inline', alttext: source }, ...row);
}
