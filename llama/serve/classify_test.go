package serve_test

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
)

// TestClassify compares what the server says of texts with what the models say.
func TestClassify(t *testing.T) {
	h := startEncoders(t, "cls-bert", "cls-xlmr", "tok-bert", "enc-bert")
	model, err := llama.Load(fixture.Path(t, "families/cls-bert"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	texts := []string{"The quick brown fox.", "東京 is a capital 😀"}
	want, err := model.Classify(t.Context(), texts...)
	if err != nil {
		t.Fatal(err)
	}
	input, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	read := func(path, body string, into any) {
		t.Helper()
		status, text := post(t, h, path, body)
		if err := json.Unmarshal([]byte(text), into); status != 200 || err != nil {
			t.Fatalf("%s: status %d, %s, %v", path, status, text, err)
		}
	}
	type score struct {
		Label string
		Score float32
	}
	var labels struct {
		Data []struct {
			Index  int
			Label  string
			Probs  []float32
			Count  int `json:"num_classes"`
			Labels []score
		}
		Usage struct {
			Tokens int `json:"prompt_tokens"`
		}
	}
	for _, path := range []string{"/v1/classify", "/classify"} {
		read(path, `{"model":"cls-bert","input":`+string(input)+`}`, &labels)
		for i, d := range labels.Data {
			best := 0
			for j, l := range want[i] {
				if d.Probs[j] != l.Score {
					t.Errorf("text %d: %s has %g, want %g", i, l.Name, d.Probs[j], l.Score)
				}
				if l.Score > want[i][best].Score {
					best = j
				}
			}
			if d.Index != i || d.Label != want[i][best].Name || d.Count != 4 || d.Labels[0].Label != d.Label || labels.Usage.Tokens == 0 {
				t.Errorf("text %d: %+v", i, d)
			}
		}
	}
	var moderation struct {
		Results []struct {
			Flagged    bool
			Categories map[string]bool
			Scores     map[string]float32 `json:"category_scores"`
		}
	}
	read("/v1/moderations", `{"model":"cls-xlmr","input":[{"type":"text","text":"The quick brown fox."}]}`, &moderation)
	if r := moderation.Results; len(r) != 1 || len(r[0].Categories) != 3 {
		t.Fatalf("%+v", r)
	}
	for name, score := range moderation.Results[0].Scores {
		r := moderation.Results[0]
		if r.Categories[name] != (score >= .5) || score >= .5 && !r.Flagged {
			t.Errorf("%s has %g: %+v", name, score, r)
		}
	}
	pairs, err := model.ClassifyPairs(t.Context(), [2]string{texts[0], texts[1]})
	if err != nil {
		t.Fatal(err)
	}
	var one []score
	read("/predict", `{"model":"cls-bert","inputs":`+string(input)+`}`, &one)
	for i, s := range one {
		near := false
		for _, l := range pairs[0] {
			near = near || l.Name == s.Label && l.Score == s.Score
		}
		if !near || i > 0 && s.Score > one[i-1].Score {
			t.Errorf("a pair: %+v, want %+v", one, pairs[0])
		}
	}
	var many [][]score
	read("/predict", `{"model":"cls-bert","inputs":[["`+texts[0]+`"],["`+texts[1]+`"]]}`, &many)
	read("/predict", `{"model":"cls-bert","inputs":"`+texts[0]+`"}`, &one)
	if len(many) != 2 || !reflect.DeepEqual(many[0], one) {
		t.Errorf("%+v; alone %+v", many, one)
	}
	var entities struct {
		Data []struct {
			Entities []struct {
				Label, Text string
				Start, End  int
				Score       float64
			}
		}
	}
	read("/v1/classify", `{"model":"tok-bert","input":`+string(input)+`}`, &entities)
	for i, d := range entities.Data {
		for _, e := range d.Entities {
			if e.Text != texts[i][e.Start:e.End] || e.Label == "O" || math.IsNaN(e.Score) {
				t.Errorf("text %d: %+v", i, e)
			}
		}
	}
}

// TestClassifyLongTexts classifies texts of several windows, and joins tags in several ways, as the models do.
func TestClassifyLongTexts(t *testing.T) {
	h := startEncoders(t, "cls-bert", "tok-bert")
	load := func(name string) *llama.Model {
		m, err := llama.Load(fixture.Path(t, "families/"+name), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close() })
		return m
	}
	labels, tags := load("cls-bert"), load("tok-bert")
	long := strings.TrimSpace(strings.Repeat("The quick brown fox, naïve café 😀 東京. ", 30))
	input, err := json.Marshal(long)
	if err != nil {
		t.Fatal(err)
	}
	for _, way := range []llama.Windows{llama.MeanScores, llama.BestScores} {
		want, err := way.Classify(t.Context(), labels, long)
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ Data []struct{ Probs []float32 } }
		status, text := post(t, h, "/v1/classify", `{"model":"cls-bert","long":"`+way.String()+`","input":`+string(input)+`}`)
		if err := json.Unmarshal([]byte(text), &got); status != 200 || err != nil {
			t.Fatalf("%v: status %d, %s, %v", way, status, text, err)
		}
		for i, l := range want[0] {
			if got.Data[0].Probs[i] != l.Score {
				t.Errorf("%v: %s has %g, want %g", way, l.Name, got.Data[0].Probs[i], l.Score)
			}
		}
		for _, path := range []string{"/v1/moderations", "/predict"} {
			name := map[bool]string{true: "inputs", false: "input"}[path == "/predict"]
			if status, text := post(t, h, path, `{"model":"cls-bert","long":"`+way.String()+`","`+name+`":`+string(input)+`}`); status != 200 {
				t.Errorf("%s: status %d, %s", path, status, text)
			}
		}
	}
	for _, way := range []llama.Joining{llama.JoinUsual, llama.JoinTokens, llama.JoinFirst, llama.JoinMean, llama.JoinMax, llama.JoinNothing} {
		want, err := way.Entities(t.Context(), tags, long)
		if err != nil {
			t.Fatal(err)
		}
		type entity struct {
			Label      string
			Start, End int
			Score      float32
		}
		var got struct{ Data []struct{ Entities []entity } }
		status, text := post(t, h, "/v1/classify", `{"model":"tok-bert","aggregation_strategy":"`+way.String()+`","input":`+string(input)+`}`)
		if err := json.Unmarshal([]byte(text), &got); status != 200 || err != nil || len(got.Data[0].Entities) != len(want) {
			t.Fatalf("%v: status %d, %.200s, %v", way, status, text, err)
		}
		for i, e := range got.Data[0].Entities {
			if e != entity(want[i]) {
				t.Errorf("%v: entity %d is %v, want %v", way, i, e, want[i])
			}
		}
	}
}

// TestClassifyRefuses asks for labels that there are not.
func TestClassifyRefuses(t *testing.T) {
	h := startEncoders(t, "cls-bert", "tok-bert", "enc-bert")
	long := strings.Repeat("wood ", 999)
	for _, c := range []struct{ path, body, param, code, says string }{
		{"/v1/classify", `"model":"enc-bert","input":"a"`, "model", "unsupported_model", "needs a classifier"},
		{"/v1/moderations", `"model":"tok-bert","input":"a"`, "model", "unsupported_model", "entities"},
		{"/v1/chat/completions", `"model":"cls-bert","messages":[{"role":"user","content":"Hi"}]`, "model", "unsupported_model", "/v1/classify"},
		{"/v1/embeddings", `"model":"cls-bert","input":"Hi"`, "model", "unsupported_model", "no vectors"},
		{"/v1/rerank", `"model":"cls-bert","query":"a","documents":["b"]`, "model", "unsupported_model", "needs a reranker"},
		{"/v1/classify", `"model":"cls-bert","input":["a","` + long + `"]`, "input[1]", "context_length_exceeded", "more than"},
		{"/predict", `"model":"cls-bert","inputs":["a","` + long + `"]`, "inputs", "context_length_exceeded", "more than"},
		{"/v1/classify", `"model":"cls-bert","input":""`, "input", "invalid_value", "empty"},
		{"/predict", `"model":"cls-bert","inputs":[["a"],["b","c"]]`, "inputs[1]", "invalid_value", "pair"},
		{"/predict", `"model":"cls-bert","inputs":"a","truncate":true`, "truncate", "unsupported_parameter", "beginning"},
		{"/v1/classify", `"model":"cls-bert","input":"a","long":"cut"`, "long", "invalid_value", "mean, best"},
		{"/v1/classify", `"model":"tok-bert","input":"a","long":"mean"`, "long", "invalid_value", "any length"},
		{"/predict", `"model":"cls-bert","inputs":["a","b"],"long":"mean"`, "long", "invalid_value", "pairs"},
		{"/v1/classify", `"model":"tok-bert","input":"a","aggregation_strategy":"last"`, "aggregation_strategy", "invalid_value", "average"},
		{"/v1/classify", `"model":"tok-bert","input":"a","aggregation_strategy":"path"`, "aggregation_strategy", "invalid_value", "S-"},
		{"/v1/classify", `"model":"cls-bert","input":"a","aggregation_strategy":"simple"`, "aggregation_strategy", "invalid_value", "whole texts"},
		{"/v1/moderations", `"model":"cls-bert","input":[{"type":"image_url","image_url":{"url":"x"}}]`, "", "", ""},
	} {
		if c.code == "" {
			if status, text := post(t, h, c.path, "{"+c.body+"}"); status != 400 {
				t.Errorf("%s: status %d, %s", c.body, status, text)
			}
			continue
		}
		refused(t, h, c.path, "{"+c.body+"}", 400, c.param, c.code, c.says)
	}
}
