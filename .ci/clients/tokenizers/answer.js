// Reads requests, one JSON object a line, and answers each with one line: what Hugging Face's tokenizers makes of some texts.
//
//   {"tokenizer": tokenizer.json, "texts": [...], "want": "normalized" | "pieces" | "ids"}
//
// The answer to "normalized" is a text for each text, to "pieces" a list of texts, to "ids" [ids, the text that they decode to, the place of each
//   in characters]. A mistake is
// {"error": "..."}.
"use strict";
const { Tokenizer } = require("tokenizers");

const answers = {
  normalized: (tokenizer, texts) => texts.map((text) => tokenizer.getNormalizer().normalizeString(text)),
  pieces: (tokenizer, texts) => texts.map((text) => tokenizer.getPreTokenizer().preTokenizeString(text).map(([piece]) => piece)),
  ids: async (tokenizer, texts) => {
    const encodings = await tokenizer.encodeBatch(texts, { addSpecialTokens: true });
    const all = encodings.map((encoding) => Array.from(encoding.getIds()));
    const decoded = await tokenizer.decodeBatch(all, true);
    return all.map((ids, i) => [ids, decoded[i], encodings[i].getOffsets()]);
  },
};

async function main() {
  for await (const line of require("node:readline").createInterface({ input: process.stdin })) {
    let answer;
    try {
      const { tokenizer, texts, want } = JSON.parse(line);
      answer = await answers[want](Tokenizer.fromString(JSON.stringify(tokenizer)), texts);
    } catch (error) {
      answer = { error: String(error) };
    }
    process.stdout.write(JSON.stringify(answer) + "\n");
  }
}

main();
