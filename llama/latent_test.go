package llama_test

import (
	"slices"
	"testing"

	fixturefamilies "github.com/antigravity-go/antigravity/internal/fixture/families"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// latentModel is DeepSeek V2's shape with rows of 64 elements, which are whole blocks of every type of caches.
const latentModel = "deepseek-wide"

// TestLatentCaches compares caches of each type with those of float32: latent attention has one row a token, keys and values are views of it, and rounding a
// row costs as much as rounding other models' keys and values does.
func TestLatentCaches(t *testing.T) {
	m := familyModel(t, latentModel, nil)
	const tokens, width = 300, 64
	stream := shortStream(tokens)
	var want []float32
	for _, c := range []struct {
		kv        tensor.DType
		tolerance float64
	}{{tensor.F32, 0}, {tensor.F16, 0.01}, {tensor.Q8_0, 0.3}, {tensor.Q4_0, 1}} {
		s, err := m.NewSession(&llama.SessionOptions{KV: c.kv, Capacity: 512})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Prefill(t.Context(), stream); err != nil {
			t.Fatal(err)
		}
		got := slices.Clone(logitsOf(s))
		if want == nil {
			want = got
		}
		if e := fixturefamilies.RelativeError(got, want); e > c.tolerance {
			t.Errorf("%v: logits differ by %g of the largest", c.kv, e)
		}
		row, err := c.kv.Bytes(width)
		if err != nil {
			t.Fatal(err)
		}
		pages := int64((tokens + 127) / 128 * 128)
		if used, most := s.CacheUsage().Bytes, int64(m.Config().Layers)*pages*int64(row); used > most {
			t.Errorf("%v: %d tokens take %d bytes, where a row of %d elements in each layer takes %d", c.kv, tokens, used, width, most)
		}
		if config := m.Config(); config.CacheBytes(tokens, c.kv) != 2*int64(config.Layers)*tokens*int64(row) { // as on devices that keep both
			t.Errorf("%v: CacheBytes is %d", c.kv, config.CacheBytes(tokens, c.kv))
		}
		s.Close()
	}
}
