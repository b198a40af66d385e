package families

import (
	"cmp"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// The families, in the order in which errors and lists have them.
var all = slices.Concat(llamas, mistrals, qwens, smollms, granites, glms, gptosses, qwensWithStates, lfm2s, nemotrons, falcons, latents, phis, olmos, gemmas, gemma4s, gemma3ns, seeds, ernies, exaones, starcoders, bigcodes, stablelms, coheres, apertuses, bitnets, muses, hunyuans, berts, debertas, mpnets)

// All returns the families.
func All() []*Family { return all }

// Of returns the family of a configuration; Llama's if the name is unknown.
func Of(c *model.Config) *Family {
	for _, f := range all {
		if f.Name == c.Family {
			return f
		}
	}
	return all[0]
}

// ByType returns the family of config.json's model_type, and an error that lists all of them if there is no such family. bidirectional is what config.json
// says of use_bidirectional_attention: some families differ in nothing else. Others differ in routed: config.json has nomic-bert's key for layers with experts.
func ByType(name string, bidirectional any, routed bool) (*Family, error) {
	f, err := by("model_type", name, func(f *Family) []string { return append([]string{f.Type}, f.textTypes...) })
	if err == nil && routed && f.experts == nil {
		for _, other := range all {
			if other.experts != nil && other.Type == f.Type {
				return other, nil
			}
		}
	}
	if err != nil || bidirectional == nil || bidirectional == false || f.whole || bidirectional == "vision" { // which is of tokens that stand for images
		return f, err
	}
	for _, other := range all {
		if bidirectional == true && other.whole && other.Type == f.Type {
			return other, nil
		}
	}
	return nil, unsupported.Errorf("use_bidirectional_attention is %.100v, which is not implemented for the architecture %s", bidirectional, f.Name)
}

// ByArchitecture returns the family of a GGUF file, by general.architecture, which has the key `key`, and by whether the model has experts.
func ByArchitecture(key, name string, experts bool) (*Family, error) {
	f, err := by(key, name, func(f *Family) []string {
		if f.folderOnly {
			return nil
		}
		return append([]string{f.architecture()}, f.alsoGGUF...)
	})
	if err != nil || !experts || f.experts != nil {
		return f, err
	}
	for _, other := range all {
		if other.experts != nil && other.architecture() == name {
			return other, nil
		}
	}
	return f, nil
}

// by returns the first family with a name.
func by(key, name string, names func(f *Family) []string) (*Family, error) {
	var known []string
	for _, f := range all {
		if slices.Contains(names(f), name) {
			return f, nil
		}
		if list := names(f); list != nil {
			known = append(known, list[0])
		}
	}
	slices.Sort(known)
	return nil, unsupported.Errorf("%s is %.100q; known are %s", key, name, strings.Join(slices.Compact(known), ", "))
}

// Adapts returns the architecture for which adapters are made that fit a GGUF file's architecture.
func Adapts(architecture string) string {
	for _, f := range all {
		if f.architecture() == architecture || slices.Contains(f.alsoGGUF, architecture) {
			return cmp.Or(f.adapts, f.architecture())
		}
	}
	return architecture
}

// FolderOnly reports whether GGUF has no architecture for the family.
func (f *Family) FolderOnly() bool { return f.folderOnly }

// Classes returns the classes of the families, as config.json calls them under architectures.
func Classes() (list []string) {
	for _, f := range all {
		list = append(list, f.Class)
	}
	return list
}

// Architecture returns GGUF's name of a model's architecture.
func Architecture(c *model.Config) string {
	f := Of(c)
	switch {
	case f.ggufSeeing != "" && c.RoPE.Sections != [3]int{}:
		return f.ggufSeeing
	case f.ggufRouted != "" && c.Experts.Count > 0:
		return f.ggufRouted
	case c.Mixers == nil && c.Experts.Count > 0:
		return cmp.Or(f.ggufMoE, f.architecture())
	case c.Mixers == nil:
		return cmp.Or(f.ggufPlain, f.architecture())
	}
	return f.architecture()
}

// Describe notes in a configuration what all models of its family have, for those who do not read it from files.
func Describe(c *model.Config) { Of(c).describe(c) }
