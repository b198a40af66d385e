// node check.mjs FILE: has ajv judge answers. Each line of the file is {"schema": …, "answer": "the text"}.
import fs from 'node:fs';
import Ajv from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

// 501775.22 is no multiple of 0.01 as float64s divide: ajv rounds if it is told to.
const ajv = new Ajv.default({ strict: false, multipleOfPrecision: 5 });
formats.default(ajv);
const judges = new Map();
let wrong = 0, answers = 0;
for (const line of fs.readFileSync(process.argv[2], 'utf8').trim().split('\n')) {
  const { schema, answer } = JSON.parse(line), key = JSON.stringify(schema);
  if (!judges.has(key)) judges.set(key, ajv.compile(schema));
  answers++;
  const judge = judges.get(key);
  if (judge(JSON.parse(answer))) continue;
  wrong++;
  console.log(answer, ajv.errorsText(judge.errors));
}
console.log(`${answers} answers, ${wrong} wrong by ajv`);
process.exit(wrong || !answers ? 1 : 0);
