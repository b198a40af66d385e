// Writes where the tokens of texts lie in them: node places.js FOLDER NAME… reads FOLDER/NAME/tokenizer.json. Made llama/testdata/places.json.
"use strict";
const fs = require("fs");
const path = require("path");
const { Tokenizer } = require("tokenizers");

const texts = [
  "Ada Lovelace met Charles Babbage.",
  "emoji 😀👩‍👩‍👧 and 🇫🇷 flags",
  "cafe\u0301 na\u00efve Zu\u0308rich Å\u0301ngstro\u0308m",
  "東京は日本の首都です。中文 and English",
  "한국어 텍스트 각",
  "  two  spaces\tand\r\nlines  ",
  "ﬁne ½ ² Ⅷ ﷺ",
  "İstanbul IĞDIR ß ǅ",
  "कि नमस्ते ก็ שָׁלוֹם عَرَبِيّ",
  "don't stop-me, $5.00!",
  "\u200bzero\u00adwidth\u200d joiner\ufeff",
  "a",
  "",
  "Größe und Länge: Ärger über Öl",
  "\u0301 alone, x\u0327\u0301 two"
,
];

async function main() {
  const [folder, ...names] = process.argv.slice(2);
  const places = {};
  for (const name of names) {
    const tokenizer = Tokenizer.fromString(fs.readFileSync(path.join(folder, name, "tokenizer.json"), "utf8"));
    places[name] = [];
    for (const text of texts) {
      const at = [0]; // the bytes before each character
      for (const character of text) at.push(at[at.length - 1] + Buffer.byteLength(character));
      const encoding = await tokenizer.encode(text, null, { addSpecialTokens: false });
      places[name].push(encoding.getOffsets().map(([start, end]) => [at[start], at[end]]));
    }
  }
  console.log(JSON.stringify({ texts, places }));
}

main();
