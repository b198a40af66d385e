package page

import (
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
)

// written is Markdown as models write it, with everything that the page has a form for.
const written = "# One\n\n## Two\n\nA line\nand another, **bold**, *slanted*, ~~gone~~, `code`, H<sub>2</sub>O, [a link](https://example.org/a?b=c&d).\n\n" +
	"3. three\n4. four\n   - nested\n\n- [x] done\n- [ ] to do\n\n| l | r |\n|---|--:|\n| a | 1 |\n\n> quoted\n\n---\n\n" +
	"```go\nfunc main() {\n\tfmt.Println(\"<b>&amp;\")\n}\n```\n\nFish &amp; chips < 3 & more. Mail: someone@example.org.\n\n```\nnever closed"

func TestMarkdown(t *testing.T) {
	f := start(t, func(_ request, a *answer) {
		for _, letter := range written {
			a.say(string(letter))
		}
		a.end("stop")
	})
	b := open(t, f.URL)
	b.ask("Write")
	for _, c := range []struct{ what, expression, want string }{
		{"headings", `[...document.querySelectorAll('.prose :is(h1, h2, h3, h4)')].map((h) => h.tagName + h.innerText).join()`, "H3One,H4Two"},
		{"line break", `String(Boolean(document.querySelector('.prose p br')))`, "true"},
		{"link", `document.querySelector('.prose a').href`, "https://example.org/a?b=c&d"},
		{"mail", `[...document.querySelectorAll('.prose a')].at(-1).href`, "mailto:someone@example.org"},
		{"first number", `document.querySelector('.prose ol').getAttribute('start')`, "3"},
		{"nested", `document.querySelector('.prose ol ul li').innerText`, "nested"},
		{"tasks", `[...document.querySelectorAll('.prose .block > ul > li')].map((li) => li.innerText.trim()).join()`, "☑ done,☐ to do"},
		{"alignment", `getComputedStyle(document.querySelector('.prose td:last-child')).textAlign`, "right"},
		{"quotation", `document.querySelector('.prose blockquote').innerText.trim()`, "quoted"},
		{"language", `document.querySelector('.code-head span').innerText`, "go"},
		{"code", `document.querySelector('.prose pre').innerText.trim()`, "func main() {\n\tfmt.Println(\"<b>&amp;\")\n}"},
		{"code that never ends", `[...document.querySelectorAll('.prose pre')].at(-1).innerText.trim()`, "never closed"},
		{"signs", `[...document.querySelectorAll('.prose p')].at(-1).innerText`, "Fish & chips < 3 & more. Mail: someone@example.org."},
		{"index", `document.querySelector('.prose sub').innerText`, "2"},
	} {
		equal(t, c.what, js[string](b, c.expression), c.want)
	}
	for _, name := range []string{"clipboard-read", "clipboard-write"} {
		if _, err := chromedp.CallBrowser(b.ctx, browser.SetPermission, browser.SetPermissionParams{
			Permission: &browser.PermissionDescriptor{Name: name}, Setting: browser.PermissionSettingGranted,
			BrowserContextID: chromedp.FromContext(b.ctx).BrowserContextID}); err != nil {
			t.Fatal(err)
		}
	}
	b.click(".copy-code")
	b.until("document.querySelector('#announcer').textContent === 'Copied'")
	equal(t, "clipboard", js[string](b, "navigator.clipboard.readText()"), "func main() {\n\tfmt.Println(\"<b>&amp;\")\n}")
	b.button("Copy the answer")
	b.wait("the answer on the clipboard", func() bool { return js[string](b, "navigator.clipboard.readText()") == written })
}

// What stands already is not made anew with every token: a selection in it, or a focus, would be lost.
func TestFinishedBlocksStay(t *testing.T) {
	more := make(chan struct{})
	f := start(t, func(_ request, a *answer) {
		a.say("First paragraph.\n\n```\ncode\n```\n\nSecond ")
		a.waitFor(more)
		a.say("paragraph.\n\nThird paragraph with [a link][1].\n\n[1]: https://example.org")
		a.end("stop")
	})
	b := open(t, f.URL)
	b.begin("Write")
	b.until("document.querySelectorAll('.prose .block').length === 3")
	js[chromedp.Void](b, "window.first = document.querySelector('.prose p'); document.querySelector('.prose pre').focus()")
	equal(t, "what a screen reader was told so far", b.text("#announcer"), "")
	close(more)
	b.answered()
	equal(t, "the first paragraph is the same element", js[bool](b, "window.first === document.querySelector('.prose p')"), true)
	equal(t, "focus", js[string](b, "document.activeElement.tagName"), "PRE")
	equal(t, "link", js[string](b, "document.querySelector('.prose a').href"), "https://example.org/")
}
