package page

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// What a model thought is folded, and can be read while it comes and after it.
func TestThoughts(t *testing.T) {
	more, rest := make(chan struct{}), make(chan struct{})
	f := start(t, func(r request, a *answer) {
		switch {
		case r.last() == "plain":
			a.say("no thought")
		case r.Messages[len(r.Messages)-1].Role == "tool":
			a.say("thought ", r.Messages[1].Thought)
		case len(r.Tools) > 0:
			a.delta(delta{"reasoning_content": "I shall call."}, nil)
			a.call(0, "call_a", "add", `{"a":1,"b":2}`)
		default:
			a.delta(delta{"reasoning_content": "First **this**"}, nil)
			a.waitFor(more)
			a.delta(delta{"reasoning_content": ", then <img src=x onerror=window.hacked=1>."}, nil)
			a.waitFor(rest)
			a.say("The answer.")
		}
		a.end("stop")
	})
	b := open(t, f.URL)
	b.begin("think")
	b.until("document.querySelector('.thought summary')?.innerText === 'Thinking …'")
	equal(t, "while it is folded it is not drawn", js[bool](b, "document.querySelector('.thought .prose') === null"), true)
	b.click(".thought summary")
	b.until("document.querySelector('.thought strong')?.innerText === 'this'")
	close(more)
	b.until("document.querySelector('.thought .prose').innerText.includes('onerror')")
	if found := js[string](b, harmless); found != "" {
		t.Errorf("the thought has %s", found)
	}
	close(rest)
	b.answered()
	if summary := b.text(".thought summary"); !strings.HasPrefix(summary, "Thought for ") {
		t.Errorf("after it the summary is %q", summary)
	}
	equal(t, "it stays open", js[bool](b, "document.querySelector('.thought').open"), true)
	equal(t, "answer", js[string](b, "[...document.querySelectorAll('.prose')].at(-1).innerText"), "The answer.")
	equal(t, "what is announced", js[string](b, "new Promise((done) => setTimeout(() => done(document.querySelector('#announcer').textContent), 200))"), "The answer.")
	b.reload()
	equal(t, "it is folded after a reload", js[bool](b, "document.querySelector('.thought').open"), false)
	b.click(".thought summary")
	b.until("document.querySelector('.thought .prose')?.innerText.startsWith('First this, then')")

	b.ask("plain")
	equal(t, "visible thoughts", js[int](b, "[...document.querySelectorAll('.thought')].filter((e) => e.checkVisibility()).length"), 1)
	if said := f.asked()[1].Messages[1]; !strings.HasPrefix(said.Thought, "First **this**, then") || said.Content != "The answer." {
		t.Errorf("the thought does not go with the answer: %+v", said)
	}

	b.button("New conversation")
	b.click("#open-settings")
	b.click("#sample-tools")
	b.escape()
	b.ask("call")
	b.button("Send the result")
	b.until("document.querySelectorAll('.assistant').length === 2")
	b.answered()
	equal(t, "what the model thought before it called", js[string](b, "[...document.querySelectorAll('.prose')].at(-1).innerText"), "thought I shall call.")
}

// How much a model is to think is a setting, which models that do not think keep.
func TestEffort(t *testing.T) {
	f := start(t, echo)
	b := open(t, f.URL)
	b.ask("one")
	b.click("#open-settings")
	js[chromedp.Void](b, `{ const list = document.querySelector('#set-reasoning_effort'); list.value = 'low'; list.dispatchEvent(new Event('input')); }`)
	b.escape()
	b.ask("two")
	if strings.Contains(f.bodies[0], "reasoning_effort") || !strings.Contains(f.bodies[1], `"reasoning_effort":"low"`) {
		t.Errorf("the page asks %s and %s", f.bodies[0], f.bodies[1])
	}
}

// While a long prompt is read the page says how far that is.
func TestProgress(t *testing.T) {
	rest := make(chan struct{})
	f := start(t, func(_ request, a *answer) {
		for _, done := range []int{0, 12000} {
			a.event(map[string]any{"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "flint", "choices": []any{},
				"prompt_progress": map[string]any{"total": 65891, "cache": 0, "processed": done, "time_ms": done}})
		}
		a.waitFor(rest)
		a.say("Done.")
		a.end("stop")
	})
	b := open(t, f.URL)
	b.begin("read")
	b.until("document.querySelector('.assistant > .quiet')?.innerText === 'Reading: 12,000 of 65,891 tokens'")
	close(rest)
	b.answered()
	equal(t, "after it", js[bool](b, "document.querySelector('.assistant > .quiet').checkVisibility()"), false)
	if !strings.Contains(f.bodies[0], `"return_progress":true`) {
		t.Errorf("the page asks %s", f.bodies[0])
	}
}
