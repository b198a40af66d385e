package engine

import "github.com/antigravity-go/antigravity/tensor"

// projection is a linear map x ↦ x·weightᵀ + bias, to which the adapters of a pass's rows may add something. The weight is [out, in], the bias
// [out]; a nil bias adds nothing.
type projection struct {
	weight, bias *tensor.Tensor
	number       int // among the model's projections: what adapters know it by
}

// apply computes the projection of in [rows, in] to out [rows, out].
func (j *projection) apply(p *pass, in, out *tensor.Tensor) error {
	if err := p.device.MatMulTransposed(in, j.weight, out); err != nil {
		return err
	}
	return j.complete(p, in, out)
}

// complete adds to out, which has in·weightᵀ already, what else belongs to the projection of in.
func (j *projection) complete(p *pass, in, out *tensor.Tensor) error {
	if err := p.device.addBias(out, j.bias); err != nil {
		return err
	}
	return p.adapted.add(p, j, in, out)
}
