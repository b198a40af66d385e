package eviction

// PyramidKV is SnapKV with budgets that fall from the first layer to the last (arXiv 2406.02069): early layers attend widely,
// late ones to little.
type PyramidKV struct {
	*Scored
	window int
}

// pyramidBeta is by how much the last layer's budget is smaller than the mean.
const pyramidBeta = 20

// NewPyramidKV makes the policy; the budget is the layers' mean.
func NewPyramidKV(o Options) (*PyramidKV, error) {
	s, err := newSnapKV("pyramidkv", o)
	if err != nil {
		return nil, err
	}
	scored, err := NewScored(s, o)
	if err != nil {
		return nil, err
	}
	return &PyramidKV{scored, s.window}, nil
}

// LayerTarget shares targetLen·layers slots out, along a line; the window stays in every layer, and what is shared is the rest.
func (p *PyramidKV) LayerTarget(layer, layers, targetLen int) int {
	rest := targetLen - p.window
	if rest <= 0 || layers < 2 {
		return targetLen
	}
	last := rest / pyramidBeta
	first := 2*rest - last
	return p.window + first - (first-last)*layer/(layers-1)
}
