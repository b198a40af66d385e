package ask

import (
	"strconv"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// MaxBias bounds a bias: OpenAI's bound, at which a token is as good as forbidden, or certain.
const MaxBias = 100

// Bias returns llama.Params.LogitBias for values by token numbers.
func (m *Model) Bias(values map[string]float32, param string) (map[llama.Token]float32, error) {
	if len(values) == 0 {
		return nil, nil
	}
	size := m.Model.Tokenizer().VocabSize()
	b := make(map[llama.Token]float32, len(values))
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
