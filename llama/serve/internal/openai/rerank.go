package openai

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"math"
	"net/http"
	"slices"

	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// rerankRequest is what POST /v1/rerank reads, in the form that Jina and Cohere gave it or, with Texts, in that of Text Embeddings
// Inference. Of Documents and Texts a request has one.
type rerankRequest struct {
	Model      string    `json:"model"`
	Query      string    `json:"query" wire:"required"`
	Documents  documents `json:"documents"`
	Texts      documents `json:"texts"`
	Top        *int      `json:"top_n"` // nil: all
	Return     bool      `json:"return_documents"`
	ReturnText bool      `json:"return_text"` // Return, with Texts
	Raw        *bool     `json:"raw_scores"`  // the scores are the model's own, and not between 0 and 1; nil: true, with Texts false
}

// rerankRules are those of the parameters that are not read.
var rerankRules = wire.Rules{
	"user": wire.Ignored(), "priority": wire.Ignored(),
	"truncation":         wire.Refused("shorten documents that are too long", "false"),
	"max_tokens_per_doc": wire.Refused("shorten documents that are too long"),
	"max_chunks_per_doc": wire.Refused("send a document's parts as documents"),
	"truncate":           wire.Refused("shorten texts that are too long", "false"),
	"rank_fields":        wire.Refused(`a document is a string or has one member "text"`, `["text"]`),
}

// documents are texts: strings, or objects with a member "text".
type documents []string

// document is a text, as an object.
type document struct {
	Text string `json:"text" wire:"required"`
}

// ReadJSON reads a list of either.
func (d *documents) ReadJSON(at string, value json.RawMessage) error {
	list, err := wire.List(at, value)
	if err != nil {
		return err
	}
	if n := len(list); n == 0 || n > maxInputs {
		return wire.Invalid(at, "%s has %d texts; it must have 1 to %d", at, n, maxInputs)
	}
	*d = make(documents, len(list))
	for i, one := range list {
		if one[0] != '{' {
			if (*d)[i], err = wire.String(place(at, i), one); err != nil {
				return err
			}
			continue
		}
		var object document
		if err := wire.Object(place(at, i), one, nil, &object); err != nil {
			return err
		}
		(*d)[i] = object.Text
	}
	return nil
}

// ranked is a document's score, as the list of an answer has it.
type ranked struct {
	Index    int       `json:"index"` // of the document in the request
	Score    float32   `json:"relevance_score"`
	Document *document `json:"document,omitempty"`
}

// rankedText is a text's score, as Text Embeddings Inference writes it.
type rankedText struct {
	Index int     `json:"index"`
	Score float32 `json:"score"`
	Text  *string `json:"text,omitempty"`
}

// read judges the parameters. The texts are in Documents then; param is the parameter that has them.
func (in *rerankRequest) read() (param string, err error) {
	switch {
	case in.Query == "":
		return "", wire.Invalid("query", "query is empty; it must be a text")
	case in.Top != nil && *in.Top < 1:
		return "", wire.Invalid("top_n", "top_n is %d; it must be 1 or more", *in.Top)
	case in.Documents == nil && in.Texts == nil:
		return "", wire.Missing("documents", "an array")
	case in.Texts == nil:
		return "documents", nil
	case in.Documents != nil:
		return "", wire.Invalid("texts", "texts stands next to documents; a request has one of them")
	}
	in.Documents = in.Texts
	if in.Raw == nil {
		in.Raw = new(false)
	}
	return "texts", nil
}

// Rerank serves POST /v1/rerank: the documents in the order of their scores, the best one first; of equal ones the earlier comes first.
func (a *API) Rerank(w http.ResponseWriter, r *http.Request) error {
	var in rerankRequest
	if err := a.Service.Read(w, r, rerankRules, &in); err != nil {
		return err
	}
	param, err := in.read()
	if err != nil {
		return err
	}
	m, err := a.Service.OpenAny(r.Context(), in.Model)
	if err != nil {
		return err
	}
	defer m.Close()
	scores, tokens, err := m.Rerank(r.Context(), ask.Compared{Query: &in.Query, Texts: in.Documents,
		Names: ask.FieldNames{"prompt": param}, Place: func(i int) string { return place(param, i) }})
	if err != nil {
		return err
	}
	m.Close() // a client that reads slowly must not keep the model from being given back
	list := in.rank(scores)
	out := wire.NewJSONWriter(w)
	if in.Texts != nil {
		in.writeTexts(out, list)
		return out.End()
	}
	out.Raw(`{"id":`)
	out.Value("rerank-" + rand.Text())
	out.Raw(`,"object":"list","model":`)
	out.Value(m.Name)
	out.Raw(`,"results":`)
	out.List(len(list), func(i int) { out.Value(list[i]) })
	out.Raw(`,"usage":`)
	out.Value(embeddingUsage{tokens, tokens})
	out.Raw("}")
	return out.End()
}

// writeTexts writes the list in the form of Text Embeddings Inference.
func (in *rerankRequest) writeTexts(out *wire.JSONWriter, list []ranked) {
	out.List(len(list), func(i int) {
		text := rankedText{Index: list[i].Index, Score: list[i].Score}
		if in.ReturnText {
			text.Text = &in.Texts[text.Index]
		}
		out.Value(text)
	})
}

// logistic returns the probability of a score.
func logistic(score float64) float64 { return 1 / (1 + math.Exp(-score)) }

// rank returns what the answer lists.
func (in *rerankRequest) rank(scores []float32) []ranked {
	list := make([]ranked, len(scores))
	for i, score := range scores {
		list[i] = ranked{Index: i, Score: score}
	}
	slices.SortStableFunc(list, func(a, b ranked) int { return cmp.Compare(b.Score, a.Score) })
	if in.Top != nil {
		list = list[:min(*in.Top, len(list))]
	}
	for i := range list {
		one := &list[i]
		if in.Raw != nil && !*in.Raw {
			one.Score = float32(logistic(float64(one.Score)))
		}
		if in.Return {
			one.Document = &document{in.Documents[one.Index]}
		}
	}
	return list
}
