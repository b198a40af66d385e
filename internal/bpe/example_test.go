package bpe_test

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/bpe"
)

// A vocabulary of SentencePiece's kind: the higher a token's score, the earlier it is made.
func ExampleFromVocab() {
	t, err := bpe.FromVocab(bpe.Vocab{
		Model:          "llama",
		Tokens:         []string{"<unk>", "<s>", "▁", "l", "o", "w", "lo", "low", "▁low"},
		Scores:         []float32{0, 0, -9, -8, -7, -6, -1, -2, -3},
		Types:          []int32{2, 3, 1, 1, 1, 1, 1, 1, 1},
		BOS:            1,
		EOS:            -1,
		Unknown:        0,
		AddBOS:         true,
		AddSpacePrefix: true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, id := range t.EncodeSpecial(nil, "low slow", true) {
		fmt.Printf("%d %q\n", id, t.Text(id))
	}
	fmt.Printf("%q\n", t.Decode([]int32{1, 8, 8}))
	// Output:
	// 1 "<s>"
	// 8 "▁low"
	// 2 "▁"
	// 0 "<unk>"
	// 7 "low"
	// "low low"
}
