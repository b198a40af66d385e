package page

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// hostile is what a model may write to reach out of its answer. Each would set the property hacked of the window, ask some server for
// something, or change the page around it.
var hostile = []string{
	`<img src=x onerror="window.hacked=1">`,
	`<img src="http://127.0.0.1:9/pixel.png">`,
	`![a picture](http://127.0.0.1:9/pixel.png)`,
	`![a picture][p]` + "\n\n[p]: http://127.0.0.1:9/pixel.png",
	`<script>window.hacked=1</script>`,
	`<script src="http://127.0.0.1:9/a.js"></script>`,
	`[click](javascript:window.hacked=1)`,
	`[click](JaVaScRiPt:window.hacked=1)`,
	"[click](java\tscript:window.hacked=1)",
	`[click](&#106;avascript:window.hacked=1)`,
	`[click](data:text/html,<script>window.hacked=1</script>)`,
	`[click](vbscript:hacked)`,
	`[click](blob:http://127.0.0.1/x)`,
	`[click](file:///etc/passwd)`,
	`<javascript:window.hacked=1>`,
	`<a href="javascript:window.hacked=1" id="prompt" name="app">click</a>`,
	`<iframe src="http://127.0.0.1:9/"></iframe>`,
	`<iframe srcdoc="<script>parent.hacked=1</script>"></iframe>`,
	`<form action="http://127.0.0.1:9/"><input name=a autofocus onfocus="window.hacked=1"><button>go</button></form>`,
	`<svg onload="window.hacked=1"><a xlink:href="javascript:window.hacked=1"><text y=20>x</text></a></svg>`,
	`<svg><animate onbegin="window.hacked=1" attributeName=x dur=1s></svg>`,
	`<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=x onerror=window.hacked=1&gt;">`,
	`<math><mtext><h1><a><mglyph><svg><mtext><textarea><a title="</textarea><img src=x onerror=window.hacked=1>">`,
	`<svg></p><style><a id="</style><img src=1 onerror=window.hacked=1>">`,
	`<noscript><p title="</noscript><img src=x onerror=window.hacked=1>">`,
	`<form><math><mtext></form><form><mglyph><style></math><img src onerror=window.hacked=1>`,
	`<template><img src=x onerror=window.hacked=1></template>`,
	`<div style="position:fixed;inset:0;background:url(http://127.0.0.1:9/)">covering</div>`,
	`<style>body{display:none}@import "http://127.0.0.1:9/a.css";</style>`,
	`<link rel=stylesheet href="http://127.0.0.1:9/a.css">`,
	`<base href="http://127.0.0.1:9/">`,
	`<meta http-equiv=refresh content="0;url=http://127.0.0.1:9/">`,
	`<object data="http://127.0.0.1:9/"></object><embed src="http://127.0.0.1:9/">`,
	`<video src="http://127.0.0.1:9/" onerror="window.hacked=1" autoplay></video>`,
	`<details open ontoggle="window.hacked=1">x</details>`,
	`<dialog open>over everything</dialog>`,
	`<p id="send" class="visually-hidden" onclick="window.hacked=1" slot=x popover>text</p>`,
	"```html\"><img src=x onerror=window.hacked=1>\n<img src=x onerror=window.hacked=1>\n```",
	"`<img src=x onerror=window.hacked=1>`",
	`| <img src=x onerror=window.hacked=1> |` + "\n|---|\n| <svg onload=window.hacked=1> |",
	`- [ ] <input type=image src=http://127.0.0.1:9/ onerror=window.hacked=1>`,
	`<br onmouseover="window.hacked=1"><sub onclick="window.hacked=1">x</sub>`,
	"<br\u00a0/onload=window.hacked=1>",
	`<!--><img src=x onerror=window.hacked=1>-->`,
	`<![CDATA[><img src=x onerror=window.hacked=1>]]>`,
	`<?xml version="1.0"?><img src=x onerror=window.hacked=1>`,
	`# Heading <img src=x onerror=window.hacked=1> {#prompt}`,
	`[link](https://example.org "a title onmouseover=window.hacked=1 \" onmouseover=\"window.hacked=1")`,
	"http://127.0.0.1:9/\"onmouseover=\"window.hacked=1",
	"$<img src=x onerror=window.hacked=1>$ and \\(\\text{<img src=x onerror=window.hacked=1>}\\)",
	"$$\\href{javascript:window.hacked=1}{x} \\url{javascript:window.hacked=1} \\htmlClass{visually-hidden}{x} \\style{position:fixed}{y}$$",
	"$\\def\\x{\\x\\x}\\x \\input{/etc/passwd} \\class{send}{y} \\cssId{prompt}{z} \\includegraphics{http://127.0.0.1:9/a.png}$",
	"$$\\begin{array}{\" onmouseover=\"window.hacked=1}a\\end{array}$$",
	"$$\\operatorname{<script>window.hacked=1</script>}$$",
	"```js\n\"<img src=x onerror=window.hacked=1>\" // <script>window.hacked=1</script>\n```",
	"```html\n<img src=x onerror=\"window.hacked=1\"><script>window.hacked=1</script>\n```",
	"```constructor\n<img src=x onerror=window.hacked=1>\n```",
	"```__proto__\n<svg onload=window.hacked=1>\n```",
	`<math href="javascript:window.hacked=1"><maction actiontype="statusline#http://127.0.0.1:9/" xlink:href="javascript:window.hacked=1">x</maction></math>`,
	`<code class="formula">$<img src=x onerror=window.hacked=1>$</code>`,
	`<code class="formula"></code><code class="formula">x</code>`,
}

// harmless checks that the model's text has made only allowed elements and attributes. It is "" if so; otherwise it names what else there
// is.
const harmless = `(() => {
	const tags = new Set('A BLOCKQUOTE BR CODE DEL EM H3 H4 H5 H6 HR KBD LI OL P PRE STRONG SUB SUP TABLE TBODY TD TH THEAD TR UL'.split(' '));
	const attributes = new Set(['href', 'rel', 'target', 'align', 'start', 'tabindex', 'role', 'aria-label', 'class']);
	const formula = new Set('math mrow mi mn mo mtext mspace mstyle mfrac msqrt mroot msub msup msubsup munder mover munderover mtable mtr mtd mphantom'.split(' '));
	const drawing = /^(alttext|display|displaystyle|mathvariant|stretchy|fence|accent|accentunder|movablelimits|lspace|rspace|width|linethickness)$/;
	for (const element of document.querySelectorAll('.prose *')) {
		if (element.namespaceURI.endsWith('MathML')) {
			if (!formula.has(element.localName) || !element.closest('math')) return 'an element of a formula ' + element.outerHTML;
			for (const { name, value } of element.attributes)
				if (!drawing.test(name) && !(name === 'class' && /^(boxed|side-left|side-right)$/.test(value))) return 'an attribute of ' + element.outerHTML;
			continue;
		}
		if (element.matches('pre code span')) {
			if (element.attributes.length !== 1 || !/^tok-[a-z]+$/.test(element.className) || element.children.length > 0) return 'a colour ' + element.outerHTML;
			continue;
		}
		if (element.closest('.code-head') || element.matches('.block, .code, .table, span.formula')) continue;
		if (!tags.has(element.tagName)) return 'an element ' + element.outerHTML;
		for (const { name } of element.attributes) if (!attributes.has(name)) return 'an attribute of ' + element.outerHTML;
		if (element.className && !/^(as-h[1-6]|plain|task)$/.test(element.className)) return 'a class: ' + element.outerHTML;
		if (element.tagName === 'A' && !(/^(https?|mailto):$/.test(element.protocol) && element.rel === 'noopener noreferrer' && element.target === '_blank')) return 'a link ' + element.outerHTML;
	}
	return 'hacked' in window ? 'window.hacked' : '';
})()`

func TestHostileAnswersChangeNothing(t *testing.T) {
	f := start(t, func(r request, a *answer) {
		if r.last() == "all at once" {
			a.say(strings.Join(hostile, "\n\n"))
		} else {
			for _, text := range hostile { // cut anywhere, as tokens are
				for i := 0; i < len(text); i += 16 {
					a.say(strings.ToValidUTF8(text[i:min(i+16, len(text))], ""))
				}
				a.say("\n\n")
			}
		}
		a.end("stop")
	})
	b := open(t, f.URL)
	js[chromedp.Void](b, `addEventListener('securitypolicyviolation', (event) => console.error('policy: ' + event.violatedDirective + ' ' + event.blockedURI))`)
	b.ask("piece by piece")
	b.ask("all at once")
	// Pointers that rest on things and the keyboard's focus set some handlers off.
	js[chromedp.Void](b, `for (const element of document.querySelectorAll('.prose *')) for (const type of ['mouseover', 'focus', 'toggle', 'load', 'error', 'begin']) element.dispatchEvent(new Event(type))`)
	if found := js[string](b, harmless); found != "" {
		t.Errorf("the answer has %s", found)
	}
	if shown := b.text(".prose"); !strings.Contains(shown, "<script>window.hacked=1</script>") || !strings.Contains(shown, "a picture") {
		t.Errorf("what the model wrote is not shown: %s", shown)
	}
	equal(t, "fields called prompt", js[int](b, "document.querySelectorAll('#prompt').length"), 1)
	b.reload()
	if found := js[string](b, harmless); found != "" {
		t.Errorf("after a reload the answer has %s", found)
	}
	b.picture("hostile")
}

// The second wall stands alone: what marked would let through if it were told to leave HTML as it is.
func TestTheCleanerAlone(t *testing.T) {
	f := start(t, says("x"))
	b := open(t, f.URL)
	b.expect("Content Security Policy") // the cleaner parses in a document that runs nothing; the browser reports each handler that it did not run
	b.ask("make a place for answers")
	for _, text := range hostile {
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		js[chromedp.Void](b, fmt.Sprintf(`import('/page/js/markdown.js').then(({ clean }) => {
			const place = document.querySelector('.prose');
			place.replaceChildren(clean(%s));
		})`, quoted))
		if found := js[string](b, harmless); found != "" {
			t.Errorf("of %s there stays %s", text, found)
		}
	}
}

// Markdown that is nested or repeated without end must not stop the page.
func TestEndlessMarkdown(t *testing.T) {
	f := start(t, func(r request, a *answer) {
		pattern, _, _ := strings.Cut(r.last(), "¦")
		for range 60 {
			a.say(strings.Repeat(pattern, 500))
		}
		a.end("stop")
	})
	b := open(t, f.URL)
	for _, pattern := range []string{"> ", "[", "*a ", "**a", "<a ", "`", "- ", "![", "_a_", "|", "(", "&#", "<!--", "1. ", "~", "[a](", "\\", "a ", "$", "$a", "$$", "\\(", "\\[", "\n\\[", "$a$ "} {
		b.button("New conversation")
		start := time.Now()
		b.ask(pattern + "¦")
		if took := time.Since(start); took > 8*time.Second {
			t.Errorf("%s: it took %v", pattern, took)
		}
	}
}

// TestElementsAreBounded reloads conversations with answers that are small as texts, and would be very many elements: tables with many columns,
// a great number of blocks, of list items, of inline elements. The answer is drawn whole then, and the page stays one that can be used.
func TestElementsAreBounded(t *testing.T) {
	texts := map[string]string{
		"wide":            "|" + strings.Repeat("a|", 1500) + "\n|" + strings.Repeat("-|", 1500) + "\n" + strings.Repeat("|\n", 4000),
		"wide and quoted": "> |" + strings.Repeat("a|", 1500) + "\n> |" + strings.Repeat("-|", 1500) + "\n" + strings.Repeat("> |\n", 4000),
		"paragraphs":      strings.Repeat("a\n\n", 130_000),
		"headings":        strings.Repeat("# a\n", 90_000),
		"rulers":          strings.Repeat("***\n", 90_000),
		"list":            strings.Repeat("- a\n", 4900) + "\n" + strings.Repeat("- a\n\n", 70_000),
		"tables":          strings.Repeat("|a|b|\n|-|-|\n|c|d|\n\n", 18_000),
		"inline":          strings.Repeat(strings.Repeat("*a* ", 100)+"\n\n", 950),
		"code":            strings.Repeat("```\na\n```\n", 40_000),
	}
	f := start(t, func(r request, a *answer) {
		a.say(texts[r.last()])
		a.end("stop")
	})
	b := open(t, f.URL)
	for name := range texts {
		b.button("New conversation")
		b.ask(name)
		b.reload()
		b.wait("the answer to "+name, func() bool { return js[int](b, "document.querySelector('.prose')?.textContent.length ?? 0") > 1000 })
		if n := js[int](b, "document.querySelectorAll('.prose *').length"); n > 25_000 {
			t.Errorf("%s: the answer has %d elements", name, n)
		}
	}
}
