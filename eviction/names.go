package eviction

import (
	"fmt"
	"strings"
)

// names lists the policies that ByName makes.
var names = []struct {
	name string
	make func(o Options) (Policy, error)
}{
	{"none", func(Options) (Policy, error) { return None, nil }},
	{"sliding", func(o Options) (Policy, error) { return policy(slidingByBudget(o)) }},
	{"snapkv", func(o Options) (Policy, error) { return policy(NewSnapKV(o)) }},
	{"pyramidkv", func(o Options) (Policy, error) { return policy(NewPyramidKV(o)) }},
	{"ada", func(o Options) (Policy, error) { return policy(NewAda(nil, o)) }},
	{"h2o", func(o Options) (Policy, error) { return policy(NewH2O(o)) }},
	{"tova", func(o Options) (Policy, error) { return policy(NewTOVA(o)) }},
	{"keydiff", func(o Options) (Policy, error) { return policy(NewKeyDiff(o)) }},
	{"expected", func(o Options) (Policy, error) { return policy(NewExpectedAttention(o)) }},
	{"random", func(o Options) (Policy, error) { return policy(NewRandom(o)) }},
}

// slidingByBudget makes a policy whose window and protected prefix together are the budget.
func slidingByBudget(o Options) (*SlidingWindow, error) {
	prefix := o.ProtectedPrefix
	if prefix == 0 {
		prefix = DefaultPrefix
	}
	prefix = max(prefix, 0)
	if least := max(2*prefix, 1); o.Budget < least {
		return nil, fmt.Errorf("%w: sliding with a budget of %d slots, of which the first %d always stay and no fewer slide: the budget must be at least %d",
			ErrOptions, o.Budget, prefix, least)
	}
	return NewSlidingWindow(o.Budget-prefix, prefix)
}

// policy returns p as a Policy; with an error it returns nil, and not a Policy that holds a nil pointer.
func policy[P Policy](p P, err error) (Policy, error) {
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Names lists the names that ByName knows.
func Names() (list []string) {
	for _, n := range names {
		list = append(list, n.name)
	}
	return list
}

// ByName makes a policy by its name, for command lines. The sliding window's budget is the window and the protected prefix
// together, so that the same budget means the same memory for every policy.
func ByName(name string, o Options) (Policy, error) {
	for _, n := range names {
		if strings.EqualFold(n.name, name) {
			return n.make(o)
		}
	}
	return nil, fmt.Errorf("%w: no policy is named %q: there are %s", ErrOptions, name, strings.Join(Names(), ", "))
}
