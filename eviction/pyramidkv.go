package eviction

// pyramidKV is SnapKV with a share for each layer.
type pyramidKV struct {
	*scored
	window int
}

// pyramidBeta is how many times smaller than the mean the last layer's budget is, the window apart.
const pyramidBeta = 20

// NewPyramidKV makes the policy of arXiv 2406.02069: SnapKV with budgets that fall from the first layer to the last, because early layers
// attend to many slots and late layers to few. Options.Budget is the mean of the layers' budgets. The policy is Layered.
func NewPyramidKV(o Options) (Policy, error) {
	s, err := newSnapKV("pyramidkv", o)
	if err != nil {
		return nil, err
	}
	scored, err := newScored(s, o)
	if err != nil {
		return nil, err
	}
	return &pyramidKV{scored, s.window}, nil
}

// LayerTarget returns a layer's part of targetLen·layers slots. Every layer gets the window; of the rest, the layers' parts fall
// linearly from the first layer to the last.
func (p *pyramidKV) LayerTarget(layer, layers, targetLen int) int {
	rest := targetLen - p.window
	if rest <= 0 || layers < 2 {
		return targetLen
	}
	last := rest / pyramidBeta
	first := 2*rest - last
	return p.window + first - (first-last)*layer/(layers-1)
}
