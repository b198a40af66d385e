package constrain_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
)

// TestIntegersDecode tries numbers around the bounds of types of integers, which some platforms give 32 bits and others 64: whatever is accepted
// can be decoded, and all but the last thousandth of a millionth of the range is accepted.
func TestIntegersDecode(t *testing.T) {
	tok := pebbleTokenizer(t)
	for _, c := range []struct {
		made      func(*llama.Tokenizer) (llama.Constraint, error)
		of        reflect.Type
		low, high *big.Int
	}{
		{constrain.JSONFor[int], reflect.TypeFor[int](), big.NewInt(math.MinInt), big.NewInt(math.MaxInt)},
		{constrain.JSONFor[int32], reflect.TypeFor[int32](), big.NewInt(math.MinInt32), big.NewInt(math.MaxInt32)},
		{constrain.JSONFor[int64], reflect.TypeFor[int64](), big.NewInt(math.MinInt64), big.NewInt(math.MaxInt64)},
		{constrain.JSONFor[uint8], reflect.TypeFor[uint8](), big.NewInt(0), big.NewInt(math.MaxUint8)},
		{constrain.JSONFor[uint], reflect.TypeFor[uint](), big.NewInt(0), new(big.Int).SetUint64(math.MaxUint)},
		{constrain.JSONFor[uintptr], reflect.TypeFor[uintptr](), big.NewInt(0), new(big.Int).SetUint64(uint64(^uintptr(0)))},
	} {
		one, err := c.made(tok)
		if err != nil {
			t.Fatal(err)
		}
		margin := new(big.Int).Quo(c.high, big.NewInt(1e9)) // 0 for types of 8 to 16 bits
		for _, bound := range []*big.Int{c.low, c.high} {
			for _, off := range []int64{-1000, -192, -1, 0, 1, 192, 1000} {
				text := fmt.Sprint(new(big.Int).Add(bound, big.NewInt(off)))
				if err := json.Unmarshal([]byte(text), reflect.New(c.of).Interface()); err != nil && accepts(t, tok, one, text) {
					t.Errorf("%v: %s is accepted, and then %v", c.of, text, err)
				}
			}
			inside := new(big.Int).Set(bound)
			if bound.Sign() < 0 {
				inside.Add(inside, margin)
			} else if bound.Sign() > 0 {
				inside.Sub(inside, margin)
			}
			if !accepts(t, tok, one, fmt.Sprint(inside)) {
				t.Errorf("%v: %v is refused", c.of, inside)
			}
		}
	}
}
