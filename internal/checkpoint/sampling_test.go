package checkpoint

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/model"
)

// TestSampling reads generation_config.json, and once more what Metadata makes of it for GGUF.
func TestSampling(t *testing.T) {
	for _, c := range []struct {
		json string
		want model.Sampling
	}{
		{`{}`, model.Sampling{}},
		{`{"_from_model_config":true,"eos_token_id":2,"max_new_tokens":2048,"temperature":null}`, model.Sampling{}},
		{`{"do_sample":true,"temperature":0.6,"top_p":0.95,"top_k":20}`, model.Sampling{Draws: true, Temperature: 0.6, TopP: 0.95, TopK: 20}},
		{`{"top_k":64.0,"top_p":0.95}`, model.Sampling{Draws: true, Temperature: 1, TopK: 64, TopP: 0.95}},
		{`{"do_sample":true}`, model.Sampling{Draws: true, Temperature: 1}},
		{`{"do_sample":true,"repetition_penalty":1.1}`, model.Sampling{Draws: true, Temperature: 1, RepeatPenalty: 1.1}},
		{`{"do_sample":false,"temperature":0.7,"top_p":0.8,"repetition_penalty":1.05}`, model.Sampling{Draws: true, RepeatPenalty: 1.05}},
		{`{"temperature":0,"top_k":5}`, model.Sampling{Draws: true}},
		{`{"repetition_penalty":1.05}`, model.Sampling{RepeatPenalty: 1.05}},
		{`{"temperature":1e0,"top_k":-1,"top_p":1,"min_p":0.05}`, model.Sampling{Draws: true, Temperature: 1, TopP: 1, MinP: 0.05}},
		{`{"temperature":1,"top_p":0}`, model.Sampling{Draws: true, Temperature: 1, TopK: 1}},
		{`{"temperature":1,"frequency_penalty":-0.5,"presence_penalty":1.5}`, model.Sampling{Draws: true, Temperature: 1, FrequencyPenalty: -0.5, PresencePenalty: 1.5}},
	} {
		got, err := readSampling([]byte(c.json))
		if err != nil || !same(got, c.want) {
			t.Errorf("%s: %+v, %v; want %+v", c.json, got, err, c.want)
		}
		again, err := samplingOf(ggufOf(t, samplingMetadata(&got)...))
		if err != nil || !same(again, c.want) {
			t.Errorf("%s: GGUF has %+v, %v; want %+v", c.json, again, err, c.want)
		}
	}
}

// same compares what the files recommend.
func same(a, b model.Sampling) bool {
	a.Named, b.Named = 0, 0
	return reflect.DeepEqual(a, b)
}

// ggufOf returns a file with metadata alone.
func ggufOf(t *testing.T, list ...gguf.KeyValue) *gguf.File {
	t.Helper()
	var file bytes.Buffer
	w, err := gguf.NewWriter(&file, append([]gguf.KeyValue{{Key: ArchitectureKey, Value: gguf.ValueOf("llama")}}, list...), nil)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Parse(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestSamplingRefuses gives each number values that it cannot have.
func TestSamplingRefuses(t *testing.T) {
	for _, n := range &samplingNumbers {
		for _, text := range []string{`"hot"`, `true`, `[1]`, `{}`, `-2e9`, `1e400`, `NaN`, `Infinity`} {
			_, err := readSampling([]byte(fmt.Sprintf(`{%q:%s}`, n.json, text)))
			if err == nil || !strings.Contains(err.Error(), n.json+" is ") || !strings.Contains(err.Error(), n.want) {
				t.Errorf("%s %s: the error is %v", n.json, text, err)
			}
		}
		for _, v := range []gguf.Value{gguf.ValueOf("hot"), gguf.ValueOf(true), gguf.ValueOf(float32(-2e9)), gguf.ArrayOf([]float32{1, 1}), gguf.ValueOf(int64(-3e9))} {
			_, err := samplingOf(ggufOf(t, gguf.KeyValue{Key: samplingPrefix + n.gguf, Value: v}))
			if err == nil || !strings.Contains(err.Error(), samplingPrefix+n.gguf) || !strings.Contains(err.Error(), n.want) {
				t.Errorf("%s %v: the error is %v", n.gguf, v, err)
			}
		}
	}
	if _, err := readSampling([]byte(`{"do_sample":"yes"}`)); err == nil || !strings.Contains(err.Error(), "do_sample") {
		t.Errorf("do_sample: the error is %v", err)
	}
}

// TestSamplingIgnored lists recommendations that are not followed, and no others.
func TestSamplingIgnored(t *testing.T) {
	s, err := readSampling([]byte(`{"typical_p":1.0,"num_beams":1,"no_repeat_ngram_size":3,"mirostat":2,"guidance_scale":null,"penalty_alpha":0.6}`))
	if want := []string{"mirostat 2", "no_repeat_ngram_size 3", "penalty_alpha 0.6"}; err != nil || !reflect.DeepEqual(s.Ignored, want) {
		t.Errorf("%q, %v; want %q", s.Ignored, err, want)
	}
	key := func(name string, v gguf.Value) gguf.KeyValue {
		return gguf.KeyValue{Key: samplingPrefix + name, Value: v}
	}
	s, err = samplingOf(ggufOf(t, key("mirostat", gguf.ValueOf(int32(1))), key("xtc_probability", gguf.ValueOf(float32(0))),
		key("penalty_last_n", gguf.ValueOf(int32(9))), key("sequence", gguf.ValueOf("temp;top_k"))))
	if want := []string{"general.sampling.mirostat 1", "general.sampling.sequence temp;top_k"}; err != nil || !reflect.DeepEqual(s.Ignored, want) {
		t.Errorf("%q, %v; want %q", s.Ignored, err, want)
	}
}
