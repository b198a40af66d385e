package eviction

// PyramidKV is SnapKV with budgets that fall from the first layer to the last (arXiv 2406.02069), because early layers attend to
// many slots and late layers to few.
type PyramidKV struct {
	*Scored
	window int
}

// pyramidBeta is how many times smaller than the mean the last layer's budget is, the window apart.
const pyramidBeta = 20

// NewPyramidKV makes a PyramidKV; the budget is the mean of the layers' budgets.
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

// LayerTarget returns a layer's part of targetLen·layers slots. Every layer gets the window; of the rest, the layers' parts fall
// linearly from the first layer to the last.
func (p *PyramidKV) LayerTarget(layer, layers, targetLen int) int {
	rest := targetLen - p.window
	if rest <= 0 || layers < 2 {
		return targetLen
	}
	last := rest / pyramidBeta
	first := 2*rest - last
	return p.window + first - (first-last)*layer/(layers-1)
}
