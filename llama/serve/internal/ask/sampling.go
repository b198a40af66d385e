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
// embeds it.
type Sampling struct {
	Temperature      *float32           `json:"temperature"`
	TopP             *float32           `json:"top_p"`
	TopK             int                `json:"top_k"`
	MinP             float32            `json:"min_p"`
	RepeatPenalty    float32            `json:"repeat_penalty"`
	FrequencyPenalty float32            `json:"frequency_penalty"`
	PresencePenalty  float32            `json:"presence_penalty"`
	Seed             *int64             `json:"seed"`
	Stop             Strings            `json:"stop"`
	LogitBias        map[string]float32 `json:"logit_bias"`
}

// Strings is a string or a list of strings.
type Strings []string

// UnmarshalJSON reads either.
func (s *Strings) UnmarshalJSON(data []byte) error {
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

// defaultTemperature is OpenAI's.
const defaultTemperature = 1

// Params returns the parameters of an answer. Where there is no temperature it is OpenAI's, 1; where there is no seed it is a random one,
// which the log tells.
func (s *Sampling) Params(ctx context.Context) (llama.Params, error) {
	p := llama.Params{
		Temperature: defaultTemperature, TopK: s.TopK, MinP: s.MinP, RepeatPenalty: s.RepeatPenalty,
		FrequencyPenalty: s.FrequencyPenalty, PresencePenalty: s.PresencePenalty, Stop: s.Stop,
	}
	if s.Temperature != nil {
		p.Temperature = *s.Temperature
	}
	if s.TopP != nil {
		if *s.TopP == 0 { // llama.Params takes 0 for "all"
			p.TopK = 1
		}
		p.TopP = *s.TopP
	}
	for name, v := range map[string]float32{"frequency_penalty": s.FrequencyPenalty, "presence_penalty": s.PresencePenalty} {
		if v < -maxPenalty || v > maxPenalty {
			return p, wire.Invalid(name, "%s is %v; it must be -%d to %d", name, v, maxPenalty, maxPenalty)
		}
	}
	if p.Temperature > maxTemperature {
		return p, wire.Invalid("temperature", "temperature is %v; it must be 0 to %d", p.Temperature, maxTemperature)
	}
	if err := CheckStops("stop", s.Stop); err != nil {
		return p, err
	}
	if s.Seed != nil {
		p.Seed = uint64(*s.Seed)
	} else if p.Temperature > 0 {
		p.Seed = uint64(rand.Int32()) // small enough for any client's numbers
		RequestOf(ctx).Log.Debug("the request has no seed", slog.Uint64("seed", p.Seed))
	}
	return p, nil
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
