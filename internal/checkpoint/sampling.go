package checkpoint

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/modeljson"
)

// A model's authors recommend how its tokens are drawn: in generation_config.json, or in a GGUF file's keys general.sampling.…, which llama.cpp's
// tools copy from there. For example
//
//	{"do_sample": true, "temperature": 0.6, "top_p": 0.95, "top_k": 20}     Draws, Temperature 0.6, TopP 0.95, TopK 20
//	{"do_sample": false, "temperature": 0.6}                                Draws, Temperature 0: greedy, as Hugging Face's transformers are then
//	{"top_k": 64, "top_p": 0.95}                                            Draws, Temperature 1, since the file names no temperature
//	{"repetition_penalty": 1.05}                                            RepeatPenalty 1.05; nothing is said about draws
//
// Metadata writes the same keys, with a temperature of 0 for models that do not draw.

// temperatureNumber is the temperature's index in samplingNumbers.
const temperatureNumber = 0

// samplingPrefix begins GGUF's keys.
const samplingPrefix = "general.sampling."

// samplingNumbers are the numbers that count. draws marks those that say how tokens are drawn. penalty_freq and penalty_present are keys that llama.cpp does not know.
var samplingNumbers = [...]struct {
	json, gguf string
	draws      bool
	want       string
	fits       func(v float64) bool
	set        func(s *model.Sampling, v float64)
	get        func(s *model.Sampling) float32
}{
	{"temperature", "temp", true, "0 to 100", between(0, 100),
		func(s *model.Sampling, v float64) { s.Temperature = float32(v) }, func(s *model.Sampling) float32 { return s.Temperature }},
	{"top_k", "top_k", true, "a whole number, 1 or more, or 0 or -1 for all tokens", func(v float64) bool { return v >= -1 && v <= math.MaxInt32 && v == math.Trunc(v) },
		func(s *model.Sampling, v float64) { s.TopK = max(int(v), 0) }, func(s *model.Sampling) float32 { return float32(s.TopK) }},
	{"top_p", "top_p", true, "0 to 1", between(0, 1),
		func(s *model.Sampling, v float64) {
			if s.TopP = float32(v); s.TopP == 0 { // the likeliest token alone
				s.TopK = 1
			}
		}, func(s *model.Sampling) float32 { return s.TopP }},
	{"min_p", "min_p", true, "0 to 1", between(0, 1),
		func(s *model.Sampling, v float64) { s.MinP = float32(v) }, func(s *model.Sampling) float32 { return s.MinP }},
	{"repetition_penalty", "penalty_repeat", false, "more than 0", func(v float64) bool { return v > 0 && v <= 100 },
		func(s *model.Sampling, v float64) { s.RepeatPenalty = float32(v) }, func(s *model.Sampling) float32 { return s.RepeatPenalty }},
	{"frequency_penalty", "penalty_freq", false, "-100 to 100", between(-100, 100),
		func(s *model.Sampling, v float64) { s.FrequencyPenalty = float32(v) }, func(s *model.Sampling) float32 { return s.FrequencyPenalty }},
	{"presence_penalty", "penalty_present", false, "-100 to 100", between(-100, 100),
		func(s *model.Sampling, v float64) { s.PresencePenalty = float32(v) }, func(s *model.Sampling) float32 { return s.PresencePenalty }},
}

func between(lo, hi float64) func(v float64) bool {
	return func(v float64) bool { return v >= lo && v <= hi }
}

// drawsKey is generation_config.json's word for whether tokens are drawn.
const drawsKey = "do_sample"

// otherSampling are recommendations that are not followed, by their values that recommend nothing. null recommends nothing in any case.
var otherSampling = map[string][]string{ // of generation_config.json
	"typical_p": {"1"}, "epsilon_cutoff": {"0"}, "eta_cutoff": {"0"}, "top_h": {}, "no_repeat_ngram_size": {"0"}, "diversity_penalty": {"0"},
	"num_beams": {"1"}, "num_beam_groups": {"1"}, "penalty_alpha": {}, "guidance_scale": {"1"}, "bad_words_ids": {"[]"}, "suppress_tokens": {"[]"},
	"begin_suppress_tokens": {"[]"}, "sequence_bias": {}, "exponential_decay_length_penalty": {}, "encoder_repetition_penalty": {"1"},
	"forced_bos_token_id": {}, "forced_eos_token_id": {}, "min_length": {"0"}, "min_new_tokens": {"0"}, "dola_layers": {},
	"xtc_probability": {"0"}, "mirostat": {"0"},
}

// otherSamplingKeys are those of GGUF.
var otherSamplingKeys = map[string][]string{
	"sequence": {""}, "xtc_probability": {"0"}, "mirostat": {"0"}, "penalty_last_n": {"64"},
}

// readSampling reads generation_config.json.
func readSampling(data []byte) (s model.Sampling, err error) {
	var members map[string]json.RawMessage
	if err := modeljson.Unmarshal(data, &members); err != nil {
		return s, err
	}
	for key, v := range members {
		if string(v) == "null" {
			delete(members, key)
		}
	}
	for i, n := range &samplingNumbers {
		text, there := members[n.json]
		if !there {
			continue
		}
		var v float64
		if err := json.Unmarshal(text, &v); err != nil || !n.fits(v) {
			return s, fmt.Errorf("%s is %.40s; it must be %s", n.json, text, n.want)
		}
		n.set(&s, v)
		s.Named |= 1 << i
		s.Draws = s.Draws || n.draws
	}
	draws, said := true, false
	if text, there := members[drawsKey]; there {
		if err := json.Unmarshal(text, &draws); err != nil {
			return s, fmt.Errorf("%s is %.40s; it must be true or false", drawsKey, text)
		}
		said = true
	}
	complete(&s, draws, said)
	for key, neutral := range otherSampling {
		if text, there := members[key]; there && !slices.Contains(neutral, plain(string(text))) {
			s.Ignored = append(s.Ignored, fmt.Sprintf("%s %.40s", key, text))
		}
	}
	slices.Sort(s.Ignored)
	return s, nil
}

// plain returns a number as it is written without a fraction of zeros.
func plain(number string) string {
	if whole, zeros, ok := strings.Cut(number, "."); ok && strings.Trim(zeros, "0") == "" {
		return whole
	}
	return number
}

// complete says what follows from whether tokens are drawn, if that was said.
func complete(s *model.Sampling, draws, said bool) {
	var drawing uint // the numbers that say how tokens are drawn
	for i, n := range &samplingNumbers {
		if n.draws {
			drawing |= 1 << i
		}
	}
	named := names(s, temperatureNumber)
	switch s.Draws = s.Draws || said; {
	case !s.Draws:
	case !draws || named && s.Temperature == 0:
		s.Temperature, s.TopK, s.TopP, s.MinP = 0, 0, 0, 0
		s.Named = s.Named&^drawing | 1<<temperatureNumber
	case !named:
		s.Temperature = 1
		if s.Named&drawing == 0 { // Metadata would say nothing about draws
			s.Named |= 1 << temperatureNumber
		}
	}
}

// names reports whether the files name a number.
func names(s *model.Sampling, i int) bool { return s.Named>>i&1 != 0 }

// samplingOf reads a GGUF file's keys.
func samplingOf(f *gguf.File) (s model.Sampling, err error) {
	for i, n := range &samplingNumbers {
		value, there := f.Value(samplingPrefix + n.gguf)
		if !there {
			continue
		}
		v, ok := number(value)
		if !ok || !n.fits(v) {
			return s, fmt.Errorf("%s%s is %v; it must be %s", samplingPrefix, n.gguf, describe(value), n.want)
		}
		n.set(&s, v)
		s.Named |= 1 << i
		s.Draws = s.Draws || n.draws
	}
	complete(&s, true, false)
	for key, neutral := range otherSamplingKeys {
		if value, there := f.Value(samplingPrefix + key); there && !slices.Contains(neutral, describe(value)) {
			if s.RepeatPenalty == 0 && key == "penalty_last_n" {
				continue // it is about nothing
			}
			s.Ignored = append(s.Ignored, fmt.Sprintf("%s%s %s", samplingPrefix, key, describe(value)))
		}
	}
	slices.Sort(s.Ignored)
	return s, nil
}

// number returns a value of metadata that is a number of any type.
func number(v gguf.Value) (float64, bool) {
	if n, ok := v.Int(); ok {
		return float64(n), true
	}
	if n, ok := v.Uint(); ok {
		return float64(n), true
	}
	n, ok := v.Float()
	return float64(float32(n)), ok
}

// describe returns a value of metadata as text.
func describe(v gguf.Value) string {
	if n, ok := number(v); ok {
		return fmt.Sprint(float32(n))
	}
	if text, ok := v.Text(); ok {
		return fmt.Sprintf("%.40s", text)
	}
	return cmp.Or(v.Type().String(), "of an unknown type")
}

// metadata returns the recommendation in GGUF's keys.
func samplingMetadata(s *model.Sampling) (list []gguf.KeyValue) {
	for i, n := range &samplingNumbers {
		switch {
		case !names(s, i):
		case n.json == "top_k":
			list = append(list, gguf.KeyValue{Key: samplingPrefix + n.gguf, Value: gguf.ValueOf(int32(s.TopK))})
		default:
			list = append(list, gguf.KeyValue{Key: samplingPrefix + n.gguf, Value: gguf.ValueOf(n.get(s))})
		}
	}
	return list
}
