package main

import (
	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/tensor"
)

// writable lists the types that matrices can be rounded to.
func writable() (list []tensor.DType) {
	for _, d := range tensor.DTypes() {
		if _, ok := checkpoint.FileType(d); ok && d.Format().CanQuantize() {
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
