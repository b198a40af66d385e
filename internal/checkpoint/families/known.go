package families

import "slices"

// Known is what the tables say of a family, for a page that lists all of them.
type Known struct {
	Types         []string // config.json's model_type
	Class         string
	Architectures []string // GGUF's; empty if GGUF has no such architecture
	Whole         bool     // a text is read as a whole
	Experts       bool     // layers may have experts
	Towers        []string // the kinds of towers that see for it
	Texts, Tokens bool     // heads put labels on texts, and on tokens
}

// Everything returns what the tables say of each family, in their order.
func Everything() (list []Known) {
	for _, f := range all {
		rules := f.rules()
		k := Known{Types: append([]string{f.Type}, f.textTypes...), Class: f.Class, Whole: f.whole, Experts: f.experts != nil, Texts: rules.texts != nil, Tokens: rules.tokens != nil}
		for _, name := range append([]string{f.architecture(), f.ggufPlain, f.ggufMoE, f.ggufSeeing, f.ggufRouted}, f.alsoGGUF...) {
			if name != "" && !f.folderOnly && !slices.Contains(k.Architectures, name) {
				k.Architectures = append(k.Architectures, name)
			}
		}
		for _, t := range towers {
			if slices.Contains(t.Serves, f.Name) {
				k.Towers = append(k.Towers, t.Kind)
			}
		}
		list = append(list, k)
	}
	return list
}

// CountingKeys returns the keys of config.json that are refused in families that do not read them, unless their values change nothing.
func CountingKeys() (list []string) {
	for _, c := range counting {
		list = append(list, c.key)
	}
	return list
}
