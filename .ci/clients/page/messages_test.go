package page

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// endWith finishes an answer with as many tokens in the context, which has 2,048.
func (a *answer) endWith(finish string, total int) {
	a.delta(delta{}, finish)
	a.event(map[string]any{"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "flint", "choices": []any{},
		"usage": map[string]any{"prompt_tokens": total - 10, "completion_tokens": 10, "total_tokens": total},
		"stats": map[string]any{"tokens_per_second": 47.5, "cache_slots": total, "cache_capacity": 2048, "evictions": 0}})
	fmt.Fprint(a.w, "data: [DONE]\n\n")
}

// An answer that has reached its length goes on at its end, in the same message.
func TestContinues(t *testing.T) {
	f := start(t, func(r request, a *answer) {
		if !r.GoesOn {
			a.say("One, two, ")
			a.endWith("length", 100)
			return
		}
		a.say("after " + r.last())
		if strings.Count(r.last(), "after") == 0 {
			a.endWith("length", 110)
		} else {
			a.endWith("stop", 120)
		}
	})
	b := open(t, f.URL)
	b.ask("count")
	equal(t, "note", b.text(".note"), "The answer ends here because it has reached the greatest number of tokens.")
	b.button("Continue")
	b.until("document.querySelector('.prose').innerText === 'One, two, after One, two,'")
	b.answered()
	equal(t, "roles", js[int](b, "document.querySelectorAll('.message').length"), 2)
	equal(t, "versions", len(b.texts(".versions")), 0)
	equal(t, "tokens", b.texts(".costs span")[0], "20 tokens")
	r := f.asked()[1]
	equal(t, "the last message", r.Messages[len(r.Messages)-1].Role, "assistant")
	b.reload()
	b.button("Continue")
	b.until("!document.querySelector('.note')")
	b.answered()
	equal(t, "answer", b.text(".prose"), "One, two, after One, two, after One, two, after One, two,")
	equal(t, "buttons", len(b.texts(".turn-end button")), 0)
}

// A stopped answer, and one that was cut off, can go on, too.
func TestContinuesWhatWasStopped(t *testing.T) {
	cut := false
	f := start(t, func(r request, a *answer) {
		switch {
		case r.GoesOn:
			a.say(" and the rest")
			a.end("stop")
		case cut:
			a.say("Half")
		default:
			a.say("Half")
			a.wait()
		}
	})
	b := open(t, f.URL)
	b.begin("go")
	b.until("document.querySelector('.prose')?.innerText === 'Half'")
	b.button("Stop")
	b.answered()
	b.button("Continue")
	b.until("document.querySelector('.prose').innerText === 'Half and the rest'")
	b.answered()
	cut = true
	b.button("New conversation")
	b.ask("go")
	b.button("Continue")
	b.until("document.querySelector('.prose').innerText === 'Half and the rest'")
}

// An answer that fills the context says so, and goes on without the beginning or anew.
func TestAnAnswerFillsTheContext(t *testing.T) {
	f := start(t, func(r request, a *answer) {
		switch {
		case r.GoesOn && r.Truncation == "auto":
			a.say("and on")
			a.endWith("stop", 900)
		case len(r.Messages) > 1:
			a.say("on ")
			a.endWith("length", 2048)
		default:
			a.say("first")
			a.endWith("stop", 1000)
		}
	})
	b := open(t, f.URL)
	b.ask("one")
	b.ask("two")
	equal(t, "note", b.text(".note"), "The answer ends here because the context is full: the model can read 2,048 tokens at once.")
	b.picture("filled")
	b.button("Continue without the oldest messages")
	b.until("[...document.querySelectorAll('.prose')].at(-1).innerText === 'on and on'")
	b.answered()
	b.button("New conversation")
	b.ask("one")
	b.ask("two")
	js[chromedp.Void](b, "document.querySelector('.turn-end button:last-child').click()")
	b.until("document.querySelectorAll('.message').length === 0")
}

// A message goes with what follows it; other versions stay, and another window does not bring it back.
func TestDeletesMessages(t *testing.T) {
	count := 0
	f := start(t, func(r request, a *answer) {
		count++
		a.say(fmt.Sprintf("Answer %d", count))
		a.end("stop")
	})
	b := open(t, f.URL)
	b.ask("one")
	b.button("Another answer")
	b.answered()
	b.ask("two")
	second := b.beside()
	second.button("one")
	second.until("document.querySelectorAll('.message').length === 4")
	second.ask("three")
	b.until("document.querySelectorAll('.message').length === 6")

	remove := func(index int, text string) {
		t.Helper()
		b.until("document.querySelector('#send').ariaLabel === 'Send'")
		js[chromedp.Void](b, fmt.Sprintf(`document.querySelectorAll('[aria-label="Delete the message"]')[%d].click()`, index))
		if said := b.text("#confirm"); !strings.Contains(said, text) {
			t.Errorf("the question is %q", said)
		}
	}
	remove(1, "with the 4 messages that follow it")
	b.button("Keep it")
	equal(t, "kept", len(b.texts(".message")), 6)
	remove(1, "Delete this message?")
	b.button("Delete")
	b.until("document.querySelectorAll('.message').length === 2")
	equal(t, "the other version", b.text(".prose"), "Answer 1")
	equal(t, "versions", len(b.texts(".versions")), 0)
	second.until("document.querySelectorAll('.message').length === 2")
	second.ask("four")
	b.until("document.querySelectorAll('.message').length === 4")
	b.reload()
	equal(t, "after a reload", strings.Join(b.texts(".prose"), ", "), "Answer 1, Answer 5")
	equal(t, "what is not sent any more", len(f.asked()[4].Messages), 3)
	remove(3, "It will be gone from this browser. This")
	b.button("Delete")
	b.until("document.querySelectorAll('.message').length === 3")
	b.ask("five")
	remove(0, "Delete this message?")
	b.button("Delete")
	b.until("document.querySelectorAll('.message, .conversation').length === 0")
	b.reload()
	equal(t, "conversations", len(b.texts(".conversation")), 0)
}

func TestSearchesConversations(t *testing.T) {
	f := start(t, says("Bread needs *flour* and water."))
	b := open(t, f.URL)
	equal(t, "a search of nothing", js[bool](b, "document.querySelector('#search').hidden"), true)
	b.ask("How do I bake?")
	f.answer = says("Quite.")
	b.button("New conversation")
	b.ask("Is it WARM today?")
	equal(t, "all", strings.Join(b.texts(".conversation"), ", "), "Is it WARM today?, How do I bake?")
	for words, want := range map[string]string{"warm": "Is it WARM today?", "water bread": "How do I bake?", "water warm": "", "  ": "Is it WARM today?, How do I bake?"} {
		b.fill("#search", words)
		b.until(fmt.Sprintf("[...document.querySelectorAll('.conversation')].map((e) => e.innerText).join(', ') === %q", want))
		equal(t, words+": nothing found", js[bool](b, "document.querySelector('#none-found').hidden"), want != "")
	}
	b.fill("#search", "flour")
	b.until("document.querySelector('#announcer').textContent === '1 conversation is found'")
	b.escape()
	equal(t, "after Escape", len(b.texts(".conversation")), 2)
}

func TestTitlesAreWithoutMarkdown(t *testing.T) {
	f := start(t, echo)
	b := open(t, f.URL)
	for text, want := range map[string]string{
		"# **Bold** plan for `x` and [this](https://example.org)": "Bold plan for x and this",
		"- a * b * c, 2*3*4 and snake_case_name":                  "a * b * c, 2*3*4 and snake_case_name",
		"*really* __so__":                                         "really so",
		"fruit <b>salad</b>":                                      "fruit <b>salad</b>",
		"say ```this``` once":                                     "say this once",
	} {
		b.button("New conversation")
		b.ask(text)
		equal(t, text, b.text("#title"), want)
	}
}

// Empty fields show the values that hold without them. Unusable values are reported near the field for the next message.
func TestSettingsShowDefaults(t *testing.T) {
	f := start(t, echo)
	b := open(t, f.URL)
	b.click("#open-settings")
	for name, want := range map[string]string{"temperature": "1", "top_p": "0.95", "top_k": "all tokens", "min_p": "0", "max_completion_tokens": "up to 2,048", "seed": "random"} {
		equal(t, name, js[string](b, fmt.Sprintf("document.querySelector('#set-%s').placeholder", name)), want)
	}
	b.fill("#set-temperature", "hot")
	b.escape()
	equal(t, "above the next message", b.text("#settings-problem"), "Temperature is not sent: This must be a number from 0 to 2.")
	b.see(375, 812, "dark")
	b.still()
	b.picture("setting-not-sent")
	b.see(1280, 800, "light")
	b.click("#settings-problem")
	b.fill("#set-temperature", "1.5")
	b.escape()
	equal(t, "it is gone", js[bool](b, "document.querySelector('#settings-problem').hidden"), true)
	b.click("#open-settings")
	js[chromedp.Void](b, `{ const list = document.querySelector('#model'); list.value = 'pebble'; list.dispatchEvent(new Event('change')); }`)
	b.escape()
	b.click("#open-settings")
	equal(t, "where nobody knows", js[string](b, "document.querySelector('#set-temperature').placeholder"), "")
}

// The limit of a key is no busy server.
func TestLimitsOfKeys(t *testing.T) {
	f := start(t, func(_ request, a *answer) {
		a.w.Header().Set("Retry-After", "21600")
		refuseWith(a.w, http.StatusTooManyRequests, "ann has used 60 tokens today, and may use 60 a day; the next day begins at midnight UTC, in 6h0m0s", "insufficient_quota")
	})
	b := open(t, f.URL)
	b.expect("Failed to load resource")
	b.ask("hello")
	if notice := b.text(".problem"); !strings.Contains(notice, "The limit of this key is reached: ann has used 60 tokens today") || strings.Contains(notice, "seconds") {
		t.Errorf("the notice says %q", notice)
	}
}
