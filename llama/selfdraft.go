package llama

import "github.com/antigravity-go/antigravity/llama/internal/engine"

// SelfDraft returns the Drafter of models that were trained with a head of their own, which predicts tokens beyond the next one: Qwen 3.5,
// GLM 4.5, DeepSeek V3 and their like. Each session asks its own model's head. The Drafter may serve any number of sessions, also at once.
// Model.DraftsItself reports whether a model has such a head; for a model without one, an answer's error is a ParamError.
func SelfDraft() Drafter { return selfDraft{} }

// selfDraft stands for the head of a session's model.
type selfDraft struct{}

// Draft proposes nothing: outside a session there is no model.
func (selfDraft) Draft(dst, _ []Token) []Token { return dst }

// foresight is a model's head that predicts tokens beyond the next one, on the model's device.
type foresight struct {
	head *engine.Batch // nil: the model has no head
}

// DraftsItself reports whether the model has a head that predicts tokens beyond the next one: see SelfDraft.
func (f *foresight) DraftsItself() bool { return f.head != nil }

// checkDraft refuses a Drafter that the model cannot serve.
func checkDraft(d Drafter, m *Model) error {
	for _, d := range draftersOf(d) {
		if _, own := d.(selfDraft); own && !m.DraftsItself() {
			return &ParamError{"Params.Draft", "SelfDraft()", "another Drafter, or nil: the model has no head that predicts further tokens"}
		}
	}
	return nil
}
