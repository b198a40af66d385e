package main

import (
	"context"
	"slices"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/examples/tools/internal/machine"
	"github.com/antigravity-go/antigravity/tensor"
)

// The experts of a layer of Qwen3-30B-A3B, and how many of them a row chooses.
const (
	layerExperts = 128
	rowExperts   = 8
)

// choiceTurns is how many different choices of experts take turns.
const choiceTurns = 64

// experts measures a layer's experts, from the rows to the sum. Its limit counts the bytes of the experts that are chosen.
func experts(l *lab, c testCase) (*subject, error) {
	var weights [3]*tensor.Tensor
	for i, shape := range [...][2]int{{c.n, c.k}, {c.n, c.k}, {c.k, c.n}} {
		w, err := l.stored(c.dtype, layerExperts, shape[0], shape[1])
		if err != nil {
			return nil, err
		}
		if weights[i], err = l.Prepare(context.Background(), w); err != nil {
			return nil, err
		}
		l.tensors = append(l.tensors, weights[i])
	}
	pairs := c.m * rowExperts
	t, err := l.activations(random(c.m, c.k), all(0.125, c.m, rowExperts), random(pairs, c.n), random(pairs, c.n), random(pairs, c.k), random(c.m, c.k))
	if err != nil {
		return nil, err
	}
	turns, distinct := make([]*tensor.Tensor, choiceTurns), 0
	for i := range turns {
		chosen, err := l.zeros(tensor.I32, c.m, rowExperts)
		if err != nil {
			return nil, err
		}
		list, err := tensor.Mut[int32](chosen)
		if err != nil {
			return nil, err
		}
		for row := range c.m {
			for j, e := range l.numbers.Perm(layerExperts)[:rowExperts] {
				list[row*rowExperts+j] = int32(e)
			}
		}
		all := slices.Clone(list)
		slices.Sort(all)
		turns[i], distinct = chosen, distinct+len(slices.Compact(all))
	}
	network := &backend.ExpertNetwork{Gate: weights[0], Up: weights[1], Down: weights[2]}
	return &subject{
		func(i int) error {
			return l.Run(&backend.FeedExperts{X: t[0], Network: *network, Chosen: turns[i%len(turns)], Weights: t[1], Gate: t[2], Up: t[3], Down: t[4], Out: t[5]})
		},
		machine.ExpertWork(pairs, (distinct+len(turns)/2)/len(turns), weights[:]...).Plus(machine.TensorWork(t[0], t[5], t[5])),
	}, nil
}
