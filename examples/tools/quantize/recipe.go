package main

import "github.com/antigravity-go/antigravity/tensor"

// fileTypes are llama.cpp's numbers, in general.file_type, for files whose matrices mostly have one type.
var fileTypes = map[tensor.DType]uint32{
	tensor.F32: 0, tensor.F16: 1, tensor.Q4_0: 2, tensor.Q4_1: 3, tensor.Q8_0: 7,
	tensor.Q4_K: 14, tensor.Q5_K: 16, tensor.Q6_K: 18, tensor.BF16: 32,
}

// writable lists the types that matrices can be rounded to.
func writable() (list []tensor.DType) {
	for _, d := range tensor.DTypes() {
		if _, ok := fileTypes[d]; ok && d.Format().CanQuantize() {
			list = append(list, d)
		}
	}
	return list
}

// headFor returns the usual type of the head beside matrices of a type. It decides between neighbouring tokens, and so has at
// least six bits, or eight where six cannot be written.
func headFor(d tensor.DType) tensor.DType {
	switch {
	case !d.Quantized() || d == tensor.Q8_0:
		return d
	case tensor.Q6_K.Format().CanQuantize():
		return tensor.Q6_K
	}
	return tensor.Q8_0
}
