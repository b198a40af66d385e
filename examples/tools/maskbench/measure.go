package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/antigravity-go/antigravity/internal/precise"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
)

// A schema is examined in three steps: compile it, let matchers follow each document that tests it, compare the verdicts. The times of
// compiling and of each mask are taken on the way. For example, for {"enum": ["one", "two"]} and the document "on", which must be refused,
// follow takes the times of three masks:
//
//	token   allowed?
//	"       yes, accepted
//	on      yes, accepted: "one" begins so
//	"       no: follow returns 2, so the document is refused, and the schema passes
//
// For the document "one" all three tokens are accepted. The fourth mask has the end in it, and follow returns 4.

// The verdicts on a schema.
const (
	passed      = "pass"
	unsupported = "unsupported" // compiling gave an UnsupportedError, or another error and no test document is valid
	broken      = "error"       // compiling gave another error, or a matcher contradicts itself, or the engine panicked
	accepts     = "accepts"     // a document is accepted that must be refused
	refuses     = "refuses"     // a document is refused that must be accepted
)

// result is what one schema gave, in the form of -json.
type result struct {
	ID      string `json:"id"`
	Verdict string `json:"verdict"`
	// Accepts and Refuses count the documents with the wrong verdict. If there are both kinds, the schema's verdict is accepts.
	Accepts int `json:"accepts,omitempty"`
	Refuses int `json:"refuses,omitempty"`
	// Keyword and Path are an UnsupportedError's.
	Keyword string `json:"keyword,omitempty"`
	Path    string `json:"path,omitempty"`
	// Reason says why the verdict is not pass: an error's text, or which document was refused or accepted, and where.
	Reason string `json:"reason,omitempty"`
	// CompileUS is how long compiling took, in microseconds, whether it succeeded or not.
	CompileUS float64 `json:"compile_us"`
	// MaskUS is how long it took to compute each mask and to accept the token that followed, in microseconds.
	MaskUS []float64 `json:"mask_us,omitempty"`
	// Tokens counts the tokens of the documents that were accepted and had to be; Forced those of them that Forced foretold, and
	// Misforced how often Forced foretold other tokens than the document's.
	Tokens    int `json:"tokens,omitempty"`
	Forced    int `json:"forced,omitempty"`
	Misforced int `json:"misforced,omitempty"`
	// CompiledBytes and UsedBytes say by how much the heap had grown after compiling and after the last test.
	CompiledBytes int64 `json:"compiled_bytes,omitempty"`
	UsedBytes     int64 `json:"used_bytes,omitempty"`
}

// fail notes a verdict, which replaces milder ones, and its reason.
func (r *result) fail(verdict, reason string) {
	severity := []string{passed, unsupported, refuses, accepts, broken}
	if slices.Index(severity, verdict) > slices.Index(severity, r.Verdict) {
		r.Verdict, r.Reason = verdict, reason
	}
}

// examiner runs MaskBench's procedure.
type examiner struct {
	load      func() (*llama.Tokenizer, error)
	tokenizer *llama.Tokenizer
	compiled  int  // constraints made for the tokenizer
	forced    bool // count forced tokens
	memory    bool // measure the heap
	check     int  // tokens a position to check Allowed against Accept with; 0: no check
	thread    bool // times are those that processors worked for the thread, which does not change

	set    *llama.TokenSet
	random *rand.Rand
	text   []byte
	tokens []llama.Token
}

// newExaminer returns an examiner for the vocabulary that load reads.
func newExaminer(load func() (*llama.Tokenizer, error)) *examiner {
	return &examiner{load: load, random: rand.New(rand.NewPCG(1, 2))}
}

// warmUp reads the vocabulary, makes what the engine prepares once for it, and returns how long preparing took.
func (e *examiner) warmUp() (took time.Duration, err error) {
	if e.tokenizer, err = e.load(); err != nil {
		return 0, err
	}
	e.compiled, e.set = 0, llama.NewTokenSet(e.tokenizer.VocabSize())
	began := precise.Now()
	_, err = constrain.Choice(e.tokenizer, "yes", "no")
	return precise.Since(began), err
}

// mostKept is how many constraints are made for a tokenizer while memory is measured. The engine remembers some hundreds: if it forgot one
// while another is made, the heap would seem to grow by too little.
const mostKept = 100

// examine compiles a schema and runs its tests. The error says that the tests cannot be run; what the engine does wrong is in the result.
func (e *examiner) examine(s *schema) (r *result, err error) {
	r = &result{ID: s.ID, Verdict: passed}
	defer func() {
		if p := recover(); p != nil {
			r.fail(broken, fmt.Sprintf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	if e.memory && e.compiled >= mostKept {
		if _, err := e.warmUp(); err != nil {
			return nil, err
		}
	}
	e.compiled++
	before := e.heap()
	began := e.now()
	constraint, err := constrain.JSONSchema(e.tokenizer, s.Schema)
	r.CompileUS = microseconds(e.now() - began)
	var refused *constrain.UnsupportedError
	switch {
	case errors.As(err, &refused):
		r.Keyword, r.Path = refused.Keyword, refused.Path
		r.fail(unsupported, err.Error())
		return r, nil
	case err != nil && !slices.ContainsFunc(s.Tests, func(d document) bool { return d.Valid }):
		r.Keyword = "(no document fits)" // as far as the tests show, the error is right
		r.fail(unsupported, err.Error())
		return r, nil
	case err != nil:
		r.fail(broken, err.Error())
		return r, nil
	}
	r.CompiledBytes = e.heap() - before
	for i, d := range s.Tests {
		if e.text, err = appendPython(e.text[:0], d.Data); err != nil {
			return nil, fmt.Errorf("%s, test %d: %w", s.ID, i, err)
		}
		e.tokens = append(e.tokens[:0], e.tokenizer.Encode(string(e.text))...)
		e.test(r, constraint.Start(), i, d.Valid)
	}
	r.UsedBytes = e.heap() - before
	runtime.KeepAlive(constraint)
	return r, nil
}

// test runs the i-th document of a schema. e.tokens are the document's tokens.
func (e *examiner) test(r *result, m llama.Matcher, i int, valid bool) {
	var watched llama.Matcher // checks and forced tokens have a matcher of their own, so that they are not in the time of the masks
	if e.check > 0 || e.forced && valid {
		watched = m.Clone()
	}
	at, err := e.follow(r, m)
	if err != nil {
		r.fail(broken, fmt.Sprintf("test %d, %s: %v", i, e.around(at), err))
		return
	}
	accepted := at > len(e.tokens)
	switch {
	case accepted && !valid:
		r.Accepts++
		r.fail(accepts, fmt.Sprintf("test %d: accepts %s", i, abridged(string(e.text))))
	case !accepted && valid:
		r.Refuses++
		r.fail(refuses, fmt.Sprintf("test %d, %s", i, e.around(at)))
	}
	if watched == nil {
		return
	}
	if e.check > 0 {
		c := checker{e.tokenizer, e.set, llama.NewTokenSet(e.set.Size()), e.random, e.check}
		if at, err := c.follow(watched.Clone(), e.tokens[:min(at, len(e.tokens))]); err != nil {
			r.fail(broken, fmt.Sprintf("test %d, %s: %v", i, e.around(at), err))
		}
	}
	if e.forced && valid && accepted {
		e.checkForced(r, watched)
	}
}

// follow lets a matcher follow the document and measures the masks. It returns how many tokens were accepted, and one more if the document
// may end after its last.
func (e *examiner) follow(r *result, m llama.Matcher) (int, error) {
	for at := 0; ; at++ {
		began := e.now()
		if err := m.Allowed(e.set); err != nil {
			return at, err
		}
		allowed := false
		if at < len(e.tokens) {
			if allowed = e.set.Has(e.tokens[at]); allowed {
				if err := m.Accept(e.tokens[at]); err != nil {
					return at, fmt.Errorf("the token is allowed, and then refused: %w", err)
				}
			}
		}
		r.MaskUS = append(r.MaskUS, microseconds(e.now()-began))
		if at == len(e.tokens) {
			if e.set.End() {
				at++
			}
			return at, nil
		}
		if !allowed {
			return at, nil
		}
	}
}

// checkForced counts the tokens that Forced foretells of the document, which the matcher accepts.
func (e *examiner) checkForced(r *result, m llama.Matcher) {
	var foretold []llama.Token
	for at := 0; at < len(e.tokens); {
		foretold = m.Forced(foretold[:0])
		right := 0
		for right < len(foretold) && at+right < len(e.tokens) && foretold[right] == e.tokens[at+right] {
			right++
		}
		if right < len(foretold) {
			r.Misforced++
		}
		r.Forced += right
		for range max(right, 1) {
			if err := m.Accept(e.tokens[at]); err != nil {
				r.fail(broken, fmt.Sprintf("%s: refused where Allowed was not asked before: %v", e.around(at), err))
				return
			}
			at++
		}
	}
	r.Tokens += len(e.tokens)
}

// zero is when the program began.
var zero = precise.Now()

// now returns the time since some moment.
func (e *examiner) now() time.Duration {
	if e.thread {
		worked, _ := threadTime()
		return worked
	}
	return precise.Since(zero)
}

// heap returns the bytes that are alive on the heap, 0 unless e.memory is set.
func (e *examiner) heap() int64 {
	if !e.memory {
		return 0
	}
	runtime.GC()
	runtime.GC() // a second time for what the first only unlinked: finalisers, sync.Pool
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// around shows the place of the at-th token in the document: the text before it, a sign, and the text from it on.
func (e *examiner) around(at int) string {
	if at >= len(e.tokens) {
		return fmt.Sprintf("at the end of %s", abridged(string(e.text)))
	}
	var before []byte
	for _, t := range e.tokens[:at] {
		before = e.tokenizer.AppendBytes(before, t)
	}
	token := e.tokenizer.AppendBytes(nil, e.tokens[at])
	after := string(e.text[min(len(before)+len(token), len(e.text)):])
	return fmt.Sprintf("token %d: %s▶%s◀%s", at, ending(string(before)), token, beginning(after))
}

// shown is how many bytes of a text are shown on each side.
const shown = 60

func beginning(s string) string {
	if len(s) > shown {
		return s[:shown] + "…"
	}
	return s
}

func ending(s string) string {
	if len(s) > shown {
		return "…" + s[len(s)-shown:]
	}
	return s
}

func abridged(s string) string {
	if len(s) > 3*shown {
		return s[:2*shown] + ending(s)
	}
	return s
}

func microseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
