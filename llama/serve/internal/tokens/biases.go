package tokens

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// biases are what a request adds to logits, in llama-server's forms: {"15043": 1.5, " Hello": -1} or [[15043, 1.5], [" Hello", false]]. A
// text stands for each of its tokens, one of digits alone in an object for the token of that number; false, in place of a value, forbids.
// Values for the same token are added up.
type biases []tokenBias

type tokenBias struct {
	at    string // its place in the request
	token int    // -1: text
	text  string
	value float32 // -Inf: the token is forbidden
}

// biasValue is a number to add to a logit; false is -Inf.
type biasValue float32

// ReadJSON reads a number, or false.
func (v *biasValue) ReadJSON(at string, value json.RawMessage) error {
	switch string(value) {
	case "false":
		*v = biasValue(math.Inf(-1))
		return nil
	case "null":
		return wire.Invalid(at, "%s is null; it must be a number, or false", at)
	}
	if err := wire.Decode(at, value, (*float32)(v)); err != nil {
		return err
	}
	if !(*v >= -ask.MaxBias && *v <= ask.MaxBias) {
		return wire.Invalid(at, "%s is %v; it must be -%d to %d, or false", at, *v, ask.MaxBias, ask.MaxBias)
	}
	return nil
}

// ReadJSON reads either form.
func (b *biases) ReadJSON(at string, value json.RawMessage) error {
	if value[0] == '{' {
		var byName map[string]biasValue
		if err := wire.Decode(at, value, &byName); err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(byName)) { // in an order that is always the same, for sums are rounded
			one := tokenBias{at: at + "." + name, token: -1, text: name, value: float32(byName[name])}
			if id, err := strconv.Atoi(name); err == nil && strconv.Itoa(id) == name {
				one.token = id
			}
			*b = append(*b, one)
		}
		return nil
	}
	list, err := wire.List(at, value)
	if err != nil {
		return wire.Invalid(at, "%s must be an object from tokens to numbers, or a list of pairs of these", at)
	}
	for i, each := range list {
		one := tokenBias{at: at + "[" + strconv.Itoa(i) + "]", token: -1}
		pair, err := wire.List(one.at, each)
		if err != nil {
			return err
		}
		if len(pair) != 2 {
			return wire.Invalid(one.at, "%s has %d elements; it must have a token, or a text, and a number", one.at, len(pair))
		}
		if pair[0][0] == 'n' {
			err = wire.Invalid(one.at+"[0]", "%s[0] is null; it must be a token's number or a text", one.at)
		} else if pair[0][0] == '"' {
			err = wire.Decode(one.at+"[0]", pair[0], &one.text)
		} else if err = wire.Decode(one.at+"[0]", pair[0], &one.token); err == nil && one.token < 0 {
			err = wire.Invalid(one.at+"[0]", "%s[0] is %d; it must be a token's number or a text", one.at, one.token)
		}
		if err != nil {
			return err
		}
		var v biasValue
		if err := v.ReadJSON(one.at+"[1]", pair[1]); err != nil {
			return err
		}
		one.value = float32(v)
		*b = append(*b, one)
	}
	return nil
}

// sums returns llama.Params.LogitBias for a model.
func (b biases) sums(ctx context.Context, m *ask.Model) (map[llama.Token]float32, error) {
	size, sums := m.Model.Tokenizer().VocabSize(), map[llama.Token]float32{}
	for _, one := range b {
		tokens := []llama.Token{llama.Token(one.token)}
		if one.token >= size {
			return nil, wire.Invalid(one.at, "%s is for token %d; it must be a token's number, 0 to %d", one.at, one.token, size-1)
		}
		if one.token < 0 {
			var err error
			if tokens, err = m.Tokens(ctx, one.text); err != nil {
				return nil, err
			}
		}
		for _, token := range tokens {
			sums[token] += one.value
		}
	}
	return sums, nil
}
