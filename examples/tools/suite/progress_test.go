package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
	"github.com/antigravity-go/antigravity/examples/tools/suite/internal/rounds"
)

func TestLine(t *testing.T) {
	at := time.Unix(1000, 0)
	for _, c := range []struct {
		name string
		now  current
		want string
	}{
		{"nothing is known", current{label: "q8_0, repetition 1", began: at, outlook: rounds.Outlook{Least: 6, Most: 20}}, "1/6+ q8_0, repetition 1 · 4.0 s"},
		{"in the middle", current{label: "q8_0, repetition 2", part: "reading 12/64", began: at, expected: 10, spread: "spread so far 3.1 %",
			outlook: rounds.Outlook{Done: 2, Least: 4, Most: 18, Soonest: 40, Latest: 180, Known: true}},
			"3/6+ q8_0, repetition 2 · reading 12/64 · 4.0 s of about 10 s · 36 s to 3 min left · spread so far 3.1 %"},
		{"longer than expected", current{label: "q8_0, repetition 2", began: at, expected: 3,
			outlook: rounds.Outlook{Done: 5, Least: 1, Most: 1, Soonest: 3, Latest: 3, Known: true}},
			"6/6 q8_0, repetition 2 · 4.0 s of about 3.0 s · about 0.0 s left"},
	} {
		if got := c.now.line(at.Add(4 * time.Second)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestDuration(t *testing.T) {
	for seconds, want := range map[float64]string{0: "0.0 s", 9.94: "9.9 s", 9.96: "10 s", 99: "99 s", 100: "2 min", 3600: "60 min", 7200: "2.0 h", 1e6: "277.8 h"} {
		if got := duration(seconds); got != want {
			t.Errorf("%v: %q, want %q", seconds, got, want)
		}
	}
}

func TestLabels(t *testing.T) {
	a := runs.Config{Model: "pebble", Backend: "cpu", KV: "f16", Policy: "none", Prompt: 64}
	b := a
	b.KV, b.Policy, b.Window, b.Weights = "q8_0", "h2o", 128, "q4_0"
	p := newProgress(new(bytes.Buffer), []runs.Config{a, b})
	if got, want := p.label(&a), "stored f16 none"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := p.label(&b), "q4_0 q8_0 h2o window 128"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := newProgress(new(bytes.Buffer), []runs.Config{a}).label(&a); got != "pebble" {
		t.Errorf("a single configuration: %q", got)
	}
}

// TestTerminal follows the line that is always the newest.
func TestTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		configs := []runs.Config{{Model: "pebble", KV: "f16", Generate: 2}, {Model: "pebble", KV: "q8_0", Generate: 2}}
		r := rounds.New(rounds.Rule{Least: 1, Most: 1}, configs)
		var out bytes.Buffer
		p := &progress{w: &out, terminal: true, varying: varying(configs), done: make(chan struct{})}
		p.ended.Go(p.tick)
		p.begin(&configs[0], 1, r)
		time.Sleep(1500 * time.Millisecond)
		p.part("generating 1/2")
		done := &runs.Run{Config: configs[0], Repetition: 1, Tokens: []float64{1, 2}}
		r.Note(done, 1.5)
		p.end(done, 1.5, r)
		p.begin(&configs[1], 1, r)
		p.end(&runs.Run{Config: configs[1], Repetition: 1, Error: "it broke"}, 2, r)
		p.close()
		p.say("and then")
		p.close()
		got := strings.Split(strings.TrimPrefix(out.String(), "\r\x1b[K"), "\r\x1b[K")
		want := []string{
			"1/2 f16, repetition 1 · 0.0 s",
			"1/2 f16, repetition 1 · 1.0 s",
			"1/2 f16, repetition 1 · generating 1/2 · 1.5 s",
			"2/2 q8_0, repetition 1 · 0.0 s of about 1.5 s · about 1.5 s left",
			"1/2  q8_0, repetition 1: failed: it broke, in 2.0 s; about 1.5 s left\n",
			"and then\n",
		}
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%q\nwant\n%q", got, want)
		}
	})
}

// A child's last words, and a run's name, must not command the terminal.
func TestProgressObeysNobody(t *testing.T) {
	var b strings.Builder
	p := newProgress(&b, []runs.Config{{}})
	p.say("failed: %s", "\x1b]0;x\a\x1b[2J\rdone\u202E")
	p.terminal, p.now.label = true, "a\x1b[31m\nb" // as on a terminal
	p.part("\x1b[1m")
	if rest := strings.ReplaceAll(b.String(), "\r\x1b[K", ""); strings.ContainsAny(rest, "\x1b\a\r\u202E") || strings.Count(rest, "\n") != 1 {
		t.Errorf("%q", rest)
	}
}
