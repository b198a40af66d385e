package constrain

import (
	"fmt"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
)

// Constraints that grow while they are used stay within the cache's bound, and small ones in use are not dropped for it.
func TestCacheMeasuresWhatGrows(t *testing.T) {
	tokenizer, err := llama.LoadTokenizer(fixture.Path(t, "pebble/hf/tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	cache := &vocabularyOf(tokenizer).compiled
	cache.most = 4 << 20
	set := llama.NewTokenSet(tokenizer.VocabSize())
	var single [256]llama.Token // the tokens of one byte
	for id := range llama.Token(tokenizer.VocabSize()) {
		if text := tokenizer.AppendBytes(nil, id); len(text) == 1 {
			single[text[0]] = id
		}
	}
	var all []llama.Constraint
	for i := range 8 {
		c, err := Regexp(tokenizer, fmt.Sprintf(`([a-z]{1,%d}[ ,.-]{1,3}){2,40}(end|%d)[a-z ]{0,90}`, 5+i, i))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	whole := 0
	for i, c := range all {
		m := c.Start()
		for at := 0; at < 400 && c.(*constraint).language.Bytes() < 2<<20; at++ {
			if err := m.Allowed(set); err != nil {
				t.Fatal(err)
			}
			want := byte('a' + at%7)
			if at%(4+i%3) == 3 {
				want = " ,.-"[at%4]
			}
			if id := single[want]; set.Has(id) {
				if err := m.Accept(id); err != nil {
					t.Fatal(err)
				}
			}
		}
		whole += c.(*constraint).language.Bytes()
	}
	if kept := int(cache.bytes()); kept > cache.most+3<<20 || whole <= cache.most {
		t.Errorf("of %d bytes the cache keeps %d, more than %d", whole, kept, cache.most)
	}
	if cache.order.Len() == 0 {
		t.Error("nothing is kept")
	}
	t.Logf("%d bytes, %d kept", whole, cache.bytes())
}
