package serve_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama/serve"
)

// longTalk returns the messages of a conversation of some turns and the last message. The first turn asks for a call. system is its
// instructions, or "".
func longTalk(turns int, system, last string) string {
	var list []string
	if system != "" {
		list = append(list, `{"role":"system","content":"`+system+`"}`)
	}
	for i := range turns {
		list = append(list, fmt.Sprintf(`{"role":"user","content":"Question %d: %s"}`, i, strings.Repeat("why ", 30)),
			fmt.Sprintf(`{"role":"assistant","content":"Answer %d: %s"}`, i, strings.Repeat("so ", 30)))
	}
	return strings.Join(append(list, `{"role":"user","content":"`+last+`"}`), ",")
}

// TestTruncation asks for answers to conversations that do not fit: all interfaces refuse them, or leave the same messages out.
func TestTruncation(t *testing.T) {
	effort.Turn(t, 8)
	const turns, last = 60, "What is the capital of Japan?"
	talk := longTalk(turns, "Answer briefly.", last)
	plain := longTalk(turns, "", last)
	bodies := map[string]string{ // but for truncation
		"/v1/chat/completions": `{"model":"flint","temperature":0,"max_tokens":8,"messages":[` + talk + `]`,
		"/v1/responses":        `{"model":"flint","temperature":0,"max_output_tokens":8,"store":false,"instructions":"Answer briefly.","input":[` + plain + `]`,
		"/v1/messages":         `{"model":"flint","temperature":0,"max_tokens":8,"system":"Answer briefly.","messages":[` + plain + `]`,
	}
	off, on := start(t, nil), start(t, func(o *serve.Options) { o.DropTurns = true })
	for path, body := range bodies {
		for _, c := range []struct {
			drops, truncates bool
			truncation       string
		}{
			{false, false, ""}, {false, false, "disabled"}, {false, true, "auto"}, {true, true, ""}, {true, true, "auto"}, {true, false, "disabled"},
		} {
			h := off
			if c.drops {
				h = on
			}
			request := body + "}"
			if c.truncation != "" {
				if path == "/v1/messages" {
					continue
				}
				request = body + `,"truncation":"` + c.truncation + `"}`
			}
			answer := send(t, "POST", h.URL+path, request)
			text, _ := io.ReadAll(answer.Body)
			dropped, _ := strconv.Atoi(answer.Header.Get("X-Dropped-Messages"))
			if !c.truncates && (answer.StatusCode != 400 || dropped != 0) || c.truncates && (answer.StatusCode != 200 || dropped == 0 || dropped%2 != 0) {
				t.Errorf("%s %+v: status %d, %d messages were left out: %s", path, c, answer.StatusCode, dropped, text)
			}
			if c.truncates && path == "/v1/responses" && !strings.Contains(string(text), `"truncation":"auto"`) {
				t.Errorf("the response says %s", text)
			}
		}
	}
	refused(t, off, "/v1/chat/completions", bodies["/v1/chat/completions"]+"}", 400, "messages", "context_length_exceeded", "truncation")
	refused(t, off, "/v1/chat/completions", bodies["/v1/chat/completions"]+`,"truncation":"some"}`, 400, "truncation", "invalid_value", `"auto"`)
	refused(t, on, "/v1/chat/completions", `{"model":"flint","messages":[`+longTalk(3, "", strings.Repeat("why ", 3000))+`]}`, 400, "messages", "context_length_exceeded", "last turn")
	if status, text := post(t, on, "/v1/messages/count_tokens", `{"model":"flint","messages":[`+plain+`]}`); status != 200 {
		t.Errorf("counting: status %d: %s", status, text)
	} else {
		var count struct {
			Tokens int `json:"input_tokens"`
		}
		if err := json.Unmarshal([]byte(text), &count); err != nil || count.Tokens < 2048 {
			t.Errorf("counting leaves something out: %s, %v", text, err)
		}
	}
}

// TestTruncationLeavesRoom checks how many turns are left out: enough for the answer, and no more than needed.
func TestTruncationLeavesRoom(t *testing.T) {
	effort.Turn(t, 8)
	h := start(t, nil)
	dropped := func(turns int, more string) int {
		answer := send(t, "POST", h.URL+"/v1/chat/completions",
			`{"model":"flint","temperature":0,"stop":["a","e","i","o"],"truncation":"auto","stream":true,"stream_options":{"include_stats":true},"messages":[`+longTalk(turns, "", "Hello")+`]`+more+`}`)
		text, _ := io.ReadAll(answer.Body)
		data := events(t, string(text))
		var stats struct {
			Stats struct {
				Dropped int `json:"dropped_messages"`
			}
		}
		if answer.StatusCode != 200 || len(data) < 2 {
			t.Fatalf("status %d: %s", answer.StatusCode, text)
		}
		if err := json.Unmarshal([]byte(data[len(data)-2]), &stats); err != nil {
			t.Fatal(err)
		}
		if header, _ := strconv.Atoi(answer.Header.Get("X-Dropped-Messages")); header != stats.Stats.Dropped {
			t.Errorf("the header says %d, and the stream %d", header, stats.Stats.Dropped)
		}
		return stats.Stats.Dropped
	}
	if n := dropped(2, ""); n != 0 {
		t.Errorf("of a conversation that fits %d messages are left out", n)
	}
	little, much := dropped(60, `,"max_tokens":1`), dropped(60, "")
	if little == 0 || much <= little || dropped(60, `,"max_tokens":2000`) != much {
		t.Errorf("for an answer of one token %d messages are left out, for a long one %d", little, much)
	}
}
