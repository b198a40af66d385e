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
	{"sliding", slidingByBudget},
	{"snapkv", NewSnapKV},
	{"pyramidkv", NewPyramidKV},
	{"ada", func(o Options) (Policy, error) { return NewAda(nil, o) }},
	{"h2o", NewH2O},
	{"tova", NewTOVA},
	{"keydiff", NewKeyDiff},
	{"expected", NewExpectedAttention},
	{"kvzip", NewKVzip},
	{"random", NewRandom},
}

// slidingByBudget makes a policy with a window and a protected prefix that add up to the budget.
func slidingByBudget(o Options) (Policy, error) {
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
	return nil, fmt.Errorf("%w: no policy is named %q; the names are %s", ErrOptions, name, strings.Join(Names(), ", "))
}
