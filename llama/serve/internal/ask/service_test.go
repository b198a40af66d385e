package ask

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/antigravity-go/antigravity/llama/serve/internal/budget"
	"github.com/antigravity-go/antigravity/llama/serve/internal/models"
)

// asks returns the context of a client's request with a body of size bytes.
func asks(t *testing.T, client string, size int, memory *budget.Share) context.Context {
	return WithRequest(t.Context(), &Request{Client: client, Memory: memory, size: size})
}

// TestFewLongTextsAtATime works on many texts at once: only a few long ones have their turn, and short ones do not wait for them.
func TestFewLongTextsAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &Service{TextQueues: NewTextQueues()}
		opened := make(chan struct{})
		working, most := 0, 0
		done := make(chan struct{})
		turn := make(chan int)
		go func() { // counts who is at work
			for n := range turn {
				working += n
				most = max(most, working)
			}
			close(done)
		}()
		for i := range 40 {
			go func() {
				err := d.ProcessText(asks(t, fmt.Sprint(i%3), longText, nil), func() error {
					turn <- 1
					<-opened
					turn <- -1
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}()
		}
		synctest.Wait()
		if most > min(maxLongTexts, max(1, runtime.GOMAXPROCS(0)/2)) || most != working {
			t.Errorf("%d long texts are worked on at a time", most)
		}
		short := false
		if err := d.ProcessText(asks(t, "0", longText-1, nil), func() error { short = true; return nil }); err != nil || !short {
			t.Errorf("a short text waits for long ones: %v", err)
		}
		gone, leave := context.WithCancelCause(asks(t, "0", longText, nil))
		leave(ErrShutdown)
		if err := d.ProcessText(gone, func() error { return nil }); !errors.Is(err, ErrShutdown) {
			t.Errorf("who leaves the queue: %v", err)
		}
		close(opened)
		synctest.Wait()
		close(turn)
		<-done
	})
}

// TestTokensCountAsMemory cuts texts into tokens, with enough memory for the tokens and without.
func TestTokensCountAsMemory(t *testing.T) {
	b := budget.New(100)
	share := b.Open("a")
	d := &Service{TextQueues: NewTextQueues()}
	tokens, err := d.Encode(asks(t, "a", 1, share), func() ([]llama.Token, error) { return make([]llama.Token, 10), nil })
	if err != nil || len(tokens) != 10 || b.Stats().Held != 40 {
		t.Errorf("ten tokens: %v, %+v", err, b.Stats())
	}
	_, err = d.Encode(asks(t, "a", 1, share), func() ([]llama.Token, error) { return make([]llama.Token, 10), nil })
	if e := Explain(t.Context(), err, nil); e.Status != http.StatusServiceUnavailable || e.Code != "requests_full" || e.RetryAfter <= 0 {
		t.Errorf("ten more: %v", err)
	}
	share.Close()
	if b.Stats().Held != 0 {
		t.Errorf("%+v", b.Stats())
	}
}

// TestConstraintsEndWithTheRequest makes a constraint for a request that has ended already.
func TestConstraintsEndWithTheRequest(t *testing.T) {
	model, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	m := &Model{Lease: &models.Lease{Model: model}, service: &Service{}}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ErrShutdown)
	schema := Form{Schema: []byte(`{"type":"object","properties":{"unheard-of":{"const":"of"}}}`)}
	names := NewFieldNames("messages", "max_tokens")
	names["schema"] = "response_format"
	err = m.Constrain(ctx, new(llama.Params), Tools{}, schema, names)
	if e := Explain(t.Context(), err, nil); err == nil || e.Code != "shutting_down" || e.Param != "" {
		t.Errorf("got %v", err)
	}
}

// TestAnswersThatTheirFormEnds explains what a constraint says of an answer that cannot go on.
func TestAnswersThatTheirFormEnds(t *testing.T) {
	names := NewFieldNames("messages", "max_tokens")
	names["schema"] = "response_format"
	for form, param := range map[string]string{"JSON schema": "response_format", "lossy JSON schema": "response_format", "tools": "tools"} {
		for _, why := range []error{constrain.ErrStuck, constrain.ErrRefused, constrain.ErrTooComplex} {
			err := fmt.Errorf("choose token 3: %w", &constrain.AnswerError{Form: form, Text: "{", Err: why})
			e := Explain(t.Context(), err, names)
			if e.Status != http.StatusBadRequest || e.Code != "unsupported_schema" || e.Param != param || !errors.Is(e, why) {
				t.Errorf("%s, %v: %+v", form, why, e)
			}
		}
	}
}
