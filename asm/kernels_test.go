package asm_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/quant"
)

// TestTiers holds what other packages rely on: the portable tier comes first, the names are those that ANTIGRAVITY_CPU takes,
// each tier has at least the panels of the one below, and Best is one of them.
func TestTiers(t *testing.T) {
	tiers, known := asm.Tiers(), []string{"generic", "avx2", "avxvnni", "avx512", "avx512vnni", "avx512near", "amx", "neon", "sdot", "i8mm"}
	if tiers[0] != asm.Portable() {
		t.Error("the first tier is not the portable one")
	}
	last, best := -1, false
	for i, k := range tiers {
		at := slices.Index(known, k.Tier())
		if at <= last {
			t.Errorf("tier %d is %q, which is unknown or comes too late", i, k.Tier())
		}
		last, best = at, best || k.Tier() == asm.Best().Tier()
		for _, f := range quant.Formats() {
			switch p := k.PanelsFor(f); {
			case p != nil && p.Format() != f:
				t.Errorf("%s: the panels for %s are those of %s", k.Tier(), f, p.Format())
			case p == nil && i > 0 && tiers[i-1].PanelsFor(f) != nil:
				t.Errorf("%s has no panels for %s, and the tier below has", k.Tier(), f)
			}
		}
	}
	if !best || asm.Tier() != asm.Best().Tier() {
		t.Errorf("the tier in use is %q, of %d", asm.Tier(), len(tiers))
	}
}

// TestKernelsCannotBeChanged fails if a type that all users share has a field that they could set.
func TestKernelsCannotBeChanged(t *testing.T) {
	for _, shared := range []reflect.Type{reflect.TypeFor[asm.Kernels](), reflect.TypeFor[asm.Panels]()} {
		for i := range shared.NumField() {
			if name := shared.Field(i).Name; token.IsExported(name) {
				t.Errorf("%v has the exported field %s", shared, name)
			}
		}
	}
}

// TestAliasesAreDocumented holds the comments of the types of internal packages against their fields and methods, which
// documentation tools do not show.
func TestAliasesAreDocumented(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "kernels.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	aliases := map[string]reflect.Type{
		"Pages": reflect.TypeFor[asm.Pages](), "PageSide": reflect.TypeFor[asm.PageSide](),
		"AttentionTile": reflect.TypeFor[asm.AttentionTile](), "Partial": reflect.TypeFor[asm.Partial](),
		"Panels": reflect.TypeFor[asm.Panels](), "PanelProduct": reflect.TypeFor[asm.PanelProduct](), "StatePass": reflect.TypeFor[asm.StatePass](),
	}
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || !spec.Assign.IsValid() {
			return true
		}
		alias, known := aliases[spec.Name.Name]
		if !known {
			t.Errorf("the alias %s is not in this test", spec.Name.Name)
			return true
		}
		found++
		var names []string
		if alias.Kind() == reflect.Struct {
			for field := range alias.Fields() {
				names = append(names, field.Name)
			}
		}
		if alias.Kind() != reflect.Interface {
			alias = reflect.PointerTo(alias)
		}
		for method := range alias.Methods() {
			names = append(names, method.Name)
		}
		for _, name := range names {
			if token.IsExported(name) && !regexp.MustCompile(`\b`+name+`\b`).MatchString(spec.Doc.Text()) {
				t.Errorf("the comment of %s does not tell of %s", spec.Name.Name, name)
			}
		}
		return true
	})
	if found != len(aliases) {
		t.Errorf("%d aliases in kernels.go, want %d", found, len(aliases))
	}
}
