package llama

import "fmt"

// Kind is what a model is made for.
type Kind uint8

// The kinds of models.
const (
	Generator Kind = iota // goes on with texts: Session, Pool. It embeds texts, too
	Embedder              // makes vectors of texts: Model.Embed
	Reranker              // compares a query with documents: Model.Rerank
)

// String returns "generator", "embedder" or "reranker".
func (k Kind) String() string {
	switch k {
	case Generator:
		return "generator"
	case Embedder:
		return "embedder"
	case Reranker:
		return "reranker"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Kind returns what the model is made for. Sessions and pools are for a Generator only.
func (m *Model) Kind() Kind {
	switch {
	case m.config.Scores:
		return Reranker
	case m.config.Whole || m.files.Pipeline.Headless:
		return Embedder
	}
	return Generator
}

// hasHead returns an error if the model gives no answers.
func hasHead(m *Model) error {
	switch m.Kind() {
	case Reranker:
		return fmt.Errorf("%w: the model gives no answers; it compares a query with documents, by Model.Rerank", ErrUnsupported)
	case Embedder:
		return fmt.Errorf("%w: the model has no output head, so that it gives no answers; it makes vectors of texts, by Model.Embed", ErrUnsupported)
	}
	return nil
}
