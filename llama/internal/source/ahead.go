package source

import (
	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/model"
)

// Ahead is the tensors of a head that predicts further tokens. The zero value is of a model without one.
type Ahead struct {
	Tensors []model.Tensor
	Stored  []Stored // of each tensor
	Bytes   int64
	Why     string // why a head is not loaded that the files seem to have
	inFiles []checkpoint.Tensor
}

// findAhead finds the tensors of the configuration's head. A model is whole without its head: one that cannot be computed is left out of the configuration.
func (m *Model) findAhead() {
	head := m.Config.Ahead
	if head == nil {
		return
	}
	a := Ahead{Tensors: head.Tensors(), inFiles: checkpoint.Tensors(head)}
	for i := range a.inFiles {
		s, err := findChecked(m.weights, &a.inFiles[i])
		if err != nil {
			m.Config.Ahead = nil
			m.Ahead = Ahead{Why: err.Error()}
			return
		}
		s.name = a.inFiles[i].HuggingFace.Name
		a.Stored, a.Bytes = append(a.Stored, s), a.Bytes+int64(s.Bytes())
	}
	m.Ahead = a
}
