package receipt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// Mismatch is the error about a receipt that does not hold.
type Mismatch struct {
	Differences []Difference // at least one
}

// Difference is a field of a receipt with another value than the one that was computed.
type Difference struct {
	Field    string // such as "answer.logits", or "answer[3]" for a token
	Receipt  string // what the receipt says
	Computed string // the value found
}

// Error lists the differences.
func (m *Mismatch) Error() string {
	var b strings.Builder
	b.WriteString("receipt: it does not hold")
	for i, d := range m.Differences {
		b.WriteString([]string{": ", "; "}[min(i, 1)])
		fmt.Fprintf(&b, "%s is %s, and computed is %s", d.Field, d.Receipt, d.Computed)
	}
	return b.String()
}

// compare notes a difference if there is one.
func (m *Mismatch) compare(field, receipt, computed string) {
	if receipt != computed {
		m.Differences = append(m.Differences, Difference{field, cmp.Or(receipt, "nothing"), cmp.Or(computed, "nothing")})
	}
}

// err returns the mismatch as an error, if there is a difference.
func (m *Mismatch) err() error {
	if len(m.Differences) > 0 {
		return m
	}
	return nil
}

// VerifyOptions give the parts that a receipt names and does not contain.
type VerifyOptions struct {
	Adapter *llama.Adapter // the receipt's adapter; nil: it has no adapter
}

// Verify computes the answer of a receipt again. It returns nil if all that the receipt says of the model, of the prompt and of the answer is so, and a
// *Mismatch that names each difference if not. Statement.Made and Signature are not part of that; see CheckSignature.
//
// It computes at most the prompt and as many tokens as the receipt says that there are, and ends at the first token that differs. A receipt that makes no
// sense, whoever wrote it, is an error. The context is looked at before each token.
func Verify(ctx context.Context, m *llama.Model, r *Receipt) error {
	return VerifyWith(ctx, m, r, VerifyOptions{})
}

// VerifyWith is Verify for receipts that need more than the model.
func VerifyWith(ctx context.Context, m *llama.Model, r *Receipt, o VerifyOptions) error {
	s := &r.Statement
	if err := r.check(); err != nil {
		return fmt.Errorf("receipt: %w", err)
	}
	if r.Prompt == nil {
		return errors.New("receipt: it is sealed: set Receipt.Prompt to the prompt's tokens, since it has only their digest")
	}
	sum, err := llama.Digest(ctx, m)
	if err != nil {
		return fmt.Errorf("receipt: %w", err)
	}
	var differs Mismatch
	differs.compare("model", s.Model, sumText(sum))
	if err := compareAdapter(&differs, s.Adapter, o.Adapter); err != nil {
		return fmt.Errorf("receipt: %w", err)
	}
	if err := differs.err(); err != nil {
		return err // an answer of another model shows nothing
	}
	params, err := s.Parameters.params()
	if err != nil {
		return err
	}
	kv, err := cacheType(s.Cache.KV)
	if err != nil {
		return err
	}
	session := llama.SessionOptions{Capacity: s.Cache.Capacity, KV: kv}
	if s.Cache.Capacity < 1 {
		return fmt.Errorf("receipt: cache.capacity is %d: it must be positive", s.Cache.Capacity)
	}
	if s.Adapter != nil {
		session.Adapter, session.AdapterScale = o.Adapter, float32(s.Adapter.Scale)
		if session.AdapterScale == 0 {
			session.AdapterScale = llama.AdapterOff
		}
	}
	recorder, err := New(m, r.Prompt, &params, &Options{Kind: s.Kind, Session: &session})
	if err != nil {
		return err
	}
	differs.compare("prompt.tokens", s.Prompt.Tokens, recorder.made.Prompt.Tokens)
	if err := recorder.repeat(ctx, r, params, session, &differs); err != nil {
		return fmt.Errorf("receipt: compute the answer again: %w", err)
	}
	if err := differs.err(); err != nil {
		return err
	}
	computed, err := recorder.answer()
	if err != nil {
		return fmt.Errorf("receipt: %w", err)
	}
	for _, f := range []struct{ field, receipt, computed string }{
		{"answer.tokens", s.Answer.Tokens, computed.Tokens},
		{"answer.count", fmt.Sprint(s.Answer.Count), fmt.Sprint(computed.Count)},
		{"answer.stop", s.Answer.Stop, computed.Stop},
		{"answer.stop_string", s.Answer.StopString, computed.StopString},
		{"answer.text", s.Answer.Text, computed.Text},
		{"answer.thought", s.Answer.Thought, computed.Thought},
		{"answer.calls", s.Answer.Calls, computed.Calls},
		{"answer.logits", s.Answer.Logits, computed.Logits},
	} {
		differs.compare(f.field, f.receipt, f.computed)
	}
	return differs.err()
}

// repeat computes the answer to the receipt's prompt, up to the first token that differs.
func (r *Recorder) repeat(ctx context.Context, from *Receipt, p llama.Params, session llama.SessionOptions, differs *Mismatch) error {
	pool, err := r.model.NewPool(&llama.PoolOptions{MaxSessions: 1, Session: session})
	if err != nil {
		return err
	}
	defer pool.Close()
	pieces := pool.Answer(ctx, r.prompt, p)
	if r.made.Kind == Text {
		pieces = pool.Generate(ctx, r.prompt, p)
	}
	count := from.Statement.Answer.Count
	for piece, err := range r.Watch(pieces) {
		if err != nil {
			return err
		}
		for i := len(r.tokens) - len(piece.Tokens); i < len(r.tokens); i++ {
			switch token := r.tokens[i]; {
			case i >= count:
				differs.compare("answer.count", fmt.Sprint(count), "more, with "+r.quoted(token)+" as the next token")
				return nil
			case from.Answer != nil && from.Answer[i] != token:
				differs.compare(fmt.Sprintf("answer[%d]", i), r.quoted(from.Answer[i]), r.quoted(token))
				return nil
			}
		}
	}
	return nil
}

// quoted returns a token and its text.
func (r *Recorder) quoted(t llama.Token) string {
	if t < 0 || int(t) >= r.model.Tokenizer().VocabSize() {
		return fmt.Sprint(t)
	}
	return fmt.Sprintf("%d (%q)", t, r.model.Tokenizer().AppendBytes(nil, t))
}

// compareAdapter compares a receipt's adapter with the one that is given.
func compareAdapter(differs *Mismatch, says *Adapter, given *llama.Adapter) error {
	receipt, computed := "", ""
	if says != nil {
		receipt = says.Fingerprint
	}
	if given != nil {
		print, err := given.Fingerprint()
		if err != nil {
			return err
		}
		computed = print
	}
	differs.compare("adapter.fingerprint", receipt, computed)
	return nil
}

// cacheType returns the type of keys and values with a name.
func cacheType(name string) (tensor.DType, error) {
	types := []tensor.DType{tensor.F32, tensor.F16, tensor.Q8_0, tensor.Q4_0}
	if i := slices.IndexFunc(types, func(d tensor.DType) bool { return d.String() == name }); i >= 0 {
		return types[i], nil
	}
	return 0, fmt.Errorf("receipt: cache.kv is %.40q: it must be one of %v", name, types)
}
