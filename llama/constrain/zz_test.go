package constrain_test

import (
	"testing"

	"github.com/antigravity-go/antigravity/llama"

	"github.com/antigravity-go/antigravity/llama/constrain"
)

func TestZZ(t *testing.T) {
	tokenizer := pebbleTokenizer(t)
	missing := ""
	have := map[string]bool{}
	for i := range tokenizer.VocabSize() {
		b := tokenizer.AppendBytes(nil, llama.Token(i))
		have[string(b)] = true
	}
	for b := range 256 {
		if !have[string([]byte{byte(b)})] {
			missing += string("0123456789abcdef"[b>>4]) + string("0123456789abcdef"[b&15]) + " "
		}
	}
	t.Log("missing bytes", missing)
	c, err := constrain.Grammar(tokenizer, `root ::= "\x41\u00e9\U0001F600" [^"\\\x00-\x1f]{2,5} .`)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(50) {
		w := newWriter(tokenizer, seed)
		text, err := walk(w, c, 40)
		if err != nil {
			t.Logf("%q %v", text, err)
		}
		m := c.Start()
		text = text[:0]
		for range 40 {
			if err := m.Allowed(w.set); err != nil {
				t.Fatalf("%q %v", text, err)
			}
			if w.set.End() {
				break
			}
			token, _ := w.closing()
			m.Accept(token)
			text = w.tokenizer.AppendBytes(text, token)
		}
	}
}
