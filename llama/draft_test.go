package llama

import (
	"errors"
	"slices"
	"testing"
)

// proposing is a Drafter that proposes the same tokens always.
type proposing []Token

func (p proposing) Draft(dst, _ []Token) []Token { return append(dst, p...) }

func TestMultiDrafter(t *testing.T) {
	none, first, second := proposing(nil), proposing{1, 2}, proposing{3}
	for _, c := range []struct {
		drafter Drafter
		want    []Token
		stands  int // for how many
	}{
		{MultiDrafter(), []Token{9}, 0},
		{MultiDrafter(nil, none), []Token{9}, 1},
		{MultiDrafter(none, first, second), []Token{9, 1, 2}, 3},
		{MultiDrafter(MultiDrafter(none, second), nil, MultiDrafter(first)), []Token{9, 3}, 3},
	} {
		if got := c.drafter.Draft([]Token{9}, nil); !slices.Equal(got, c.want) {
			t.Errorf("%v proposes %v, want %v", c.drafter, got, c.want)
		}
		if n := len(draftersOf(c.drafter)); n != c.stands {
			t.Errorf("%v stands for %d drafters, want %d", c.drafter, n, c.stands)
		}
	}
	var wrong *ParamError
	if err := checkDraft(SelfDraft(), new(Model)); !errors.As(err, &wrong) {
		t.Errorf("the head of a model without one: %v", err)
	}
	if err := checkDraft(MultiDrafter(first, SelfDraft()), new(Model)); err != nil {
		t.Errorf("among others, the head of a model without one: %v", err)
	}
	if len(draftersOf(nil)) != 0 || len(draftersOf(first)) != 1 {
		t.Error("nil stands for none, another Drafter for itself")
	}
}

// TestDraftsAreLearnedByKind begins answers with drafters of the same kinds in another order: experience stays with the kind.
func TestDraftsAreLearnedByKind(t *testing.T) {
	var d drafting
	d.start(MultiDrafter(proposing{1}, PromptLookup(LookupOptions{})))
	d.sources[0].promise.right, d.sources[1].promise.right = 10, 20
	d.start(nil)
	d.start(MultiDrafter(PromptLookup(LookupOptions{}), proposing{2}, proposing{3}))
	if d.sources[0].promise.right != 20 || d.sources[1].promise.right != 10 || d.sources[2].promise != newPromise() || d.active != 3 {
		t.Errorf("%+v", d.sources)
	}
	d.start(proposing{4})
	if d.sources[0].promise.right != 10 || d.active != 1 || len(d.sources) != 3 || d.sources[1].drafter != nil {
		t.Errorf("%+v", d.sources)
	}
}
