package page

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/llama/flint"
	"github.com/antigravity-go/antigravity/llama/serve"
	"github.com/antigravity-go/antigravity/llama/serve/page"
)

// The page talks with a real model through the real server.
func TestFlint(t *testing.T) {
	model, err := flint.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	server, err := serve.New(serve.Options{Models: []serve.Model{{Name: "flint", Loaded: model}}})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	mux := http.NewServeMux()
	mux.Handle("/", server)
	mux.Handle("/{$}", page.Handler())
	mux.Handle("/page/", page.Handler())
	listener := httptest.NewServer(mux)
	defer listener.Close()

	b := open(t, listener.URL)
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
	if cache := b.text("#cache-button"); !strings.Contains(cache, "slots") {
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
