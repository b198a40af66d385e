package ask

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// Sampling are the parameters that choose tokens, as OpenAI's interfaces and this server's additions name them. A request's struct
// embeds it. A parameter that the request does not have, or has as null, is nil.
type Sampling struct {
	Temperature      *float32           `json:"temperature"`
	TopP             *float32           `json:"top_p"`
	TopK             *int               `json:"top_k"`
	MinP             *float32           `json:"min_p"`
	RepeatPenalty    *float32           `json:"repeat_penalty"`
	FrequencyPenalty *float32           `json:"frequency_penalty"`
	PresencePenalty  *float32           `json:"presence_penalty"`
	Seed             *int64             `json:"seed"`
	Stop             Strings            `json:"stop"`
	LogitBias        map[string]float32 `json:"logit_bias"`
	RepeatLastN      *int               `json:"repeat_last_n"` // over how many tokens penalties look; see penalties
}

// SamplingRules are the parameters of other servers' samplers that are not read: each may be there if it asks for nothing. Those that only say
// how another one works, which is not in use then, change nothing.
var SamplingRules = wire.Rules{
	"typical_p": wire.Refused(noSampler, "1", "0"), "typ_p": wire.Refused(noSampler, "1", "0"), "tfs_z": wire.Refused(noSampler, "1"),
	"top_a": wire.Refused(noSampler, "0"), "top_n_sigma": wire.Refused(noSampler, "-1", "0"),
	"mirostat": wire.Refused(noSampler, "0"), "mirostat_tau": wire.Ignored(), "mirostat_eta": wire.Ignored(),
	"dry_multiplier": wire.Refused(noSampler, "0"), "dry_base": wire.Ignored(), "dry_allowed_length": wire.Ignored(),
	"dry_penalty_last_n": wire.Ignored(), "dry_sequence_breakers": wire.Ignored(),
	"xtc_probability": wire.Refused(noSampler, "0"), "xtc_threshold": wire.Ignored(),
	"dynatemp_range": wire.Refused(noSampler, "0"), "dynatemp_exponent": wire.Ignored(),
	"adaptive_target": wire.Refused(noSampler, "-1"), "adaptive_decay": wire.Ignored(),
	"smoothing_factor": wire.Refused(noSampler, "0"), "smoothing_curve": wire.Ignored(),
	"repetition_penalty": wire.Refused("use repeat_penalty, which looks at the last 64 tokens", "1", "0"),
	"length_penalty":     wire.Refused(noBeams, "1", "0"), "use_beam_search": wire.Refused(noBeams, "false"), "early_stopping": wire.Refused(noBeams, "false"),
	"samplers": wire.Refused("the samplers have one order, the temperature first", "[]", `""`),
	"min_keep": wire.Refused(noSampler, "0", "1"), "min_tokens": wire.Refused(noLeast, "0"), "n_indent": wire.Refused(noSampler, "0"),
	"ignore_eos": wire.Refused(noLeast, "false"), "penalize_nl": wire.Refused("a line feed is a token like any other", "true"),
	"stop_token_ids": wire.Refused("answers end with the model's turn, or a text in stop", "[]"),
	"n_probs":        wire.Refused("use logprobs", "0"), "post_sampling_probs": wire.Refused("log-probabilities are the model's own", "false"),
	"prompt_logprobs":            wire.Refused("/v1/completions has them, with echo and logprobs", "0"),
	"include_stop_str_in_output": wire.Refused("what stop names is not part of an answer", "false"),
	"skip_special_tokens":        wire.Refused("special tokens are no text", "true"), "spaces_between_special_tokens": wire.Ignored(),
	"grammar": wire.Refused("chat completions have it", `""`), "json_schema": wire.Refused("chat completions have it", "{}"),
	"lora": wire.Refused("a model with an adapter has a name of its own", "[]"), "timings_per_token": wire.Refused("chat completions have it", "false"),
	"t_max_predict_ms": wire.Refused("use max_tokens", "0", "-1"), "t_max_prompt_ms": wire.Refused("use max_tokens", "0", "-1"),
	"n_keep": wire.Ignored(), "n_discard": wire.Ignored(), // of a context that is shifted, which never happens here
	"id_slot": wire.Ignored(), "slot_id": wire.Ignored(), "cache_prompt": wire.Ignored(), "n_cache_reuse": wire.Ignored(), // no answer depends on the cache
}

// Why parameters of SamplingRules are refused.
const (
	noSampler = "tokens are chosen by temperature, top_k, top_p, min_p and penalties"
	noBeams   = "there is no search among several answers"
	noLeast   = "answers end where the model ends them"
)

// Strings is a string or a list of strings. An empty string asks for nothing, as an empty list does.
type Strings []string

// UnmarshalJSON reads either.
func (s *Strings) UnmarshalJSON(data []byte) error {
	if string(data) == `""` {
		*s = nil
		return nil
	}
	if len(data) > 0 && data[0] == '"' {
		*s = make(Strings, 1)
		return json.Unmarshal(data, &(*s)[0])
	}
	var list []string
	if err := json.Unmarshal(data, &list); err != nil {
		return wire.Invalid("", "it must be a string or a list of strings")
	}
	*s = list
	return nil
}

// The bounds of what a request may ask for.
const (
	maxStops       = 16
	maxStopLength  = 256
	maxPenalty     = 2
	maxTemperature = 2
)

// openAI are OpenAI's defaults.
var openAI = llama.Params{Temperature: 1}

// Params returns the parameters of an answer, with OpenAI's defaults until Recommend is called. The default seed is random; the log has it.
func (s *Sampling) Params(ctx context.Context) (llama.Params, error) { return s.ParamsOr(ctx, openAI) }

// ParamsOr is Params with other defaults.
func (s *Sampling) ParamsOr(ctx context.Context, defaults llama.Params) (llama.Params, error) {
	p := defaults
	p.Stop = s.Stop
	s.override(&p)
	for _, penalty := range []struct {
		name  string
		value float32
	}{{"frequency_penalty", p.FrequencyPenalty}, {"presence_penalty", p.PresencePenalty}} {
		if v := penalty.value; v < -maxPenalty || v > maxPenalty {
			return p, wire.Invalid(penalty.name, "%s is %v; it must be -%d to %d", penalty.name, v, maxPenalty, maxPenalty)
		}
	}
	if s.TopK != nil && *s.TopK < -1 {
		return p, wire.Invalid("top_k", "top_k is %d; it must be 0 or more, or -1 for all", *s.TopK)
	}
	if err := s.limitPenalties(&p); err != nil {
		return p, err
	}
	if p.Temperature > maxTemperature {
		return p, wire.Invalid("temperature", "temperature is %v; it must be 0 to %d", p.Temperature, maxTemperature)
	}
	if err := CheckStops("stop", s.Stop); err != nil {
		return p, err
	}
	if s.Seed != nil {
		p.Seed = uint64(*s.Seed)
	} else {
		p.Seed = uint64(rand.Int32()) // small enough for any client's numbers
		RequestOf(ctx).Log.Debug("the request has no seed", slog.Uint64("seed", p.Seed))
	}
	return p, nil
}

// override gives p the values that the request has.
func (s *Sampling) override(p *llama.Params) {
	for _, f := range []struct {
		to    *float32
		value *float32
	}{
		{&p.Temperature, s.Temperature}, {&p.TopP, s.TopP}, {&p.MinP, s.MinP}, {&p.RepeatPenalty, s.RepeatPenalty},
		{&p.FrequencyPenalty, s.FrequencyPenalty}, {&p.PresencePenalty, s.PresencePenalty},
	} {
		if f.value != nil {
			*f.to = *f.value
		}
	}
	if s.TopK != nil {
		p.TopK = max(*s.TopK, 0)
	}
	if s.TopP != nil && *s.TopP == 0 { // llama.Params takes 0 for "all"
		p.TopK = 1
	}
}

// Recommend puts what the model's authors recommend in place of the defaults that p has from Params. What the request says, which s has,
// counts more. An error names the parameter that the recommendation excludes.
func (m *Model) Recommend(p *llama.Params, s *Sampling) error {
	if m.service.PlainSampling {
		return nil
	}
	Follow(p, m.Model.Sampling(), m.Model.HasSampling())
	s.override(p)
	return s.limitPenalties(p)
}

// Follow gives p the parameters that a model's authors recommend. If draws is false, these say nothing about how tokens are drawn.
func Follow(p *llama.Params, recommended llama.Params, draws bool) {
	if draws {
		p.Temperature, p.TopK, p.TopP, p.MinP = recommended.Temperature, recommended.TopK, recommended.TopP, recommended.MinP
	}
	p.RepeatPenalty, p.FrequencyPenalty, p.PresencePenalty = recommended.RepeatPenalty, recommended.FrequencyPenalty, recommended.PresencePenalty
}

// penaltyTokens is over how many tokens llama.Params.RepeatPenalty looks.
const penaltyTokens = 64

// limitPenalties makes penalties look at as many tokens as RepeatLastN says: 0 turns them off. Unless penalties are
// off, any other number than penaltyTokens is an error.
func (s *Sampling) limitPenalties(p *llama.Params) error {
	off := (p.RepeatPenalty == 0 || p.RepeatPenalty == 1) && p.FrequencyPenalty == 0 && p.PresencePenalty == 0
	switch n := s.RepeatLastN; {
	case n == nil || off || *n == penaltyTokens:
		return nil
	case *n == 0:
		p.RepeatPenalty, p.FrequencyPenalty, p.PresencePenalty = 0, 0, 0
		return nil
	default:
		return wire.Unsupported("repeat_last_n", "repeat_last_n is %d; it must be %d, or 0 for no penalties", *n, penaltyTokens)
	}
}

// CheckStops returns an error if stop strings are not allowed. param is their parameter in the interface.
func CheckStops(param string, stops []string) error {
	if len(stops) > maxStops {
		return wire.Invalid(param, "%s has %d strings; it may have %d", param, len(stops), maxStops)
	}
	for i, stop := range stops {
		if stop == "" || len(stop) > maxStopLength {
			return wire.Invalid(fmt.Sprintf("%s[%d]", param, i), "%s[%d] has %d bytes; it must have 1 to %d", param, i, len(stop), maxStopLength)
		}
	}
	return nil
}
