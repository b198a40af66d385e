package llama

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/antigravity-go/antigravity/internal/exact"
	"github.com/antigravity-go/antigravity/tensor"
	"golang.org/x/sync/errgroup"
)

// judge is a model that answers yes or no to whether a document fits a query, in Qwen3-Reranker's manner: a document's score is the
// logarithm of the probability of yes, if yes and no are all that can be answered.
type judge struct {
	model         *Model
	yes, no       Token
	before, after []Token // the pair
}

// The question, as the card of Qwen3-Reranker has it.
const (
	judgeBefore = "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct provided. Note that the answer can only be " +
		"\"yes\" or \"no\".<|im_end|>\n<|im_start|>user\n"
	judgePair = "<Instruct>: Given a web search query, retrieve relevant passages that answer the query\n<Query>: %s\n<Document>: %s"
	judgeAsks = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
)

// judging is the judge that a model can be, made when it is first asked for.
type judging struct {
	once  sync.Once
	judge *judge
}

// of returns the judge; nil if the model cannot be one.
func (j *judging) of(m *Model) *judge {
	j.once.Do(func() { j.judge = newJudge(m) })
	return j.judge
}

// newJudge returns the judge that a model can be, and nil if it is of another family, or lacks the tokens. Nothing in the files of
// Qwen3-Reranker distinguishes it from other models of its family, which judge too, if less well.
func newJudge(m *Model) *judge {
	if m.config.Family != "qwen3" || m.Kind() != Generator || m.tokenizer.hasTexts() != nil {
		return nil
	}
	t := m.tokenizer
	j := &judge{model: m, before: t.EncodeSpecial(judgeBefore, false), after: t.EncodeSpecial(judgeAsks, false)}
	yes, no := t.Encode("yes"), t.Encode("no")
	if _, chats := t.ID("<|im_start|>"); !chats || len(yes) != 1 || len(no) != 1 {
		return nil
	}
	j.yes, j.no = yes[0], no[0]
	return j
}

// scores is Model.Rerank. The documents' common beginning, the question and the query, is computed once.
func (j *judge) scores(ctx context.Context, query string, documents []string) ([]float32, error) {
	texts, most := make([][]Token, len(documents)), j.model.LongestText()
	longest, common := 0, math.MaxInt
	for i, document := range documents {
		texts[i] = slices.Concat(j.before, j.model.tokenizer.Encode(fmt.Sprintf(judgePair, query, document)), j.after)
		if n := len(texts[i]); n > most {
			return nil, tooLong(i, n, most)
		}
		longest, common = max(longest, len(texts[i])), min(common, commonPrefix(texts[0], texts[i]), len(texts[i])-1)
	}
	if len(documents) == 0 {
		return nil, nil
	}
	base, err := j.model.NewSession(&SessionOptions{Capacity: longest, KV: tensor.F32})
	if err != nil {
		return nil, err
	}
	defer base.Close()
	if err := base.Prefill(ctx, texts[0][:common]); err != nil {
		return nil, err
	}
	scores := make([]float32, len(documents))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(j.model.batch.Most())
	for i, text := range texts {
		g.Go(func() error {
			s, err := base.guarded.fork()
			if err != nil {
				return err
			}
			defer s.Close()
			if err := s.Prefill(ctx, text[common:]); err != nil {
				return fmt.Errorf("score document %d: %w", i, err)
			}
			logits, err := s.Logits()
			if err == nil {
				scores[i] = j.score(logits)
			}
			return err
		})
	}
	return scores, g.Wait()
}

// score returns −ln(1 + e^(no−yes)), with the same bits everywhere.
func (j *judge) score(logits []float32) float32 {
	d := logits[j.no] - logits[j.yes]
	if d > 80 { // the 1 does not count
		return -d
	}
	return float32(-exact.Log(1 + float64(exact.Exp(d))))
}

// tooLong is the error of a document that, with the query, has n tokens, if the model takes at most most.
func tooLong(i, n, most int) error {
	return fmt.Errorf("score document %d, which, with the query, must be no longer than the %d tokens that the model takes: %w", i, most, &ContextFullError{Want: n, Room: most})
}
