package llama

import "fmt"

// Kind is what a model is made for.
type Kind uint8

// The kinds of models.
const (
	Generator  Kind = iota // goes on with texts: Session, Pool. It embeds texts, too
	Embedder               // makes vectors of texts: Model.Embed
	Reranker               // compares a query with documents: Model.Rerank. Some make vectors of tokens for it: Side.EmbedTokens
	Classifier             // puts labels on texts: Model.Classify, Model.ClassifyPairs
	Tagger                 // puts labels on tokens: Model.Entities, Model.Tags
)

// kinds are the kinds' names, and what models of them do in place of giving answers.
var kinds = [...]struct{ name, does string }{
	Generator:  {name: "generator"},
	Embedder:   {"embedder", "it has no output head, and makes vectors of texts, by Model.Embed"},
	Reranker:   {"reranker", "it compares a query with documents, by Model.Rerank"},
	Classifier: {"classifier", "it puts labels on texts, by Model.Classify"},
	Tagger:     {"tagger", "it puts labels on the tokens of texts, by Model.Entities and Model.Tags"},
}

// String returns "generator", "embedder", "reranker", "classifier" or "tagger".
func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k].name
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Kind returns what the model is made for. Sessions and pools are for a Generator only.
func (m *Model) Kind() Kind {
	switch h := &m.config.Head; {
	case h.Given() && h.Each():
		return Tagger
	case len(h.Labels) > 1:
		return Classifier
	case h.Given() || m.files.Pipeline.Late != nil:
		return Reranker
	case m.config.Whole || m.files.Pipeline.Headless:
		return Embedder
	}
	return Generator
}

// hasHead returns an error if the model gives no answers.
func hasHead(m *Model) error {
	if kind := m.Kind(); kind != Generator {
		return fmt.Errorf("%w: the model gives no answers; %s", ErrUnsupported, kinds[kind].does)
	}
	return nil
}
