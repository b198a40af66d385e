package page

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/flint"
	"github.com/antigravity-go/antigravity/llama/opal"
	"github.com/antigravity-go/antigravity/llama/pebble"
	"github.com/antigravity-go/antigravity/llama/serve"
	"github.com/antigravity-go/antigravity/llama/serve/page"
)

// serveFlint serves the page with a real model.
func serveFlint(t *testing.T) (url string) {
	return serveModels(t, serve.Model{Name: "flint", Load: func(ctx context.Context) (*llama.Model, error) { return flint.LoadContext(ctx, nil) }})
}

// serveSamples serves what examples/serve does if no model is named.
func serveSamples(t *testing.T) (url string) {
	load := func(load func(context.Context, *llama.LoadOptions) (*llama.Model, error)) func(context.Context) (*llama.Model, error) {
		return func(ctx context.Context) (*llama.Model, error) { return load(ctx, nil) }
	}
	return serveModels(t, serve.Model{Name: "pebble", Load: load(pebble.LoadContext)}, serve.Model{Name: "flint", Load: load(flint.LoadContext)}, serve.Model{Name: "opal", Load: load(opal.LoadContext)})
}

func serveModels(t *testing.T, models ...serve.Model) (url string) {
	server, err := serve.New(serve.Options{Models: models})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	mux := http.NewServeMux()
	mux.Handle("/", server)
	mux.Handle("/{$}", page.Handler())
	mux.Handle("/page/", page.Handler())
	listener := httptest.NewServer(mux)
	t.Cleanup(listener.Close)
	return listener.URL
}

// What the page proposes to try has the right answers, and leaves the next conversation as it was.
func TestTries(t *testing.T) {
	b := open(t, serveSamples(t))
	b.see(1100, 800, "light")
	b.still()
	b.picture("welcome")
	b.see(390, 844, "light")
	b.still()
	b.picture("welcome-phone")
	equal(t, "nothing is wider than a phone", js[bool](b, "document.documentElement.scrollWidth <= 390"), true)
	b.see(1100, 800, "light")
	if words := b.text("#welcome-samples"); !strings.Contains(words, "7 million parameters") {
		t.Errorf("of the model that it begins with, the page says %q", words)
	}
	try := func(title string) {
		b.button("New conversation")
		equal(t, "model of a new conversation", js[string](b, "document.querySelector('#model').value"), "pebble")
		js[chromedp.Void](b, fmt.Sprintf("[...document.querySelectorAll('.try')].find((one) => one.innerText.includes(%q)).click()", title))
		b.until("document.querySelector('.assistant')")
		b.answered()
	}
	equal(t, "number of tries", len(b.texts(".try")), 5)
	try("capital")
	equal(t, "answer", b.text(".prose"), "The capital of Japan is Tokyo.")
	try("story")
	if story := b.text(".prose"); !strings.Contains(story, "fox") || !strings.HasPrefix(story, "Once upon a time") {
		t.Errorf("the story is %q", story)
	}
	try("function")
	equal(t, "call", b.text(".card header"), "get_weather")
	b.button("Send the result")
	b.until("document.querySelectorAll('.assistant').length === 2")
	b.answered()
	equal(t, "answer with the result", b.texts(".assistant .prose")[1], "It is 8 degrees and windy in Nairobi.")
	try("form")
	equal(t, "form", js[string](b, `{ const { name, age, city, likes } = JSON.parse(document.querySelector('.prose').innerText); [name, age, city, likes].join() }`),
		"Nina,34,Lisbon,soup,bread")
	try("picture")
	equal(t, "answer about a picture", b.text(".prose"), "3")
	b.picture("welcome-picture")
	b.ask("What color are the squares?")
	equal(t, "another answer about it", b.texts(".prose")[1], "Blue.")
	equal(t, "the meter is there", js[bool](b, "document.querySelector('#cache-button').hidden"), false)
	js[chromedp.Void](b, `{ const list = document.querySelector('#model'); list.value = 'pebble'; list.dispatchEvent(new Event('change')); }`)
	equal(t, "the meter of another model is gone", js[bool](b, "document.querySelector('#cache-button').hidden"), true)
}

// A conversation that fills the real context goes on without its beginning.
func TestFlintGoesOn(t *testing.T) {
	b := open(t, serveFlint(t))
	b.expect("Failed to load resource")
	b.click("#open-settings")
	b.fill("#set-max_completion_tokens", "8")
	b.click("#close-settings")
	for i := range 3 {
		// Pasted: ten thousand keys take a minute.
		js[chromedp.Void](b, fmt.Sprintf(`{ const field = document.querySelector('#prompt'); field.value = %q; field.dispatchEvent(new Event('input')); }`,
			strings.Repeat("The fox ate bread by the harbor. ", 100+i)))
		b.do(chromedp.Focus(chromedp.CSS("#prompt")))
		b.press("Enter", "Enter", 13, chromedp.ModifierNone)
		b.answered()
	}
	if notice := b.text(".problem"); !strings.Contains(notice, "more than the model can read") {
		t.Fatalf("the notice says %q", notice)
	}
	b.button("Go on without the oldest messages")
	b.until("document.querySelector('.note')")
	if note := b.texts(".note"); !strings.Contains(strings.Join(note, " "), "did not read the oldest") {
		t.Errorf("the notes say %q", note)
	}
}

// The page talks with a real model through the real server.
func TestFlint(t *testing.T) {
	b := open(t, serveFlint(t))
	b.click("#open-settings")
	for name, text := range map[string]string{"temperature": "0", "seed": "1", "top_p": "0.9", "top_k": "40", "min_p": "0.05",
		"max_completion_tokens": "200", "stop": "###", "system": "Answer briefly."} {
		b.fill("#set-"+name, text)
	}
	b.click("#close-settings")
	b.ask("What is the capital of Japan?")
	if answer := b.text(".prose"); !strings.Contains(answer, "Tokyo") {
		t.Errorf("the answer is %q", answer)
	}
	if numbers := b.text(".costs"); !strings.Contains(numbers, "tokens/s") || !strings.Contains(numbers, "first after") {
		t.Errorf("the numbers are %q", numbers)
	}
	if cache := b.text("#cache-button"); !strings.Contains(cache, "tokens") {
		t.Errorf("the cache is %q", cache)
	}
	first := b.text(".prose")
	b.button("Another answer")
	b.until("document.querySelector('.versions')")
	b.answered()
	equal(t, "the same request and seed", b.text(".prose"), first)

	b.button("New conversation")
	b.click("#open-settings")
	b.fill("#set-system", "")
	b.click("#sample-tools")
	b.click("#close-settings")
	b.ask("How warm is it in Nairobi?")
	equal(t, "call", b.text(".card header"), "get_weather")
	result := js[string](b, "document.querySelector('.card textarea').value")
	b.button("Send the result")
	b.until("document.querySelectorAll('.assistant').length === 2")
	b.answered()
	if answer := b.texts(".prose")[1]; !strings.Contains(answer, "Nairobi") {
		t.Errorf("after the result %s the answer is %q", result, answer)
	}
	b.picture("flint")
	if notices := b.texts(".problem"); len(notices) > 0 {
		t.Errorf("the page complains: %q", notices)
	}
}

// An answer of a few tokens at a time, each continued, is the answer that comes at once.
func TestFlintContinues(t *testing.T) {
	b := open(t, serveFlint(t))
	set := func(tokens string) {
		b.click("#open-settings")
		b.fill("#set-temperature", "0")
		b.fill("#set-max_completion_tokens", tokens)
		b.click("#close-settings")
	}
	set("200")
	b.ask("What is the capital of Japan?")
	whole := b.text(".prose")
	b.button("New conversation")
	set("3")
	b.ask("What is the capital of Japan?")
	for range 20 {
		if len(b.texts(".turn-end button")) == 0 {
			break
		}
		b.button("Continue")
		b.answered()
	}
	equal(t, "answer", b.text(".prose"), whole)
	if strings.Count(whole, " ") < 3 {
		t.Errorf("the answer %q is too short to be continued", whole)
	}
	if notices := b.texts(".problem"); len(notices) > 0 {
		t.Errorf("the page complains: %q", notices)
	}
}
