package serve_test

import (
	"bufio"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/llama/serve"
)

// streams are requests for streams, in all interfaces, of a long prompt for Pebble.
var streams = []struct{ name, path, body, first, ping string }{
	{"chat", "/v1/chat/completions", long + `,"stream":true}`, `"delta":{"role":"assistant","content":""}`, ":"},
	{"completions", "/v1/completions", `{"model":"pebble","max_tokens":4,"stream":true,"prompt":"` + strings.Repeat("The fox ate bread by the harbor. ", 150) + `"}`, ":", ":"},
	{"an echo", "/v1/completions", `{"model":"pebble","max_tokens":4,"stream":true,"echo":true,"prompt":"` + strings.Repeat("The fox ate bread by the harbor. ", 150) + `"}`, `"text":"The fox ate`, ":"},
	{"responses", "/v1/responses", strings.Replace(strings.Replace(long, "messages", "input", 1), "max_tokens", "max_output_tokens", 1) + `,"stream":true}`, "event: response.created", "event: response.in_progress"},
	{"messages", "/v1/messages", long + `,"stream":true}`, "event: message_start", "event: ping"},
}

// TestStreamsBeginAtOnce reads a stream while its prompt is being computed, which it stays until the test has read the header, the first event and
// several signs of life.
func TestStreamsBeginAtOnce(t *testing.T) {
	for _, c := range streams {
		t.Run(c.name, func(t *testing.T) {
			h, _, g := startGated(t, 64, func(o *serve.Options) { o.PingInterval = time.Millisecond })
			answer := send(t, "POST", h.URL+c.path, c.body)
			if answer.StatusCode != 200 || !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
				t.Fatalf("status %d, %v", answer.StatusCode, answer.Header)
			}
			lines := bufio.NewScanner(answer.Body)
			lines.Buffer(nil, 1<<20)
			await := func(what string) {
				for lines.Scan() {
					if strings.Contains(lines.Text(), what) && (what != ":" || lines.Text() == ":") {
						return
					}
				}
				t.Fatalf("the stream has no %q: %v", what, lines.Err())
			}
			await(c.first)
			for range 3 {
				await(c.ping)
			}
			<-g.reached
			g.open()
			rest := 0
			for lines.Scan() {
				rest += len(lines.Text())
			}
			if err := lines.Err(); err != nil || rest == 0 {
				t.Errorf("%v, %d bytes come after it", err, rest)
			}
		})
	}
}

// TestReturnProgress asks for llama-server's events of a prompt that is being computed.
func TestReturnProgress(t *testing.T) {
	h, _, g := startGated(t, 1<<30, nil)
	g.open()
	type progress struct{ Total, Cache, Processed int }
	for _, path := range []struct{ path, body string }{
		{"/v1/chat/completions", long}, {"/v1/completions", `{"model":"pebble","max_tokens":2,"prompt":"` + strings.Repeat("The dog saw a ship. ", 50) + `"`},
	} {
		for turn := range 2 {
			_, body := post(t, h, path.path, path.body+`,"stream":true,"return_progress":true,"stream_options":{"include_usage":true}}`)
			var all []progress
			var prompt int
			for _, event := range events(t, body) {
				var e struct {
					Progress *progress `json:"prompt_progress"`
					Choices  []struct{ Index *int }
					Usage    *struct {
						Prompt int `json:"prompt_tokens"`
					}
				}
				if event == "[DONE]" {
					continue
				}
				if err := json.Unmarshal([]byte(event), &e); err != nil {
					t.Fatal(err)
				}
				if e.Progress != nil {
					if len(e.Choices) != 1 || e.Choices[0].Index == nil {
						t.Errorf("an event of progress is %s", event)
					}
					all = append(all, *e.Progress)
				}
				if e.Usage != nil {
					prompt = e.Usage.Prompt
				}
			}
			if len(all) < 2 {
				t.Fatalf("%s has %d events of progress: %.2000s", path.path, len(all), body)
			}
			first, last := all[0], all[len(all)-1]
			if first.Total != prompt || first.Processed != first.Cache || last.Processed != prompt || (turn == 1) != (first.Cache > 0) {
				t.Errorf("turn %d: from %+v to %+v, of %d tokens", turn, first, last, prompt)
			}
			for i := 1; i < len(all); i++ {
				if all[i].Total != prompt || all[i].Cache != first.Cache || all[i].Processed <= all[i-1].Processed {
					t.Errorf("%+v after %+v", all[i], all[i-1])
				}
			}
		}
		if _, body := post(t, h, path.path, path.body+`,"stream":true}`); strings.Contains(body, "prompt_progress") {
			t.Error("progress is told without being asked for")
		}
	}
}

// TestMessageStartSaysWhatIsCached compares the usage of a stream's beginning with that of its end.
func TestMessageStartSaysWhatIsCached(t *testing.T) {
	h := start(t, nil)
	const body = `{"model":"flint","max_tokens":3,"temperature":0,"stream":true,"messages":[{"role":"user","content":"Tell me about the harbor, the garden and the village."}]}`
	type usage struct {
		Input  int `json:"input_tokens"`
		Cached int `json:"cache_read_input_tokens"`
		Output int `json:"output_tokens"`
	}
	for turn := range 2 {
		_, text := post(t, h, "/v1/messages", body)
		var first, last usage
		for _, event := range events(t, text) {
			var e struct {
				Type    string
				Message struct{ Usage usage }
				Usage   usage
			}
			if err := json.Unmarshal([]byte(event), &e); err != nil {
				t.Fatal(err)
			}
			switch e.Type {
			case "message_start":
				first = e.Message.Usage
			case "message_delta":
				last = e.Usage
			}
		}
		if first.Output != 0 || first.Input != last.Input || first.Cached != last.Cached || first.Input == 0 || (turn == 1) != (first.Cached > 0) {
			t.Errorf("turn %d: %+v at first, %+v at the end", turn, first, last)
		}
	}
}
