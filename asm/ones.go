package asm

// ones is what the kernels of two vectors are given to compute with one alone. Nothing writes to it.
var ones = func() (list [1 << 9]float32) {
	for i := range list {
		list[i] = 1
	}
	return list
}()

// withOnes calls f with x, part by part, and as many ones.
func withOnes(x []float32, f func(x, ones []float32)) {
	for len(x) > 0 {
		n := min(len(x), len(ones))
		f(x[:n], ones[:n])
		x = x[n:]
	}
}

// GELUErf computes x[i] = exact.GELUErf(x[i]).
func (k *Kernels) GELUErf(x []float32) {
	withOnes(x, func(x, ones []float32) { k.GELUErfMul(x, x, ones) })
}

// SiLU computes x[i] = exact.SiLU(x[i]).
func (k *Kernels) SiLU(x []float32) {
	withOnes(x, func(x, ones []float32) { k.SiLUMul(x, x, ones) })
}

// Sigmoid computes x[i] = exact.Sigmoid(x[i]).
func (k *Kernels) Sigmoid(x []float32) {
	withOnes(x, func(x, ones []float32) { k.SigmoidMul(x, x, ones) })
}
