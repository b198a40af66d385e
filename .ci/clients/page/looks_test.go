package page

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// sights are the windows and colours that the page is looked at in.
var sights = []struct {
	name          string
	width, height int64
	scheme        string
}{
	{"desktop-light", 1280, 800, "light"},
	{"desktop-dark", 1280, 800, "dark"},
	{"phone-light", 375, 812, "light"},
	{"phone-dark", 375, 812, "dark"},
}

// see makes the window of this size and these colours.
func (b *tab) see(width, height int64, scheme string) {
	b.t.Helper()
	if width < 800 {
		b.do(chromedp.EmulateViewport(width, height, chromedp.EmulateMobile, chromedp.EmulateScale(2)))
	} else {
		b.do(chromedp.EmulateViewport(width, height))
	}
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}); err != nil {
		b.t.Fatal(err)
	}
}

const essay = "Memory for a conversation grows with its length, so the server keeps **one slot for each token** and gives up the least useful ones.\n\n" +
	"## What happens\n\n1. The prompt is compared with what is *already there*.\n2. Only the rest is computed.\n3. The answer follows, token by token.\n\n" +
	"```go\nfor piece, err := range session.Chat(ctx, history, params) {\n\tif err != nil {\n\t\treturn fmt.Errorf(\"answering a question that was rather long: %w\", err)\n\t}\n\tfmt.Print(piece.Text)\n}\n```\n\n" +
	"| policy | keeps | costs |\n|---|---|---:|\n| window | the newest | 0 |\n| attention | what is looked at | 3 % |\n\n" +
	"> A cache is a promise that yesterday was worth remembering.\n\nMore in [the documentation](https://example.org/docs), or try `go doc ./llama`.\n\n" +
	"A long one in a line, $a_1 + a_2 + a_3 + a_4 + a_5 + a_6 + a_7 + a_8 + a_9 + a_{10} + a_{11} + a_{12} + a_{13} = \\sum_i a_i$. The weights of $n$ slots are $w_i = e^{s_i} / \\sum_{j=1}^{n} e^{s_j}$, and with queries and keys\n\n" +
	"$$\\operatorname{Attention}(Q, K, V) = \\operatorname{softmax}\\left(\\frac{QK^\\top}{\\sqrt{d_k}}\\right) V, \\qquad " +
	"\\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix}^{-1} = \\frac{1}{ad-bc} \\begin{pmatrix} d & -b \\\\ -c & a \\end{pmatrix}, \\quad f(x) = " +
	"\\begin{cases} x^2 & \\text{if } x > 0 \\\\ 0 & \\text{otherwise} \\end{cases}$$\n\n" +
	"```python\n@cache\ndef softmax(scores: list[float]) -> list[float]:\n    \"\"\"Weights of the slots.\"\"\"\n    top = max(scores)  # for large numbers\n" +
	"    raised = [exp(s - top) for s in scores]\n    return [r / sum(raised) for r in raised] if scores else None\n```\n\n" +
	"```diff\n@@ -1,2 +1,2 @@\n-old line\n+new line\n```\n\n```html\n<!-- a note --><a href=\"x\">text &amp; more</a>\n```"

func TestLooks(t *testing.T) {
	f := start(t, func(r request, a *answer) {
		switch {
		case r.last() == "busy":
			a.w.Header().Set("Retry-After", "4")
			refuse(a.w, 429, "32 requests wait already, and no more may")
		case len(r.Tools) > 0 && r.Messages[len(r.Messages)-1].Role != "tool":
			a.say("I will look that up.")
			a.call(0, "call_1", "get_weather", `{"city": "Nai`, `robi"}`)
			a.end("tool_calls")
		default:
			a.delta(delta{"reasoning_content": "The reader asks for **costs**. I shall say what a slot is first, and then count: $2 \\cdot d$ numbers for each."}, nil)
			a.say(essay)
			a.end("stop")
		}
	})
	b := open(t, f.URL)
	for _, s := range sights {
		b.see(s.width, s.height, s.scheme)
		b.picture("welcome-" + s.name)
	}
	b.see(1280, 800, "light")
	for _, question := range []string{"Plan a walk through Nairobi for Sunday", "What does a cache cost?", "How does the server remember what I said before?"} {
		b.button("New conversation")
		b.ask(question)
	}
	b.button("Another answer")
	b.answered()
	for _, s := range sights {
		b.see(s.width, s.height, s.scheme)
		js[chromedp.Void](b, "document.querySelector('.thought').open = true")
		b.until("document.querySelector('.thought math') && document.querySelector('.tok-keyword')")
		js[chromedp.Void](b, "document.querySelector('#scroller').scrollTop = 0")
		b.picture("talk-top-" + s.name)
		js[chromedp.Void](b, "[...document.querySelectorAll('.prose math')].find((e) => e.textContent.includes('softmax')).closest('.block').scrollIntoView()")
		b.picture("formulas-" + s.name)
		js[chromedp.Void](b, "document.querySelector('#scroller').scrollTop = 1e6")
		b.picture("talk-end-" + s.name)
		b.click("#cache-button")
		b.picture("cache-" + s.name)
		b.click("#cache-button")
		if s.width < 800 {
			b.click("#open-sidebar")
			b.picture("drawer-" + s.name)
			b.click("#close-sidebar")
		}
		b.click("#open-settings")
		b.click("#sample-tools")
		b.picture("settings-" + s.name)
		b.click("#close-settings")
	}
	b.ask("How warm is it in Nairobi?")
	for _, s := range sights {
		b.see(s.width, s.height, s.scheme)
		js[chromedp.Void](b, "document.querySelector('#scroller').scrollTop = 1e6")
		b.picture("card-" + s.name)
	}
	b.button("Send the result")
	b.answered()
	b.expect("Failed to load resource")
	b.ask("busy")
	f.demand("a key")
	b.ask("And with a key?")
	b.click(`.results [aria-label="Edit the results"]`)
	for _, s := range sights {
		b.see(s.width, s.height, s.scheme)
		js[chromedp.Void](b, "document.querySelector('.results').scrollIntoView()")
		b.picture("editor-" + s.name)
		js[chromedp.Void](b, "document.querySelector('#scroller').scrollTop = 1e6")
		b.picture("notices-" + s.name)
	}
	// Nothing but the conversation scrolls.
	if tall := js[bool](b, "document.documentElement.scrollHeight > innerHeight || document.querySelector('#main').scrollHeight > innerHeight"); tall {
		t.Error("the page is taller than its window")
	}
	// No width lets the page itself scroll sideways.
	for _, width := range []int64{320, 375, 600, 861, 1280} {
		b.see(width, 700, "light")
		if wide := js[bool](b, "document.documentElement.scrollWidth > innerWidth || document.querySelector('#scroller').scrollWidth > document.querySelector('#scroller').clientWidth"); wide {
			t.Errorf("at %d pixels the page is wider than its window", width)
			b.picture(fmt.Sprintf("wide-%d", width))
		}
	}
}
