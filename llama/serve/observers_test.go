package serve_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve"
)

// teller is an Observer that writes down what it learns.
type teller struct {
	name string
	told *[]string
}

func (o teller) tell(format string, args ...any) {
	*o.told = append(*o.told, o.name+" "+fmt.Sprintf(format, args...))
}

func (o teller) Begin(ctx context.Context, r serve.Request) (context.Context, serve.Span) {
	before, _ := ctx.Value(teller{}).(string)
	o.tell("begin %s after %q", r.ID, before)
	return context.WithValue(ctx, teller{}, before+o.name), tellerSpan{o}
}

type tellerSpan struct{ teller }

func (o tellerSpan) Model(name string)                 { o.tell("model %s", name) }
func (o tellerSpan) Begin(answer int, _ time.Duration) { o.tell("answer %d", answer) }
func (o tellerSpan) Tokens(answer, count int)          { o.tell("tokens %d %d", answer, count) }
func (o tellerSpan) End(answer int, s llama.StopReason, _ llama.Stats) {
	o.tell("end %d %v", answer, s)
}
func (o tellerSpan) Done(status int, _ error) { o.tell("done %d", status) }

// TestObservers has two observers learn the same, in turn, and the second one work within the first one's context.
func TestObservers(t *testing.T) {
	var told []string
	ctx, span := serve.Observers(teller{"a", &told}, teller{"b", &told}).Begin(t.Context(), serve.Request{ID: "r"})
	span.Model("m")
	span.Begin(1, 0)
	span.Tokens(1, 2)
	span.End(1, llama.EndOfTurn, llama.Stats{})
	span.Done(200, nil)
	want := []string{`a begin r after ""`, `b begin r after "a"`, "a model m", "b model m", "a answer 1", "b answer 1", "a tokens 1 2", "b tokens 1 2",
		"a end 1 end of turn", "b end 1 end of turn", "a done 200", "b done 200"}
	if !slices.Equal(told, want) || ctx.Value(teller{}) != "ab" {
		t.Errorf("%q, %v", told, ctx.Value(teller{}))
	}
}
