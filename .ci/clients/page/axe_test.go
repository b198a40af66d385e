package page

import (
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// axe says what axe-core finds, one line each, serious or not. Only the order of headings is left out: it is the model's.
const axe = `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations
	.filter(({ id }) => id !== 'heading-order')
	.map(({ id, help, nodes }) => id + ': ' + help + ': ' + nodes.map(({ html, any }) => html.slice(0, 200) + ' ' + any.map(({ message }) => message).join(' ')).join('; '))
	.join('\n'))`

// axeSource returns the text of axe-core.
func axeSource(t *testing.T) string {
	t.Helper()
	file := os.Getenv("AXE")
	if file == "" {
		t.Skip("AXE does not say where axe.min.js of the npm package axe-core is")
	}
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(source)
}

func TestAxe(t *testing.T) {
	source := axeSource(t)
	calls := 0
	f := start(t, func(r request, a *answer) {
		switch r.last() {
		case "fail":
			refuse(a.w, 429, "32 requests wait already")
		case "call":
			calls++
			a.say("I will look that up.")
			a.call(0, "call_1", "get_weather", `{"city": "Nairobi"}`)
			a.end("tool_calls")
		default:
			a.delta(delta{"reasoning_content": "A *thought*."}, nil)
			a.say(essay)
			a.end("stop")
		}
	})
	for _, s := range sights {
		t.Run(s.name, func(t *testing.T) {
			b := open(t, f.URL)
			b.expect("429 (Too Many Requests)")
			js[chromedp.Void](b, source+"; void 0")
			b.see(s.width, s.height, s.scheme)
			check := func(what string) {
				t.Helper()
				b.still() // colours on their way to others have no contrast to measure
				if found := js[string](b, axe); found != "" {
					t.Errorf("%s: %s", what, strings.TrimSpace(found))
				}
			}
			check("welcome")
			b.ask("What does a cache cost?")
			b.button("Another answer")
			b.answered()
			b.click(".thought summary")
			b.until("document.querySelector('.thought em') && document.querySelector('math') && document.querySelector('.tok-keyword')")
			check("answer")
			b.click("#cache-button")
			check("cache")
			b.click("#cache-button")
			b.ask("call")
			check("card")
			b.fill(".card textarea", "warm")
			b.button("Send the result")
			b.answered()
			check("result")
			b.click(`.user [aria-label="Edit the message"]`)
			check("editor")
			b.escape()
			b.ask("fail")
			check("notice")
			if s.width < 800 {
				b.click("#open-sidebar")
				check("drawer")
				b.click("#close-sidebar")
			}
			b.click("#open-settings")
			b.fill("#set-top_p", "3")
			check("settings")
			b.click("#close-settings")
			check("setting that is not sent")
			if s.width >= 800 {
				b.button("Delete What does a cache cost?")
				check("question")
				b.button("Keep it")
			}
		})
	}
}
