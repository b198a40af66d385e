package page

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// echo says how many messages it was given and what the last one was.
func echo(r request, a *answer) {
	a.say(fmt.Sprintf("%d messages, ", len(r.Messages)), "the last: ", r.last())
	a.end("stop")
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, not %v", what, got, want)
	}
}

func TestTalks(t *testing.T) {
	f := start(t, echo)
	b := open(t, f.URL)
	b.ask("First question")
	b.ask("And then?")
	equal(t, "first answer", b.texts(".prose")[0], "1 messages, the last: First question")
	equal(t, "second answer", b.texts(".prose")[1], "3 messages, the last: And then?")
	equal(t, "title", b.text("#title"), "First question")
	equal(t, "field after sending", js[string](b, "document.querySelector('#prompt').value"), "")
	equal(t, "numbers", strings.Join(b.texts(".assistant:last-child .costs span")[:2], ", "), "87 tokens, 47.5 tokens/s")
	equal(t, "cache", js[string](b, "document.querySelector('#cache-button').textContent"), "Cache: 399 of 2,048 tokens in use, 280 of them reused, 64 evicted")
	b.until(`document.querySelector('#announcer').textContent === '3 messages, the last: And then?'`)
	if last := f.asked()[1]; !last.Stream || !last.StreamOptions.IncludeUsage || !last.StreamOptions.IncludeStats || last.Model != "flint" {
		t.Errorf("the page asks with %+v", last)
	}
}

func TestShiftEnterBeginsALine(t *testing.T) {
	f := start(t, echo)
	b := open(t, f.URL)
	b.fill("#prompt", "one")
	b.do(chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(chromedp.ModifierShift)))
	b.do(chromedp.KeyEvent("two"))
	b.press("Enter", "Enter", 13, chromedp.ModifierNone)
	b.answered()
	equal(t, "message", f.asked()[0].last(), "one\ntwo")
}

func TestStops(t *testing.T) {
	for _, way := range []string{"button", "key"} {
		t.Run(way, func(t *testing.T) {
			left := make(chan struct{})
			f := start(t, func(_ request, a *answer) {
				a.say("As far ", "as this")
				a.wait()
				close(left)
			})
			b := open(t, f.URL)
			b.begin("Go on for ever")
			b.until("document.querySelector('.prose')?.innerText === 'As far as this'")
			if way == "button" {
				b.button("Stop")
			} else {
				b.escape()
			}
			b.answered()
			<-left
			equal(t, "answer", b.text(".prose"), "As far as this")
			equal(t, "note", b.text(".note"), "You stopped this answer.")
			if numbers := b.text(".costs"); !strings.Contains(numbers, "about 2 tokens") {
				t.Errorf("the numbers are %q", numbers)
			}
		})
	}
}

func TestVersions(t *testing.T) {
	count := 0
	f := start(t, func(r request, a *answer) {
		count++
		a.say(fmt.Sprintf("Answer %d to %s", count, r.last()))
		a.end("stop")
	})
	b := open(t, f.URL)
	b.ask("one")
	b.do(chromedp.Focus(chromedp.CSS(`[aria-label="Another answer"]`)), chromedp.KeyEvent(kb.Enter))
	b.until("document.querySelector('.versions')?.innerText.replaceAll(/\\s/g, '') === '2/2'")
	b.answered()
	equal(t, "focus after the button went away", js[string](b, "document.activeElement.id"), "prompt")
	equal(t, "after another answer", b.text(".prose"), "Answer 2 to one")
	equal(t, "versions", b.text(".assistant .versions"), "2/2")
	b.ask("more")
	b.button("Version before")
	b.until("document.querySelector('.prose').innerText === 'Answer 1 to one'")
	equal(t, "messages after the older version", len(b.texts(".message")), 2)
	b.button("Version after")
	b.until("document.querySelectorAll('.message').length === 4")
	equal(t, "the branch comes back", b.texts(".prose")[1], "Answer 3 to more")

	// Editing the first message makes another branch; the old one stays.
	b.click(`.user [aria-label="Edit the message"]`)
	b.fill(`[aria-label="Your message"]`, "uno")
	b.button("Save and send")
	b.answered()
	b.until("document.querySelectorAll('.message').length === 2")
	equal(t, "edited", b.text(".bubble"), "uno")
	equal(t, "edited answer", b.text(".prose"), "Answer 4 to uno")
	equal(t, "what the server was told", len(f.asked()[3].Messages), 1)
	b.click(`.user [aria-label="Version before"]`)
	b.until("document.querySelectorAll('.message').length === 4")

	// Escape leaves the editor and changes nothing.
	b.click(`.user [aria-label="Edit the message"]`)
	b.fill(`[aria-label="Your message"]`, "something else")
	b.escape()
	equal(t, "after leaving", b.text(".bubble"), "one")
	equal(t, "requests", len(f.asked()), 4)

	b.reload()
	equal(t, "after a reload", strings.Join(b.texts(".prose"), "; "), "Answer 2 to one; Answer 3 to more")
	equal(t, "versions after a reload", b.text(".user .versions"), "1/2")
}

func TestAReloadKeepsWhatHasCome(t *testing.T) {
	f := start(t, func(r request, a *answer) {
		if r.last() == "finish" {
			echo(r, a)
			return
		}
		a.say("This much ", "has come")
		a.wait()
	})
	b := open(t, f.URL)
	b.ask("finish")
	b.begin("never end")
	b.until("[...document.querySelectorAll('.prose')].at(-1).innerText === 'This much has come'")
	b.reload()
	equal(t, "answer", b.texts(".prose")[1], "This much has come")
	if notice := b.text(".problem"); !strings.Contains(notice, "loaded again") || !strings.Contains(notice, "kept") {
		t.Errorf("the notice says %q", notice)
	}
	equal(t, "conversations", len(b.texts("#conversations li")), 1)
	b.ask("finish")
	equal(t, "going on", b.texts(".prose")[2], "5 messages, the last: finish")
}

func TestListOfConversations(t *testing.T) {
	f := start(t, echo)
	b := open(t, f.URL)
	b.ask("apples")
	b.press("O", "KeyO", 79, chromedp.ModifierCtrl|chromedp.ModifierShift)
	b.until("document.querySelectorAll('.message').length === 0")
	equal(t, "focus", js[string](b, "document.activeElement.id"), "prompt")
	b.ask("pears")
	equal(t, "list", strings.Join(b.texts(".conversation"), ", "), "pears, apples")

	b.button("Rename apples")
	b.fill("#conversations input", "fruit <b>salad</b>")
	b.press("Enter", "Enter", 13, chromedp.ModifierNone)
	b.until("document.querySelectorAll('.conversation').length === 2")
	equal(t, "list", strings.Join(b.texts(".conversation"), ", "), "pears, fruit <b>salad</b>")

	b.button("fruit <b>salad</b>")
	b.until("document.querySelector('.bubble').innerText === 'apples'")
	b.reload()
	equal(t, "title after a reload", b.text("#title"), "fruit <b>salad</b>")

	b.button("Delete pears")
	b.button("Keep it")
	equal(t, "kept", len(b.texts(".conversation")), 2)
	b.button("Delete pears")
	b.button("Delete")
	b.until("document.querySelectorAll('.conversation').length === 1")
	b.reload()
	equal(t, "list", strings.Join(b.texts(".conversation"), ", "), "fruit <b>salad</b>")
}

func TestOneConversationGoesOnWhileAnotherIsShown(t *testing.T) {
	release := make(chan struct{})
	f := start(t, func(r request, a *answer) {
		if r.last() == "slow" {
			a.say("Slowly ")
			a.waitFor(release)
			a.say("but surely")
			a.end("stop")
			return
		}
		echo(r, a)
	})
	b := open(t, f.URL)
	b.begin("slow")
	b.until("document.querySelector('.prose')?.innerText.trim() === 'Slowly'")
	b.button("New conversation")
	b.ask("quick")
	close(release)
	b.until("!document.querySelector('.pulse')")
	b.button("slow")
	b.until("document.querySelector('.prose').innerText === 'Slowly but surely'")
}

func TestSettings(t *testing.T) {
	f := start(t, echo)
	b := open(t, f.URL)
	b.click("#open-settings")
	for field, text := range map[string]string{"system": "Be brief.", "temperature": "0.5", "top_k": "40", "seed": "7", "min_p": "nonsense"} {
		b.fill("#set-"+field, text)
	}
	js[chromedp.Void](b, `{ const field = document.querySelector('#set-stop'); field.value = 'END\n\\n\\n'; field.dispatchEvent(new Event('input')); }`)
	equal(t, "complaint", b.text("#complaint-min_p"), "This must be a number from 0 to 1. It is not sent.")
	b.escape()
	b.ask("hello")
	r := f.asked()[0]
	equal(t, "system prompt", r.Messages[0].Content, "Be brief.")
	equal(t, "role", r.Messages[0].Role, "system")
	if !slices.Equal(r.Stop, []string{"END", "\n\n"}) {
		t.Errorf("stop strings: %q", r.Stop)
	}
	for _, part := range []string{`"temperature":0.5`, `"top_k":40`, `"seed":7`} {
		if !strings.Contains(f.bodies[0], part) {
			t.Errorf("%s is not in %s", part, f.bodies[0])
		}
	}
	for _, part := range []string{"min_p", "top_p", "max_completion_tokens", "tools", "system\":"} {
		if strings.Contains(f.bodies[0], part) {
			t.Errorf("%s is in %s", part, f.bodies[0])
		}
	}
	b.button("New conversation")
	js[chromedp.Void](b, `{ const list = document.querySelector('#model'); list.value = 'pebble'; list.dispatchEvent(new Event('change')); }`)
	b.ask("hello again")
	equal(t, "model", f.asked()[1].Model, "pebble")
	equal(t, "a new conversation's system prompt", f.asked()[1].Messages[0].Content, "Be brief.")
}

func TestToolsRoundTrip(t *testing.T) {
	f := start(t, func(r request, a *answer) {
		if r.Messages[len(r.Messages)-1].Role == "tool" {
			a.say("Results: ", r.Messages[len(r.Messages)-2].Content+" "+r.last())
			a.end("stop")
			return
		}
		a.call(0, "call_a", "get_weather", `{"city"`, `: "Oslo"}`)
		a.call(1, "call_b", "add", `{"a": 2, `, `"b": 40}`)
		a.call(2, "call_c", "unknown_<img src=x onerror=alert(1)>", `{}`)
		a.end("tool_calls")
	})
	b := open(t, f.URL)
	b.click("#open-settings")
	b.click("#sample-tools")
	b.escape()
	b.ask("Weather and sum, please")
	equal(t, "tools sent", len(f.asked()[0].Tools), 2)
	cards := b.texts(".card header")
	equal(t, "cards", strings.Join(cards, ", "), "get_weather, add, unknown_<img src=x onerror=alert(1)>")
	equal(t, "prefilled", js[string](b, `document.querySelector('[aria-label="Result of add"]').value`), `{"result":42}`)
	b.fill(`.card:nth-of-type(3) textarea`, "nothing")
	b.button("Send the results")
	b.until("document.querySelectorAll('.prose').length === 2 && document.querySelector('#send').ariaLabel === 'Send'")
	sent := f.asked()[1].Messages
	equal(t, "messages", len(sent), 5)
	equal(t, "calls sent back", sent[1].ToolCalls[1].Function.Arguments, `{"a": 2, "b": 40}`)
	equal(t, "id of a result", sent[3].ToolCallID, "call_b")
	equal(t, "last answer", b.texts(".prose")[1], `Results: {"result":42} nothing`)

	// Another result is another branch.
	b.button("Edit the results")
	b.fill(`.editor div:nth-of-type(2) textarea`, `{"result":43}`)
	b.button("Save and send")
	b.until("document.querySelector('.results .versions')?.innerText.replaceAll(/\\s/g, '') === '2/2' && document.querySelector('#send').ariaLabel === 'Send'")
	equal(t, "answer to other results", b.texts(".prose")[1], `Results: {"result":43} nothing`)

	// A question in place of a result: the calls are not sent.
	b.click(`.user [aria-label="Edit the message"]`)
	b.button("Save and send")
	b.until("document.querySelector('.user .versions')?.innerText.replaceAll(/\\s/g, '') === '2/2'")
	b.answered()
	b.ask("Never mind")
	for _, message := range f.asked()[4].Messages {
		if len(message.ToolCalls) > 0 {
			t.Error("calls without results were sent")
		}
	}
}

func TestErrorsAreSaidInPlace(t *testing.T) {
	for _, c := range []struct {
		name  string
		fails func(*answer)
		says  []string
		keeps string
	}{
		{"refused", func(a *answer) { refuse(a.w, 400, "top_k: too large by 3") }, []string{"did not take this request", "top_k: too large by 3"}, ""},
		{"busy", func(a *answer) {
			a.w.Header().Set("Retry-After", "7")
			refuse(a.w, 429, "32 requests wait already")
		}, []string{"busy", "32 requests wait already", "in 7 seconds"}, ""},
		{"no JSON", func(a *answer) { http.Error(a.w, "<b>no</b>", http.StatusBadGateway) }, []string{"status 502"}, ""},
		{"within the stream", func(a *answer) {
			a.say("Half an ans")
			a.event(map[string]any{"error": map[string]any{"message": "the model was given back", "type": "server_error"}})
		}, []string{"the model was given back", "What came is kept."}, "Half an ans"},
		{"cut off", func(a *answer) { a.say("Half an ans") }, []string{"ended before the answer did", "What came is kept."}, "Half an ans"},
		{"lost", func(a *answer) {
			a.say("Half an ans")
			time.Sleep(time.Second) // a browser throws away what it has not read when the connection breaks
			panic(http.ErrAbortHandler)
		}, []string{"connection to the server was lost", "What came is kept."}, "Half an ans"},
	} {
		t.Run(c.name, func(t *testing.T) {
			failing := true
			f := start(t, func(r request, a *answer) {
				if failing {
					failing = false
					c.fails(a)
					return
				}
				echo(r, a)
			})
			b := open(t, f.URL)
			b.expect("Failed to load resource")
			b.expect("net::ERR")
			b.ask("hello")
			notice := b.text(".problem")
			for _, part := range c.says {
				if !strings.Contains(notice, part) {
					t.Errorf("the notice %q does not say %q", notice, part)
				}
			}
			equal(t, "kept", b.text(".prose"), c.keeps)
			b.reload()
			equal(t, "kept after a reload", b.text(".prose"), c.keeps)
			b.button("Try again")
			b.until("document.querySelector('.prose').innerText === '1 messages, the last: hello'")
			equal(t, "versions", b.text(".assistant .versions"), "2/2")
		})
	}
}

// A conversation that has become too long goes on without its oldest messages, if there are such.
func TestFullContext(t *testing.T) {
	f := start(t, func(r request, a *answer) {
		if full := len(r.Messages) > 3; strings.Contains(r.last(), "novel") || full && r.Truncation == "" {
			refuseWith(a.w, 400, "the prompt has 2100 tokens", "context_length_exceeded")
			return
		} else if full {
			a.event(map[string]any{"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "flint", "choices": []any{},
				"stats": map[string]any{"dropped_messages": len(r.Messages) - 3}})
			a.say("from what is left")
			a.delta(delta{}, "stop")
			fmt.Fprint(a.w, "data: [DONE]\n\n")
			return
		}
		echo(r, a)
	})
	b := open(t, f.URL)
	b.expect("Failed to load resource")
	b.ask("a novel")
	if notice := b.text(".problem"); !strings.Contains(notice, "last message is too long") || strings.Contains(notice, "Go on") || strings.Contains(notice, "Try again") {
		t.Errorf("of a single message the notice says %q", notice)
	}
	if n := js[int](b, `document.querySelectorAll('[aria-label="Another answer"]').length`); n != 0 {
		t.Errorf("there are %d buttons besides that cannot succeed", n)
	}
	b.button("New conversation")
	b.ask("one")
	b.ask("two")
	b.ask("three")
	notice := b.text(".problem")
	if !strings.Contains(notice, "more than the model can read") || !strings.Contains(notice, "stay here") || strings.Contains(notice, "Try again") {
		t.Errorf("the notice says %q", notice)
	}
	b.picture("full")
	b.reload()
	b.button("Go on without the oldest messages")
	b.until("[...document.querySelectorAll('.prose')].at(-1).innerText === 'from what is left'")
	b.until("document.querySelector('.note')")
	equal(t, "note", b.text(".note"), "The model did not read the oldest 2 messages.")
	b.picture("full-goes-on")
	b.ask("four") // it goes on without being asked again
	if asked := f.asked(); asked[len(asked)-1].Truncation != "auto" || len(b.texts(".problem")) > 0 {
		t.Errorf("the page asks %+v and says %q", asked[len(asked)-1], b.texts(".problem"))
	}
	b.ask("another novel")
	if notice := b.text(".problem"); !strings.Contains(notice, "last message is too long") {
		t.Errorf("when nothing more can be left out the notice says %q", notice)
	}
	b.button("New conversation")
	b.ask("one")
	if asked := f.asked(); asked[len(asked)-1].Truncation != "" {
		t.Error("a new conversation leaves something out")
	}
}

func TestKey(t *testing.T) {
	f := start(t, echo)
	f.demand("open sesame")
	b := open(t, f.URL)
	b.expect("401 (Unauthorized)")
	for _, key := range []string{"wrong", "open sesame"} {
		b.fill(".key-field input", key)
		b.button("Use this key")
		if key == "wrong" {
			b.until("document.querySelector('.key-field input')?.value === ''")
		}
	}
	b.until("!document.querySelector('.problem')")
	b.ask("hello")
	equal(t, "answer", b.text(".prose"), "1 messages, the last: hello")
	b.reload()
	b.ask("still there?")
	f.demand("another")
	b.begin("and now?")
	b.until("document.querySelector('.assistant .key-field')")
	b.fill(".key-field input", "another")
	b.button("Use this key")
	b.until("[...document.querySelectorAll('.prose')].at(-1).innerText === '5 messages, the last: and now?'")
	if kept := js[string](b, "JSON.stringify(localStorage)"); strings.Contains(kept, "sesame") || strings.Contains(kept, "another") {
		t.Error("the key is kept longer than the tab: ", kept)
	}
}

func TestExportAndImport(t *testing.T) {
	f := start(t, echo)
	b := open(t, f.URL)
	b.ask("apples")
	b.button("Another answer")
	b.answered()
	folder := t.TempDir()
	if _, err := chromedp.CallBrowser(b.ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllow, DownloadPath: folder, BrowserContextID: chromedp.FromContext(b.ctx).BrowserContextID}); err != nil {
		t.Fatal(err)
	}
	b.button("Export")
	var file string
	b.wait("the exported file", func() bool {
		found, _ := filepath.Glob(filepath.Join(folder, "*.json"))
		if len(found) == 1 {
			file = found[0]
		}
		return file != ""
	})

	other := open(t, f.URL)
	other.do(chromedp.SetUploadFiles(chromedp.CSS("#import-file"), []string{file}, chromedp.NodeReady))
	other.until("document.querySelectorAll('.conversation').length === 1")
	equal(t, "notice", other.text("#toast"), "1 conversation was added.")
	other.button("apples")
	other.until("document.querySelectorAll('.message').length === 2")
	equal(t, "versions", other.text(".versions"), "2/2")
	other.do(chromedp.SetUploadFiles(chromedp.CSS("#import-file"), []string{file}, chromedp.NodeReady))
	other.until("document.querySelector('#toast').innerText.includes('here already')")
	other.reload()
	equal(t, "after a reload", len(other.texts(".conversation")), 1)

	for name, content := range map[string]string{
		"no JSON":         `{"format":`,
		"another file":    `{"a": 1}`,
		"no parent":       `{"format":"antigravity-conversations","version":1,"conversations":[{"messages":[{"id":"a","parent":"b","role":"user","content":""}]}]}`,
		"a circle":        `{"format":"antigravity-conversations","version":1,"conversations":[{"messages":[{"id":"a","parent":"a","role":"user","content":""}]}]}`,
		"a strange role":  `{"format":"antigravity-conversations","version":1,"conversations":[{"messages":[{"id":"a","parent":null,"role":"toString"}]}]}`,
		"content no text": `{"format":"antigravity-conversations","version":1,"conversations":[{"messages":[{"id":"a","parent":null,"role":"user","content":{}}]}]}`,
		"nothing at all":  `{"format":"antigravity-conversations","version":1,"conversations":[null]}`,
	} {
		bad := filepath.Join(folder, "bad")
		if err := os.WriteFile(bad, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		js[chromedp.Void](other, "document.querySelector('#toast').innerText = ''")
		other.do(chromedp.SetUploadFiles(chromedp.CSS("#import-file"), []string{bad}, chromedp.NodeReady))
		other.until("document.querySelector('#toast').innerText !== ''")
		if said := other.text("#toast"); strings.Contains(said, "added") || strings.Contains(said, "undefined") {
			t.Errorf("%s: the page says %q", name, said)
		}
		equal(t, name+": conversations", len(other.texts(".conversation")), 1)
	}
}

func TestTwoWindowsLoseNothing(t *testing.T) {
	f := start(t, echo)
	b := open(t, f.URL)
	b.ask("from the first window")
	second := b.beside()
	second.button("from the first window")
	second.until("document.querySelectorAll('.message').length === 2")
	second.ask("from the second window")
	b.until("document.querySelectorAll('.message').length === 4")
	b.ask("from the first again")
	second.until("document.querySelectorAll('.message').length === 6")
	second.reload()
	equal(t, "messages", len(second.texts(".message")), 6)
}

// TestFiguresOfATooLongPrompt says by how much a conversation is too long, in numbers if the server has them, and else in its words.
func TestFiguresOfATooLongPrompt(t *testing.T) {
	for _, c := range []struct {
		members map[string]any
		want    string
	}{
		{map[string]any{"n_prompt_tokens": 12345, "n_ctx": 2048}, "it has 12,345 tokens, and the model can read 2,048"},
		{map[string]any{"n_prompt_tokens": 12345}, "the words of the server"},
		{nil, "the words of the server"},
	} {
		f := start(t, func(_ request, a *answer) {
			err := map[string]any{"message": "the words of the server", "code": "context_length_exceeded"}
			maps.Copy(err, c.members)
			refuseAs(a.w, 400, err)
		})
		b := open(t, f.URL)
		b.expect("Failed to load resource")
		b.ask("long")
		if notice := b.text(".problem"); !strings.Contains(notice, "more than the model can read at once") || !strings.Contains(notice, c.want) ||
			!strings.Contains(notice, "too long by itself") {
			t.Errorf("%v: the notice says %q", c.members, notice)
		}
		equal(t, "nothing is wider than the page", js[bool](b, "document.documentElement.scrollWidth <= innerWidth"), true)
	}
}

// TestRecommendedSampling reads in the settings what a model's files recommend, and whether they do.
func TestRecommendedSampling(t *testing.T) {
	f := start(t, echo)
	b := open(t, f.URL)
	choose := func(model string) {
		js[chromedp.Void](b, fmt.Sprintf(`{ const list = document.querySelector('#model'); list.value = %q; list.dispatchEvent(new Event('change')); }`, model))
	}
	for _, c := range []struct {
		model, says, temperature string
		hidden                   bool
	}{
		{"flint", "", "1", true},
		{"advised", "The files of advised recommend how its tokens are drawn", "0.6", false},
		{"flint", "", "1", true},
	} {
		choose(c.model)
		b.click("#open-settings")
		equal(t, c.model+": the line is hidden", js[bool](b, "document.querySelector('#recommended').hidden"), c.hidden)
		if text := b.text("#recommended"); !c.hidden && !strings.Contains(text, c.says) {
			t.Errorf("%s: the settings say %q", c.model, text)
		}
		equal(t, c.model+": temperature", js[string](b, "document.querySelector('#set-temperature').placeholder"), c.temperature)
		b.click("#close-settings")
	}
	choose("advised")
	b.ask("hello")
	if asked := f.asked()[0]; asked.Model != "advised" || asked.Temperature != nil || asked.TopK != nil {
		t.Errorf("what is recommended is the server's to know: the page asks with %+v", asked)
	}
}

func TestPhone(t *testing.T) {
	f := start(t, echo)
	b := open(t, f.URL)
	b.see(375, 812, "light")
	b.ask("apples")
	equal(t, "the closed drawer cannot be reached", js[bool](b, "document.querySelector('#sidebar').inert"), true)
	b.click("#open-sidebar")
	equal(t, "focus", js[string](b, "document.activeElement.id"), "close-sidebar")
	equal(t, "what lies under the open drawer cannot be reached", js[bool](b, "document.querySelector('#main').inert"), true)
	b.escape()
	equal(t, "focus", js[string](b, "document.activeElement.id"), "open-sidebar")
	b.click("#open-sidebar")
	b.button("New conversation")
	b.until("!document.body.classList.contains('drawer-open') && document.querySelectorAll('.message').length === 0")
}

func TestSkipLinkAndTheme(t *testing.T) {
	f := start(t, echo)
	b := open(t, f.URL)
	equal(t, "first thing that takes the focus", js[string](b, "document.querySelector('a, button, input, textarea, select').className"), "skip")
	js[chromedp.Void](b, "document.querySelector('.skip').focus()")
	if top := js[float64](b, "document.querySelector('.skip').getBoundingClientRect().top"); top < 0 {
		t.Error("the link that has the focus cannot be seen")
	}
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until("document.activeElement.id === 'prompt'")
	ground := func() string { return js[string](b, "getComputedStyle(document.body).backgroundColor") }
	b.see(1280, 800, "dark")
	dark := ground()
	b.click("#theme")
	light := ground()
	if dark == light {
		t.Error("the switch does not change the colours")
	}
	b.reload()
	equal(t, "colours after a reload", ground(), light)
}

func TestWhoeverReadsAboveIsLeftThere(t *testing.T) {
	more := make(chan struct{})
	f := start(t, func(_ request, a *answer) {
		a.say(strings.Repeat("A line.\n\n", 100))
		a.waitFor(more)
		a.say(strings.Repeat("Another line.\n\n", 100))
		a.end("stop")
	})
	b := open(t, f.URL)
	b.begin("Write")
	b.until("document.querySelectorAll('.block').length === 100")
	b.until("document.querySelector('#scroller').scrollTop > 1000") // it follows
	js[chromedp.Void](b, "document.querySelector('#scroller').scrollTop = 300")
	b.until("!document.querySelector('#to-end').hidden")
	close(more)
	b.answered()
	equal(t, "place", js[float64](b, "document.querySelector('#scroller').scrollTop"), 300.0)
	b.click("#to-end")
	b.until("document.querySelector('#to-end').hidden")
}

func TestABrowserThatKeepsNothing(t *testing.T) {
	f := start(t, echo)
	b := open(t, f.URL, `for (const name of ['indexedDB', 'localStorage', 'sessionStorage'])
		Object.defineProperty(window, name, { get() { throw new DOMException('not allowed', 'SecurityError'); } });`)
	if said := b.text("#toast"); !strings.Contains(said, "keeps nothing") {
		t.Errorf("the page says %q", said)
	}
	b.ask("hello")
	b.button("New conversation")
	b.ask("hello again")
	b.button("hello")
	b.until("document.querySelector('.prose')?.innerText === '1 messages, the last: hello'")
}

func TestDeletingAConversationEndsItsAnswer(t *testing.T) {
	left := make(chan struct{})
	f := start(t, func(_ request, a *answer) {
		for i := 0; a.r.Context().Err() == nil; i++ {
			a.say(fmt.Sprint(i, " "))
			time.Sleep(10 * time.Millisecond)
		}
		close(left)
	})
	b := open(t, f.URL)
	b.begin("count")
	b.until("document.querySelector('.prose')?.innerText.includes('20')")
	b.button("Delete count")
	b.button("Delete")
	<-left
	b.until("document.querySelectorAll('.message, .conversation').length === 0")
	b.reload()
	equal(t, "conversations", len(b.texts(".conversation")), 0)
}

func TestUnderAPrefix(t *testing.T) {
	f := start(t, echo)
	mux := http.NewServeMux()
	mux.Handle("/models/", http.StripPrefix("/models", f.Config.Handler))
	outer := httptest.NewServer(mux)
	t.Cleanup(outer.Close)
	b := open(t, outer.URL+"/models")
	b.ask("hello")
	equal(t, "answer", b.text(".prose"), "1 messages, the last: hello")
}
