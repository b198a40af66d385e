package ask

import (
	"strconv"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// bias is a mask that adds to the logits of some tokens.
type bias map[llama.Token]float32

// maxBias bounds what is added: OpenAI's bound, at which a token is as good as forbidden, or certain.
const maxBias = 100

// NewBias returns the mask for values by token numbers, nil for none.
func (m *Model) NewBias(values map[string]float32, param string) (llama.LogitMask, error) {
	if len(values) == 0 {
		return nil, nil
	}
	size := m.Model.Tokenizer().VocabSize()
	b := bias{}
	for text, value := range values {
		id, err := strconv.Atoi(text)
		if err != nil || strconv.Itoa(id) != text || id < 0 || id >= size {
			return nil, wire.Invalid(param, "%s has the key %.40q; it must be a token's number, 0 to %d", param, text, size-1)
		}
		if !(value >= -maxBias && value <= maxBias) {
			return nil, wire.Invalid(param, "%s is %v for token %d; it must be -%d to %d", param, value, id, maxBias, maxBias)
		}
		b[llama.Token(id)] = value
	}
	return b, nil
}

// Apply adds the values.
func (b bias) Apply(_ []llama.Token, logits []float32) error {
	for t, value := range b {
		logits[t] += value
	}
	return nil
}
