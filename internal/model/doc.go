// Package model describes models: what each layer computes, of what sizes, and which tensors that takes. It knows no file and no family: packages
// below internal/checkpoint read a [Config] from files, and llama/internal/engine computes what it says.
//
// [Config.Layer] is what one layer computes, [Config.Tensors] lists the weights, each by its [Part], shape and [Role]. The zero value of whatever a
// Llama has not stands for its absence, so that a Config of a Llama says little.
//
// What a description asks for and no model here can have is an error that wraps errors.ErrUnsupported; every other error of [Config.Validate] means
// that sizes do not fit together.
package model
