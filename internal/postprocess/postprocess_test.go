package postprocess

import (
	"slices"
	"testing"
)

func TestJoin(t *testing.T) {
	first, second := []int32{7, 8}, []int32{9}
	for name, c := range map[string]struct {
		template      Template
		ids, types    []int32
		before, after []int32
	}{
		"nothing": {Template{}, []int32{7, 8, 9}, []int32{0, 0, 1}, nil, nil},
		"BERT":    {Around(101, 102, -1, 1), []int32{101, 7, 8, 102, 9, 102}, []int32{0, 0, 0, 0, 1, 1}, []int32{101}, []int32{102}},
		"RoBERTa": {Around(0, 2, 2, 0), []int32{0, 7, 8, 2, 2, 9, 2}, make([]int32, 7), []int32{0}, []int32{2}},
		"the second text first": {Template{Pair: []Part{{Source: Second, Type: 3}, {ID: 5, Type: 4}, {Source: First}}},
			[]int32{9, 5, 7, 8}, []int32{3, 4, 0, 0}, nil, nil},
	} {
		ids, types := c.template.Join(first, second)
		if !slices.Equal(ids, c.ids) || !slices.Equal(types, c.types) {
			t.Errorf("%s: got %v with the types %v, want %v with %v", name, ids, types, c.ids, c.types)
		}
		if before, after := c.template.Before(), c.template.After(); !slices.Equal(before, c.before) || !slices.Equal(after, c.after) {
			t.Errorf("%s: got %v and %v around one text, want %v and %v", name, before, after, c.before, c.after)
		}
		if !c.template.Valid() {
			t.Errorf("%s: not valid", name)
		}
	}
	for _, wrong := range []Template{
		{Single: []Part{{ID: 1}}}, {Single: []Part{{Source: First}, {Source: First}}}, {Single: []Part{{Source: First}, {Source: Second}}},
		{Pair: []Part{{Source: First}}}, {Pair: []Part{{Source: First}, {Source: Second}, {Source: Second}}},
	} {
		if wrong.Valid() {
			t.Errorf("%+v is valid", wrong)
		}
	}
}
