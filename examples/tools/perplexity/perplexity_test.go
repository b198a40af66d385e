package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/internal/countdown"
	"github.com/antigravity-go/antigravity/llama"
)

func perplexity(t testing.TB, args ...string) (string, error) {
	t.Helper()
	var out, notes bytes.Buffer
	err := run(t.Context(), args, nil, &out, &notes)
	return out.String(), err
}

// measured runs the program on a few of the dialogues.
func measured(t *testing.T, args ...string) (r result) {
	t.Helper()
	out, err := perplexity(t, append([]string{"-json", "-windows", "4", "-ctx", "128"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%q: %v", out, err)
	}
	return r
}

// TestChunksForeseeLikeSingleTokens holds the fast way equal to the one that evictions need.
func TestChunksForeseeLikeSingleTokens(t *testing.T) {
	chunks := measured(t, "-kv-type", "f16", "-kl=false")
	single := measured(t, "-kv-type", "f16")
	if math.Abs(chunks.Perplexity-single.Perplexity) > 1e-6 || chunks.Tokens != single.Tokens {
		t.Errorf("perplexity %v of %d tokens in chunks, %v of %d one by one", chunks.Perplexity, chunks.Tokens, single.Perplexity, single.Tokens)
	}
	if chunks.KL != nil || single.KL == nil {
		t.Error("-kl=false must not compare, and without it there must be a comparison")
	}
}

func TestWhatCachesCost(t *testing.T) {
	full := measured(t, "-kv-type", "f32")
	if full.Perplexity < 1 || full.Perplexity > 5 {
		t.Errorf("perplexity %v: the dialogues are of the kind that the model knows", full.Perplexity)
	}
	last := 0.0
	for _, c := range []struct {
		args  []string
		below float64 // mean divergence
	}{
		{[]string{"-kv-type", "f16"}, 1e-3},
		{[]string{"-kv-type", "q4_0"}, 1e-2},
		{[]string{"-kv-type", "f16", "-eviction-policy", "sliding", "-eviction-window", "16"}, 5},
	} {
		r := measured(t, c.args...)
		if *r.KL <= last || *r.KL > c.below || *r.KL99 < *r.KL {
			t.Errorf("%v: divergence %v, 99 %% below %v, want more than %v and at most %v", c.args, *r.KL, *r.KL99, last, c.below)
		}
		if *r.Agreement <= 0.5 || *r.Agreement > 1 {
			t.Errorf("%v: agreement %v", c.args, *r.Agreement)
		}
		if math.Abs(*r.Reference-full.Perplexity) > 1e-6 {
			t.Errorf("%v: the reference's perplexity is %v, that of an F32 cache %v", c.args, *r.Reference, full.Perplexity)
		}
		if r.PeakCacheBytes >= full.PeakCacheBytes {
			t.Errorf("%v: %d bytes of cache, of an F32 cache %d", c.args, r.PeakCacheBytes, full.PeakCacheBytes)
		}
		last = *r.KL
	}
}

// TestOnlyWhatFollowsAPromptIsJudged lets a window that nothing leaves write what the unlimited cache writes, and one that is too small
// something else.
func TestOnlyWhatFollowsAPromptIsJudged(t *testing.T) {
	for _, c := range []struct {
		args []string
		same bool
	}{
		{[]string{"-kv-type", "f32", "-eviction-policy", "sliding", "-eviction-window", "60"}, true},
		{[]string{"-kv-type", "f32"}, true},
		{[]string{"-kv-type", "f32", "-eviction-policy", "sliding", "-eviction-window", "8", "-protected-prefix", "0"}, false},
	} {
		r := measured(t, append([]string{"-ctx", "44", "-skip", "24", "-write", "20", "-windows", "2"}, c.args...)...)
		w := r.Written
		if w == nil || w.Tokens != 20 || (w.Same == 1) != c.same || (w.Equal == 20) != c.same || (w.Perplexity == w.Reference) && !c.same {
			t.Errorf("%v: %+v", c.args, w)
		}
		if r.Tokens > 2*20 || r.Skip != 24 || c.same && (r.KL == nil || *r.KL != 0) {
			t.Errorf("%v: %d tokens were judged: %+v", c.args, r.Tokens, r)
		}
	}
}

func TestTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text.txt")
	if err := os.WriteFile(path, []byte("What is the capital of Japan? The capital of Japan is Tokyo."), 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := perplexity(t, "-file", path, "-eviction-policy", "keydiff", "-eviction-window", "8")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"tokens foreseen", "f16, keydiff to 8 slots", "KL divergence", "same favourite"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestMistakes(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.txt")
	if err := os.WriteFile(empty, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		args  []string
		usage bool
		want  string
	}{
		{"a window of one token", []string{"-ctx", "1"}, true, "at least 2"},
		{"a window beyond the context", []string{"-ctx", "100000"}, true, "2048"},
		{"a prompt as long as a window", []string{"-ctx", "8", "-skip", "7"}, true, "-skip 7"},
		{"to write without a prompt", []string{"-write", "7"}, true, "-write 7"},
		{"to write and not to compare", []string{"-write", "7", "-skip", "3", "-kl=false"}, true, "-kl"},
		{"to write beyond the context", []string{"-write", "2040", "-skip", "30"}, true, "2048"},
		{"no window behind a prompt", []string{"-ctx", "2000", "-skip", "1990"}, false, "-skip 1990"},
		{"no such policy", []string{"-eviction-policy", "lru"}, true, "keydiff"},
		{"no such file", []string{"-file", "no/such.txt"}, false, "no/such.txt"},
		{"no text", []string{"-file", empty}, false, "foresee"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := perplexity(t, c.args...)
			if err == nil {
				t.Fatal("no error")
			}
			var usage *cli.UsageError
			if !strings.Contains(err.Error(), c.want) || errors.As(err, &usage) != c.usage {
				t.Errorf("error %q (a usage error: %v), want one that has %q (%v)", err, !c.usage, c.want, c.usage)
			}
		})
	}
}

func TestCut(t *testing.T) {
	const bos = 9
	for _, c := range []struct {
		name string
		text []llama.Token
		bos  llama.Token
		want [][]llama.Token
	}{
		{"nothing", nil, bos, nil},
		{"nothing to foresee", []llama.Token{1}, -1, nil},
		{"begin of text comes first", []llama.Token{1, 2}, bos, [][]llama.Token{{9, 1, 2}}},
		{"full windows", []llama.Token{1, 2, 3}, bos, [][]llama.Token{{9, 1, 2}, {9, 3}}},
		{"documents", []llama.Token{9, 1, 9, 9, 2}, bos, [][]llama.Token{{9, 1}, {9, 2}}},
		{"no begin of text", []llama.Token{1, 2, 3, 4, 5}, -1, [][]llama.Token{{1, 2, 3}, {4, 5}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := cut(c.text, c.bos, 3); !equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

func equal(x, y [][]llama.Token) bool {
	a, _ := json.Marshal(x)
	b, _ := json.Marshal(y)
	return string(a) == string(b)
}

func TestSpread(t *testing.T) {
	for _, c := range []struct{ n, first, last, count int }{{0, 0, 9, 10}, {3, 0, 6, 3}, {10, 0, 9, 10}, {99, 0, 9, 10}} {
		got := evenly([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, c.n)
		if len(got) != c.count || got[0] != c.first || got[len(got)-1] != c.last {
			t.Errorf("%d of ten: %v", c.n, got)
		}
	}
}

func TestPrediction(t *testing.T) {
	even, sure := newPrediction([]float32{1, 1, 1, 1}), newPrediction([]float32{0, 0, 200, 0})
	if got := even.log(2); math.Abs(got-math.Log(0.25)) > 1e-12 {
		t.Errorf("log of a quarter is %v", got)
	}
	if sure.favourite != 2 || sure.log(2) != 0 {
		t.Errorf("%+v", sure)
	}
	if got := sure.divergence(even); math.Abs(got-math.Log(4)) > 1e-12 {
		t.Errorf("divergence %v, want log 4", got)
	}
	if got := even.divergence(even); got != 0 {
		t.Errorf("divergence from itself: %v", got)
	}
}

func TestSample(t *testing.T) {
	s := sample{4, 1, 3, 2}
	if mean, e := s.mean(); mean != 2.5 || math.Abs(e-math.Sqrt(5.0/12)) > 1e-12 {
		t.Errorf("%v ± %v", mean, e)
	}
	if p, e := (sample{math.Log(2), math.Log(2)}).perplexity(); math.Abs(p-2) > 1e-12 || e != 0 {
		t.Errorf("perplexity %v ± %v", p, e)
	}
	for q, want := range map[float64]float64{0: 1, 0.5: 2, 0.51: 3, 0.99: 4, 1: 4} {
		if got := s.quantile(q); got != want {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
}

func TestInterrupted(t *testing.T) {
	for _, looks := range []int{0, 100, 240, 260} { // loading takes 210
		err := run(countdown.New(t.Context(), looks), []string{"-ctx", "128", "-windows", "3"}, nil, new(bytes.Buffer), new(bytes.Buffer))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("at look %d: %v", looks, err)
		}
	}
}
