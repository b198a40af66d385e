// Runs MaskBench's procedure over xgrammar's build for npm, and prints what maskbench -compare reads. See README.md.
import Module, { createRequire } from 'node:module';
import { createReadStream, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { gunzipSync } from 'node:zlib';

console.log = console.error; // which is where xgrammar tells why it gives up
const print = (result) => process.stdout.write(JSON.stringify(result) + '\n');

// The package calls itself an ES module and is CommonJS.
const path = createRequire(import.meta.url).resolve('@mlc-ai/web-xgrammar');
const xgrammar = new Module(path);
xgrammar._compile(readFileSync(path, 'utf8'), path);
const { GrammarCompiler, GrammarMatcher, TokenizerInfo } = xgrammar.exports;

const [tokensPath, tokenizerPath, mode = 'compliant'] = process.argv.slice(2);
const strict = mode !== 'compliant'; // strict: one way of white space, and no properties that the schema does not name

let text = readFileSync(tokenizerPath);
if (tokenizerPath.endsWith('.gz')) text = gunzipSync(text);
const tokenizer = JSON.parse(text);
const vocabulary = [];
for (const [token, id] of Object.entries(tokenizer.model.vocab)) vocabulary[id] = token;
for (const { id, content } of tokenizer.added_tokens) vocabulary[id] = content;
const end = vocabulary.indexOf('<|eot_id|>');
const info = await TokenizerInfo.createTokenizerInfo(vocabulary, 'byte_level', false, vocabulary.length, [end]);
const compiler = await GrammarCompiler.createGrammarCompiler(info, false);
const us = (began) => Number(process.hrtime.bigint() - began) / 1e3;

for await (const line of createInterface({ input: createReadStream(tokensPath) })) {
  const { id, schema, tests } = JSON.parse(line);
  const result = { id, verdict: 'pass', compile_us: 0, mask_us: [], accepts: 0, refuses: 0 };
  let began = process.hrtime.bigint();
  let compiled;
  try {
    compiled = await compiler.compileJSONSchema(schema, !strict, -1, [', ', ': '], strict);
    result.compile_us = us(began);
  } catch (e) {
    Object.assign(result, { verdict: 'unsupported', keyword: '?', reason: String(e), compile_us: us(began) });
    print(result);
    continue;
  }
  for (const { valid, tokens } of tests) {
    const matcher = await GrammarMatcher.createGrammarMatcher(compiled);
    let accepted = true;
    for (const token of tokens) {
      began = process.hrtime.bigint();
      await matcher.getNextTokenBitmask();
      accepted = matcher.acceptToken(token);
      result.mask_us.push(us(began));
      if (!accepted) break;
    }
    accepted = accepted && matcher.acceptToken(end);
    if (accepted && !valid) result.accepts++;
    if (!accepted && valid) result.refuses++;
    matcher.dispose();
  }
  if (result.refuses) result.verdict = 'refuses';
  if (result.accepts) result.verdict = 'accepts';
  compiled.dispose();
  print(result);
}
