package llama

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/antigravity-go/antigravity/tensor"
	"golang.org/x/sync/errgroup"
)

// judge is a model that answers yes or no to whether a document fits a query, in Qwen3-Reranker's manner: a document's score is the logit of yes less
// that of no, as sentence-transformers has it. What the model is asked is, for example,
//
//	the files have            a document becomes
//	the roles of a pair       the conversation query, document, after the instruction that the files have by default: Qwen3-Reranker's of today
//	Qwen3's family            the question of Qwen3-Reranker's card
//	a LogitScore alone        the pair as the tokenizer puts two texts together
type judge struct {
	model   *Model
	yes, no Token // no is -1 if the score is the logit of yes
	text    func(query, document string) ([]Token, error)
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

// The roles of a pair in a chat template that renders it.
const (
	queryRole    = "query"
	documentRole = "document"
)

// newJudge returns the judge that a model can be, and nil if it cannot be one. Before files had a LogitScore, nothing in those of Qwen3-Reranker
// distinguished it from other models of its family, which judge too, if less well.
func newJudge(m *Model) *judge {
	l := m.files.Pipeline.Logits
	if m.Kind() != Generator || m.tokenizer.hasTexts() != nil || l == nil && m.config.Family != "qwen3" {
		return nil
	}
	t := m.tokenizer
	j := &judge{model: m}
	yes, no := t.Encode("yes"), t.Encode("no")
	_, chats := t.ID("<|im_start|>")
	chats = chats && m.config.Family == "qwen3" && len(yes) == 1 && len(no) == 1
	switch {
	case l != nil && m.files.Pipeline.Dialog && rendersPairs(t):
		j.text = j.asConversation
	case chats:
		before, after := t.EncodeSpecial(judgeBefore, false), t.EncodeSpecial(judgeAsks, false)
		j.text = func(query, document string) ([]Token, error) {
			return slices.Concat(before, t.Encode(fmt.Sprintf(judgePair, query, document)), after), nil
		}
	case l != nil && m.files.Pipeline.Dialog:
		j.text = func(string, string) ([]Token, error) {
			return nil, fmt.Errorf("%w: the model's files say that a query and a document are rendered by the chat template, which does not name these roles", ErrUnsupported)
		}
	case l != nil:
		j.text = j.asPair
	default:
		return nil
	}
	if l != nil {
		j.yes, j.no = Token(l.True), Token(l.False)
	} else {
		j.yes, j.no = yes[0], no[0]
	}
	return j
}

// rendersPairs reports whether the chat template knows the roles of a query and of a document.
func rendersPairs(t *Tokenizer) bool {
	if !t.HasTemplate() {
		return false
	}
	template, err := t.templates.choose(&TemplateOptions{})
	return err == nil && template.Names(queryRole) && template.Names(documentRole)
}

// asConversation renders a pair.
func (j *judge) asConversation(query, document string) ([]Token, error) {
	var history []Message
	if p := &j.model.files.Pipeline; p.Prompts[p.Default] != "" {
		history = append(history, Message{Role: RoleSystem, Content: p.Prompts[p.Default]})
	}
	history = append(history, Message{Role: queryRole, Content: query}, Message{Role: documentRole, Content: document})
	return j.model.tokenizer.Template(history, TemplateOptions{NoOpening: true})
}

// asPair puts a pair together as the tokenizer does.
func (j *judge) asPair(query, document string) ([]Token, error) {
	p := &j.model.files.Pipeline
	tokens, _ := j.model.tokenizer.EncodePair(p.Prompts[p.Default]+query, document)
	return tokens, nil
}

// scores is Model.Rerank. The documents' common beginning, the question and the query, is computed once.
func (j *judge) scores(ctx context.Context, query string, documents []string) ([]float32, error) {
	texts, most := make([][]Token, len(documents)), j.model.LongestText()
	longest, common := 0, math.MaxInt
	for i, document := range documents {
		var err error
		if texts[i], err = j.text(query, document); err != nil {
			return nil, err
		}
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

// score returns the logit of yes less that of no; of one token, its logit.
func (j *judge) score(logits []float32) float32 {
	if j.no < 0 {
		return logits[j.yes]
	}
	return logits[j.yes] - logits[j.no]
}

// tooLong is the error of a document that, with the query, has n tokens, if the model takes at most most.
func tooLong(i, n, most int) error {
	return fmt.Errorf("score document %d, which, with the query, must be no longer than the %d tokens that the model takes: %w", i, most, &ContextFullError{Want: n, Room: most})
}
