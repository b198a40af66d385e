package serve_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/scriptedmodel"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve"
)

// recommending returns a model with a generation_config.json.
func recommending(t *testing.T, recommendation string) *llama.Model {
	t.Helper()
	dir := scriptedmodel.Write(t, scriptedmodel.Script{Template: agentTemplate, Special: []string{"<|turn|>", "<|before|>", "<|after|>"},
		Chains: [][]string{{"<|before|>", "Yes"}}})
	if err := os.WriteFile(filepath.Join(dir, "generation_config.json"), []byte(recommendation), 0o644); err != nil {
		t.Fatal(err)
	}
	m, err := llama.Load(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// drawing are the parameters that an answer was drawn with.
type drawing struct {
	Temperature float64 `json:"temperature"`
	TopK        int     `json:"top_k"`
	TopP        float64 `json:"top_p"`
	MinP        float64 `json:"min_p"`
	Repeat      float64 `json:"repeat_penalty"`
	Presence    float64 `json:"presence_penalty"`
}

// TestRecommended checks the parameters that an answer is drawn with: the request's come before the model's, and these before the interface's.
func TestRecommended(t *testing.T) {
	const drawn = `{"do_sample":true,"temperature":0.5,"top_p":0.75,"top_k":20,"min_p":0.25,"repetition_penalty":1.5,"presence_penalty":0.5}`
	for _, c := range []struct {
		name, files, request string
		plain                bool
		want                 drawing
	}{
		{"nothing", `{}`, ``, false, drawing{1, 0, 1, 0, 1, 0}},
		{"the model's", drawn, ``, false, drawing{0.5, 20, 0.75, 0.25, 1.5, 0.5}},
		{"turned off", drawn, ``, true, drawing{1, 0, 1, 0, 1, 0}},
		{"null", drawn, `"temperature":null,"top_k":null,"min_p":null,`, false, drawing{0.5, 20, 0.75, 0.25, 1.5, 0.5}},
		{"one of the request's", drawn, `"temperature":1.25,`, false, drawing{1.25, 20, 0.75, 0.25, 1.5, 0.5}},
		{"neutral ones", drawn, `"temperature":1,"top_k":0,"top_p":1,"min_p":0,"repeat_penalty":1,"presence_penalty":0,`, false, drawing{1, 0, 1, 0, 1, 0}},
		{"all tokens", drawn, `"top_k":-1,`, false, drawing{0.5, 0, 0.75, 0.25, 1.5, 0.5}},
		{"no penalties", drawn, `"repeat_last_n":0,`, false, drawing{0.5, 20, 0.75, 0.25, 1, 0}},
		{"greedy", `{"do_sample":false,"temperature":0.5,"top_k":20}`, ``, false, drawing{0, 0, 1, 0, 1, 0}},
		{"drawn nevertheless", `{"do_sample":false}`, `"temperature":0.5,`, false, drawing{0.5, 0, 1, 0, 1, 0}},
		{"penalties alone", `{"repetition_penalty":1.5}`, ``, false, drawing{1, 0, 1, 0, 1.5, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := recommending(t, c.files)
			h := start(t, func(o *serve.Options) {
				o.Models, o.PlainSampling = []serve.Model{{Name: "m", Loaded: m}}, c.plain
			})
			var got struct {
				Settings drawing `json:"generation_settings"`
			}
			status, text := post(t, h, "/completion", `{`+c.request+`"prompt":"a","n_predict":1}`)
			if err := json.Unmarshal([]byte(text), &got); err != nil || status != 200 || got.Settings != c.want {
				t.Errorf("status %d, %+v, %v; want %+v", status, got.Settings, err, c.want)
			}
			var response struct {
				Temperature float64 `json:"temperature"`
				TopP        float64 `json:"top_p"`
			}
			status, text = post(t, h, "/v1/responses", `{`+c.request+`"input":"a","max_output_tokens":1}`)
			if err := json.Unmarshal([]byte(text), &response); err != nil || status != 200 || response.Temperature != c.want.Temperature || response.TopP != c.want.TopP {
				t.Errorf("responses: status %d, %s", status, text)
			}
			if c.request != "" {
				return
			}
			var props struct {
				Defaults struct{ Params drawing } `json:"default_generation_settings"`
			}
			status, text = get(t, h, "/props")
			if err := json.Unmarshal([]byte(text), &props); err != nil || status != 200 || props.Defaults.Params != c.want {
				t.Errorf("the defaults are %s", text)
			}
			var list struct {
				Data []struct {
					Meta struct {
						Defaults struct {
							drawing
							Recommended bool `json:"recommended"`
						} `json:"defaults"`
					}
				}
			}
			status, text = get(t, h, "/v1/models")
			if err := json.Unmarshal([]byte(text), &list); err != nil || status != 200 || list.Data[0].Meta.Defaults.drawing != c.want ||
				list.Data[0].Meta.Defaults.Recommended != (m.HasSampling() && !c.plain) {
				t.Errorf("the models are %s", text)
			}
		})
	}
}

// TestOllamaRecommended checks that Ollama's defaults count only if the model recommends nothing.
func TestOllamaRecommended(t *testing.T) {
	greedy := start(t, func(o *serve.Options) {
		o.Models, o.PlainSampling = []serve.Model{{Name: "flint", Loaded: recommending(t, `{"do_sample":false}`)}}, false
	})
	said := func(more string) string {
		return ollama(t, greedy, "/api/chat", false, `"model":"flint","options":{`+more+`},"messages":[{"role":"user","content":"a"}]`)[0].Message.Content
	}
	if a, b := said(`"seed":1`), said(`"seed":2`); a != "Yes" || b != a {
		t.Errorf("with two seeds it said %q and %q", a, b)
	}
	status, text := post(t, start(t, func(o *serve.Options) {
		o.Models, o.PlainSampling = []serve.Model{{Name: "m", Loaded: recommending(t, `{"repetition_penalty":1.5}`)}}, false
	}), "/api/chat", `{"options":{"repeat_last_n":32},"messages":[{"role":"user","content":"a"}]}`)
	if want := `options.repeat_last_n`; status != 400 || !json.Valid([]byte(text)) || !strings.Contains(text, want) {
		t.Errorf("status %d: %s", status, text)
	}
}
