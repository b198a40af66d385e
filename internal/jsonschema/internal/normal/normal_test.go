package normal

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/jsonexpr"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/document"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/limits"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/read"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/sets"
)

// name writes a node as the IDs of its schemas, with a sign for those that the values must not be of.
func name(n *Node) string {
	var ids []string
	for _, l := range n.lits {
		id := fmt.Sprint(l >> 1)
		if !l.positive() {
			id = "-" + id
		}
		ids = append(ids, id)
	}
	return "{" + strings.Join(ids, ", ") + "}"
}

// forms writes the forms of n, and of the nodes that n leads to and that are not in seen.
func forms(n *Node, seen map[*Node]bool) (all []string) {
	if seen[n] {
		return nil
	}
	seen[n] = true
	list := slices.Concat(n.Forms[ofArrays], n.Forms[ofObjects])
	for _, f := range list {
		var parts []string
		switch f := f.(type) {
		case *Array:
			parts = append(parts, "elements are "+name(f.Rest))
		case *Object:
			for _, p := range f.Props {
				parts = append(parts, p.Name+" is "+name(p.Node))
			}
			for _, r := range f.Rest {
				parts = append(parts, "others are "+name(r.Node))
			}
		}
		all = append(all, name(n)+": "+strings.Join(parts, ", "))
	}
	for _, f := range list {
		f.below(func(m *Node) { all = append(all, forms(m, seen)...) })
	}
	return all
}

// The example of package jsonschema has the normal form that its documentation shows.
func TestExample(t *testing.T) {
	doc, err := document.Parse([]byte(`{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"],
		"anyOf": [{"properties": {"a": {"minimum": 0}}}, {"required": ["b"]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	l := jsonexpr.New()
	meter := limits.NewMeter(limits.NewBudget(t.Context()), l.Arena)
	schemas, top := read.Read(doc.Root, read.Options{}, meter, read.NewLedger(false))
	root := Normalise(top, schemas, sets.New(meter, l), doc)
	want := []string{
		"{1}: a is {2, 5}, others are {}",
		"{1}: a is {2}, b is {}, others are {}",
		"{}: elements are {}",
		"{}: others are {}",
	}
	if got := forms(root, map[*Node]bool{}); !slices.Equal(got, want) {
		t.Errorf("the normal form is\n%s", strings.Join(got, "\n"))
	}
}
