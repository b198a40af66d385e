package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
)

// TestRecommend gives a model a recommendation, and flags that say otherwise.
func TestRecommend(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(fixture.Path(t, "hf/llama2-mha-f32"))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "generation_config.json"), []byte(`{"temperature":0.5,"top_k":20,"repetition_penalty":1.5}`), 0o644); err != nil {
		t.Fatal(err)
	}
	m, err := llama.Load(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, c := range []struct {
		args []string
		want llama.Params
		says string
	}{
		{nil, llama.Params{Temperature: 0.5, TopK: 20, RepeatPenalty: 1.5},
			"drawn as the model's files recommend: temperature 0.5, top-k 20, repeat penalty 1.5 (-recommended=false: not)\n"},
		{[]string{"-top-k", "0", "-temperature", "1"}, llama.Params{Temperature: 1, RepeatPenalty: 1.5},
			"drawn as the model's files recommend, but for -temperature and -top-k: temperature 1, repeat penalty 1.5 (-recommended=false: not)\n"},
		{[]string{"-recommended=false", "-top-p", "0.5"}, llama.Params{TopP: 0.5}, ""},
	} {
		var p llama.Params
		f := NewFlags("x", "")
		SamplingFlags(f, &p, 0)
		if err := f.Parse(c.args, io.Discard); err != nil {
			t.Fatal(err)
		}
		var says bytes.Buffer
		if Recommend(f, m, &p, &says) != (c.says != "") || says.String() != c.says {
			t.Errorf("%q says %q", c.args, says.String())
		}
		if p.Temperature != c.want.Temperature || p.TopK != c.want.TopK || p.TopP != c.want.TopP || p.RepeatPenalty != c.want.RepeatPenalty {
			t.Errorf("%q: %+v, want %+v", c.args, p, c.want)
		}
	}
}
