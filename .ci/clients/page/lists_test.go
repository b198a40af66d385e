package page

import (
	"strings"
	"testing"
)

// TestTaskLists looks at entries with a box: it stands in the place of the bullet, in lists of any kind and depth, while other entries have theirs.
func TestTaskLists(t *testing.T) {
	f := start(t, func(r request, a *answer) {
		a.say(strings.ReplaceAll(r.last(), "|", "\n"))
		a.end("stop")
	})
	b := open(t, f.URL)
	for text, want := range map[string]string{
		"- [x] done|- [ ] to do":                  "☑ done none,☐ to do none",
		"- [X] **bold** and `code`|- plain":       "☑ bold and code none,plain disc",
		"* plain|  - [ ] nested|  - not":          "plain disc,☐ nested none,not disc",
		"- [ ] above|  - plain|  1. [x] numbered": "☐ above none,plain disc,☑ numbered none",
		"- [ ] with space||- [x] between||- not":  "☐ with space none,☑ between none,not disc",
		"1. [ ] first|2. second":                  "☐ first none,second decimal",
		"- [] no box|- [y] neither":               "[] no box disc,[y] neither disc",
	} {
		b.ask(text)
		got := js[string](b, `[...[...document.querySelectorAll('.prose')].at(-1).querySelectorAll('li')].map((li) => {
			const own = li.cloneNode(true);
			for (const inner of own.querySelectorAll('ul, ol')) inner.remove();
			return own.textContent.trim().replaceAll(/\s+/g, ' ') + ' ' + getComputedStyle(li).listStyleType;
		}).join()`)
		equal(t, text, got, want)
	}
}
