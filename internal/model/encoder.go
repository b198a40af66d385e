package model

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// Encoder is what a model has that reads a text as a whole, and makes a vector of it, or a score. The zero value is a model that reads a
// text token by token.
type Encoder struct {
	Whole          bool // attention sees the tokens after its own, too
	LayerNorm      bool // norms subtract the mean: they are LayerNorm (arXiv 1607.06450), and not RMSNorm
	NormBias       bool // norms have biases
	Positions      int  // rows of the table of learned positions; 0: no table
	PositionOffset int  // rows before them in a Hugging Face folder, which nothing uses
	Types          int  // rows of the table of the types of tokens, which say what text of a pair a token belongs to; 0: no table
	// Scores says that a head makes a score of the first token's state, or, with ScoreMean, of the mean of all. ScoreDense says that a layer comes
	// before it, with a bias if ScoreBias is set, and then tanh or, with ScoreNorm, GELU and a norm.
	Scores, ScoreDense, ScoreBias, ScoreNorm, ScoreMean bool
	Dense                                               []Dense // layers that follow pooling, in their order
	Poolings                                            int     // how many states pooling puts together for a vector; 0: 1
}

// Dense is a layer that follows pooling: x ↦ activation(x·weightᵀ + bias).
type Dense struct {
	Folder     string // of a Hugging Face folder
	In, Out    int
	Bias       bool
	Activation string // "tanh", or "" for no activation
}

// MaxDense is the most layers that follow pooling: models have two.
const MaxDense = 8

// validate checks that the sizes fit together.
func (e *Encoder) validate(c *Config) error {
	switch {
	case e.Positions != 0 && e.Positions < c.ContextLength:
		return fmt.Errorf("there are %d learned positions for texts of %d tokens", e.Positions, c.ContextLength)
	case e.PositionOffset < 0 || e.PositionOffset > MaxVocab:
		return fmt.Errorf("pad_token_id is %d", e.PositionOffset-1)
	case e.Types < 0 || e.Types > MaxHeads:
		return fmt.Errorf("type_vocab_size is %d, not between 0 and %d", e.Types, MaxHeads)
	case len(e.Dense) > MaxDense:
		return unsupported.Errorf("%d layers follow pooling; at most %d are implemented", len(e.Dense), MaxDense)
	}
	width := c.HiddenSize * max(e.Poolings, 1)
	for _, d := range e.Dense {
		if d.In != width || d.Out < 1 || d.Out > MaxWidth {
			return fmt.Errorf("the layer %s makes %d numbers of %d, and gets %d", d.Folder, d.Out, d.In, width)
		}
		width = d.Out
	}
	return nil
}
