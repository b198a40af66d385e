package page

import (
	"encoding/json"
	"fmt"
	"testing"
)

func TestColours(t *testing.T) {
	f := start(t, says("```go\nfunc main() { // hi\n\tprintln(\"<b>\", 12)\n}\n```\n\n```\nno language\n```"))
	b := open(t, f.URL)
	b.ask("Write")
	b.until("document.querySelector('.tok-keyword')")
	for kind, want := range map[string]string{"keyword": "func", "function": "main,println", "comment": "// hi", "string": `"<b>"`, "number": "12"} {
		equal(t, kind, js[string](b, fmt.Sprintf("[...document.querySelectorAll('.tok-%s')].map((e) => e.textContent).join()", kind)), want)
	}
	equal(t, "the code", js[string](b, "document.querySelector('.prose pre').textContent"), "func main() { // hi\n\tprintln(\"<b>\", 12)\n}")
	equal(t, "colours without a language", js[int](b, "[...document.querySelectorAll('.prose pre')].at(-1).querySelectorAll('span').length"), 0)
	equal(t, "another colour", js[bool](b, "getComputedStyle(document.querySelector('.tok-keyword')).color !== getComputedStyle(document.querySelector('.prose pre')).color"), true)
}

// No language loses a letter, and colouring takes time proportional to the code, whatever the code is.
func TestColoursOfAnything(t *testing.T) {
	f := start(t, says("x"))
	b := open(t, f.URL)
	languages := []string{"go", "js", "java", "kotlin", "c", "cpp", "c#", "rust", "swift", "php", "python", "ruby", "bash", "yaml", "toml", "ini", "dockerfile", "makefile", "r",
		"perl", "elixir", "julia", "lua", "haskell", "sql", "json", "css", "html", "diff", "toString", "__proto__", "constructor", ""}
	quoted, err := json.Marshal(languages)
	if err != nil {
		t.Fatal(err)
	}
	wrong := js[string](b, fmt.Sprintf(`import('/page/js/highlight.js').then(({ coloured }) => {
		const pieces = ['"', "'", '\u0060', '/*', '*/', '//', 'a', '-', '_ ', ' ', '\n', '#', '\\', '\${', '<', '<a', '&a', '="', 'a:', '=', '[[', '{-', '--', '"""', '@', '1', '1e', '0x', '.', 'if', '(', '𝕏'];
		const textOf = (parts) => parts.map((part) => (typeof part === 'string' ? part : part.textContent)).join('');
		let seed = 1;
		const random = (n) => (seed = (seed * 48271) %% 2147483647) %% n;
		for (const language of %s) {
			for (let i = 0; i < 300; i++) {
				const code = Array.from({ length: 1 + random(40) }, () => pieces[random(pieces.length)]).join('');
				if (textOf(coloured(language, code)) !== code) return language + ' loses something of ' + code;
			}
			for (const piece of pieces) {
				const start = performance.now();
				coloured(language, piece.repeat(50000 / piece.length));
				if (performance.now() - start > 5000) return language + ' takes long for ' + piece;
			}
		}
		return '';
	})`, quoted))
	if wrong != "" {
		t.Error(wrong)
	}
}
