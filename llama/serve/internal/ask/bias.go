package ask

import (
	"strconv"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// Bias is a mask that adds to the logits of some tokens.
type Bias map[llama.Token]float32

// MaxBias bounds a bias: OpenAI's bound, at which a token is as good as forbidden, or certain.
const MaxBias = 100

// NewBias returns the mask for values by token numbers, or nil.
func (m *Model) NewBias(values map[string]float32, param string) (llama.LogitMask, error) {
	if len(values) == 0 {
		return nil, nil
	}
	size := m.Model.Tokenizer().VocabSize()
	b := Bias{}
	for text, value := range values {
		id, err := strconv.Atoi(text)
		if err != nil || strconv.Itoa(id) != text || id < 0 || id >= size {
			return nil, wire.Invalid(param, "%s has the key %.40q; it must be a token's number, 0 to %d", param, text, size-1)
		}
		if !(value >= -MaxBias && value <= MaxBias) {
			return nil, wire.Invalid(param, "%s is %v for token %d; it must be -%d to %d", param, value, id, MaxBias, MaxBias)
		}
		b[llama.Token(id)] = value
	}
	return b, nil
}

// Apply adds the values.
func (b Bias) Apply(_ []llama.Token, logits []float32) error {
	for t, value := range b {
		logits[t] += value
	}
	return nil
}
