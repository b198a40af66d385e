// Code in colours.
//
// A language is a list of kinds, each with a regular expression; what none of them matches has no colour. For "if (x) // no" the list of
// JavaScript finds a keyword, a word without a colour, and a comment. A model may write anything: each expression is such that all of them
// together look at a letter a few times at most, so that time grows with the length of the code and no faster.

import { h } from './dom.js';

const words = (text) => new Set(text.trim().split(/\s+/));

// Strings and comments may lack their end, because the rest of them has not come yet.
const end = '(?![^])'; // of the code; $ is that of a line
const quoted = (quote) => `${quote}(?:[^${quote}\\\\\\n]|\\\\[^])*${quote}?`;
const both = `${quoted('"')}|${quoted("'")}`;
const number = '\\b(?:0[xX][\\da-fA-F_]+|0[bB][01_]+|\\d[\\d_]*(?:\\.\\d[\\d_]*)?(?:[eE][+-]?\\d+)?)\\w*';
const word = '[A-Za-z_$\\u0080-\\uffff][\\w$\\u0080-\\uffff]*';
const block = `\\/\\*[^]*?(?:\\*\\/|${end})`;
const line = '\\/\\/.*';
const triple = `"""[^]*?(?:"""|${end})`;

// marks makes a language of rules, which are [kind, expression]. What is of the kind '' has no colour; a 'word' may be one of keywords or of
// constants, in any case if fold says so.
function marks(rules, keywords = '', constants = '', fold = false) {
  return {
    kinds: rules.map(([kind]) => kind),
    expression: rules.map(([, source]) => `(${source})`).join('|'),
    keywords: words(keywords),
    constants: words(constants),
    fold,
  };
}

// language makes a language that has words and numbers, too.
function language(rules, keywords = '', constants = 'true false null nil None True False undefined NULL', fold = false) {
  return marks([...rules, ['number', number], ['word', word]], keywords, constants, fold);
}

const likeC = (keywords, strings = `${both}|\`(?:[^\`\\\\]|\\\\[^])*\`?`) =>
  language(
    [
      ['comment', `${line}|${block}`],
      ['string', strings],
      ['meta', '^[ \\t]*#[ \\t]*\\w+|@\\w+'],
    ],
    keywords,
  );
const likeShell = (keywords, strings = both, more = []) => language([...more, ['string', strings], ['comment', '#.*']], keywords);

const loops = 'if else for while do switch case default break continue return goto';
const classes = `class interface extends implements new this super public private protected static final abstract import package throw try catch finally
    void enum`;
const c = `${loops} auto char const double enum extern float inline int long register short signed sizeof static struct typedef union
  unsigned void volatile bool`;

const languages = {
  go: likeC(
    `${loops} chan const defer fallthrough func go import interface map package range select struct type var any bool byte error float32
      float64 int int8 int16 int32 int64 rune string uint uint8 uint16 uint32 uint64 uintptr`,
    `\`[^\`]*\`?|${both}`,
  ),
  javascript: likeC(
    `${loops} ${classes} async await const debugger delete export from function in instanceof let of typeof var with yield as type
      interface declare readonly namespace keyof number string boolean any unknown never`,
  ),
  java: likeC(
    `${loops} ${classes} boolean byte char double float int long short instanceof record sealed synchronized throws transient var volatile
      assert`,
    `${triple}|${both}`,
  ),
  kotlin: likeC(
    `${loops} ${classes} as by companion constructor data fun in init internal is object open operator out override sealed suspend
      typealias val var vararg when where`,
    `${triple}|${both}`,
  ),
  c: likeC(c, both),
  cpp: likeC(
    `${c} ${classes} constexpr consteval concept co_await co_return co_yield decltype delete explicit friend mutable namespace noexcept
      nullptr operator override requires template typename using virtual`,
    both,
  ),
  csharp: likeC(
    `${loops} ${classes} async await base bool byte char const decimal double event explicit float foreach get in init int internal is
      lock long namespace object out override params readonly record ref sealed set short string struct throw typeof uint ulong using var
      virtual when where yield`,
  ),
  rust: language(
    [
      ['comment', `${line}|${block}`],
      ['string', `b?${quoted('"')}|'(?:\\\\[^'\\n]+|[^'\\\\\\n])'`],
      ['meta', "#!?\\[[^\\]\\n]*\\]?|'\\w+"],
    ],
    `${loops} as async await box const crate dyn enum extern fn impl in let loop match mod move mut pub ref self Self static struct super
      trait type union unsafe use where bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize`,
    'true false None Some Ok Err',
  ),
  swift: likeC(
    `${loops} ${classes} actor as associatedtype async await defer deinit extension fileprivate func guard import in init inout internal
      is let mutating open operator override protocol repeat rethrows self Self some struct subscript throws typealias var weak where`,
    `${triple}|${both}`,
  ),
  php: language(
    [
      ['comment', `${line}|${block}|#(?!\\[).*`],
      ['string', both],
      ['meta', '<\\?(?:php|=)?|\\?>'],
    ],
    `${loops} ${classes} array as callable clone const declare echo elseif empty endforeach endif fn foreach function global include
      instanceof insteadof isset list match namespace or print readonly require require_once trait unset use var xor yield`,
  ),
  python: language(
    [
      ['comment', '#.*'],
      ['string', `[rbfuRBFU]{0,2}(?:${triple}|'''[^]*?(?:'''|${end})|${both})`],
      ['meta', '^[ \\t]*@[\\w.]+'],
    ],
    `and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match
      nonlocal not or pass raise return try while with yield`,
    'True False None self cls',
  ),
  ruby: likeShell(
    `alias and begin break case class def defined? do else elsif end ensure for if in module next not or redo rescue retry return self
      super then undef unless until when while yield require include attr_accessor attr_reader`,
    both,
    [['meta', ':\\w+|@{1,2}\\w+']],
  ),
  shell: likeShell(
    `if then elif else fi for in do done while until case esac function return exit local export readonly declare set unset shift source
      alias cd echo printf read test sudo trap`,
    `"(?:[^"\\\\]|\\\\[^])*"?|'[^']*'?`,
    [['meta', '\\$(?:\\w+|\\{[^}\\n]*\\}?|[@#?*!$-])']],
  ),
  yaml: likeShell('', both, [
    ['attribute', '^[ \\t]*(?:- +)*[\\w./][\\w./-]*(?=[ \\t]*:(?:\\s|$))'],
    ['meta', '^---$|[&*]\\w+|!\\S+'],
  ]),
  toml: likeShell('', `${triple}|${both}`, [
    ['attribute', '^[ \\t]*[\\w.-]+(?=[ \\t]*=)'],
    ['meta', '^[ \\t]*\\[.*\\]'],
  ]),
  ini: language([
    ['comment', '^[ \\t]*[;#].*'],
    ['meta', '^[ \\t]*\\[.*\\]'],
    ['attribute', '^[\\w.-][\\w. -]*(?==)'],
    ['string', both],
  ]),
  dockerfile: likeShell(
    'FROM RUN CMD LABEL EXPOSE ENV ADD COPY ENTRYPOINT VOLUME USER WORKDIR ARG ONBUILD STOPSIGNAL HEALTHCHECK SHELL AS',
    both,
    [['meta', '\\$(?:\\w+|\\{[^}\\n]*\\}?)']],
  ),
  makefile: likeShell('ifeq ifneq ifdef ifndef else endif include define endef export', both, [
    ['function', '^[\\w./%-]+(?=[ \\t]*:(?!=))'],
    ['meta', '\\$[({][^)}\\n]*[)}]?|\\$.'],
  ]),
  r: likeShell('if else repeat while function for next break in TRUE FALSE NULL NA Inf NaN library require'),
  perl: likeShell(
    `my our local sub if elsif else unless while until for foreach return use require package last next redo print die and or not eq ne lt
      gt`,
    both,
    [['meta', '[$@%]\\w+']],
  ),
  elixir: likeShell(
    'def defp defmodule do end if else case cond fn when use import alias require with for in and or not raise receive after',
    `${triple}|${both}`,
    [['meta', ':\\w+|@\\w+']],
  ),
  julia: likeShell(
    `function end if else elseif for while return struct mutable module using import export begin let do try catch finally const where
      macro quote in`,
    `${triple}|${quoted('"')}`,
    [['meta', '@\\w+']],
  ),
  lua: language(
    [
      ['comment', `--\\[\\[[^]*?(?:\\]\\]|${end})|--.*`],
      ['string', `\\[\\[[^]*?(?:\\]\\]|${end})|${both}`],
    ],
    'and break do else elseif end for function goto if in local not or repeat return then until while',
  ),
  haskell: language(
    [
      ['comment', `--.*|\\{-[^]*?(?:-\\}|${end})`],
      ['string', `${quoted('"')}|'(?:\\\\[^'\\n]+|[^'\\\\\\n])'`],
    ],
    `case class data default deriving do else forall foreign if import in infix infixl infixr instance let module newtype of then type
      where`,
  ),
  sql: language(
    [
      ['comment', `--.*|${block}`],
      ['string', `'(?:[^']|'')*'?|${quoted('"')}`],
    ],
    `add all alter and as asc begin between by cascade case check column commit constraint create cross database default delete desc
      distinct drop else end exists explain foreign from full grant group having if in index inner insert into is join key left like limit
      not offset on or order outer over partition primary references returning right rollback select set table then transaction union
      unique update using values view when where with int integer bigint text varchar boolean date timestamp numeric serial`,
    'true false null',
    true,
  ),
  json: language([
    ['comment', `${line}|${block}`],
    ['attribute', '"(?:[^"\\\\\\n]|\\\\.)*"(?=\\s*:)'],
    ['string', quoted('"')],
  ]),
  css: marks([
    ['comment', block],
    ['string', both],
    ['meta', '@[\\w-]+|--[\\w-]+'],
    ['number', '#[\\da-fA-F]{3,8}\\b|\\b\\d[\\d.]*(?:[a-z]+|%)?'],
    ['keyword', '[.#][\\w-]+|!important'],
    ['attribute', '[\\w-]+(?=[ \\t]*:\\s)'],
    ['', '[\\w-]+'],
  ]),
  html: marks([
    ['comment', `<!--[^]*?(?:-->|${end})|<![^>]*>?`],
    ['tag', '<\\/?[\\w:.-]+|\\/?>'],
    ['string', '"[^"<]*"?(?=[\\s/>]|$)'],
    ['attribute', '[\\w:@.-]+(?==["\'])'],
    ['', '[\\w:@.-]+'],
    ['constant', '&#?\\w+;'],
  ]),
  diff: marks([
    ['meta', '^(?:@@.*|diff .*|index .*|\\+\\+\\+.*|---.*)'],
    ['inserted', '^\\+.*'],
    ['deleted', '^-.*'],
  ]),
};

// Other names of languages, each followed by the name in the table above. Some are of languages that are much like another one.
const aliases = new Map(
  `golang go js javascript mjs javascript jsx javascript ts javascript tsx javascript typescript javascript kt kotlin h c c++ cpp cc cpp
    hpp cpp cxx cpp objc c c# csharp cs csharp rs rust scala kotlin dart java groovy java zig rust py python python3 python rb ruby sh
    shell bash shell zsh shell console shell fish shell powershell shell ps1 shell yml yaml docker dockerfile make makefile conf ini
    properties ini env shell pl perl ex elixir exs elixir jl julia hs haskell mysql sql postgresql sql postgres sql sqlite sql plsql sql
    json5 json jsonc json jsonl json scss css less css sass css xml html svg html vue html svelte html xhtml html patch diff proto java
    protobuf java hcl toml terraform toml`
    .trim()
    .split(/\s+/)
    .reduce((pairs, name, index, all) => (index % 2 ? pairs : [...pairs, [name, all[index + 1]]]), []),
);

const longest = 60_000; // characters: more would be too many elements

// coloured is code as texts and elements, which together hold just that code. A language that is not known has no colours.
export function coloured(name, code) {
  const folded = name.toLowerCase();
  const key = aliases.get(folded) ?? folded;
  if (!Object.hasOwn(languages, key) || code.length > longest) return [code];
  const known = languages[key];
  const parts = [];
  let plain = ''; // what has no colour since the last part
  let done = 0; // how much of the code is in parts or in plain
  for (const match of code.matchAll(new RegExp(known.expression, 'gm'))) {
    const text = match[0];
    const found = known.kinds[match.slice(1).findIndex((group) => group !== undefined)];
    const kind = found === 'word' ? kindOf(known, text, code, match.index + text.length) : found;
    plain += code.slice(done, match.index);
    done = match.index + text.length;
    if (!kind) {
      plain += text;
      continue;
    }
    if (plain) parts.push(plain);
    plain = '';
    parts.push(h('span', { class: `tok-${kind}` }, text));
  }
  plain += code.slice(done);
  if (plain) parts.push(plain);
  return parts;
}

// kindOf is what a word is that ends at a place of the code, or ''.
function kindOf(known, text, code, end) {
  const folded = known.fold ? text.toLowerCase() : text;
  if (known.keywords.has(folded)) return 'keyword';
  if (known.constants.has(folded)) return 'constant';
  return code[end] === '(' ? 'function' : '';
}
