// Package backendtest has the suite that every backend must pass, and devices that fail on purpose.
//
// Run is the suite as a test. Checks and Suite are its parts, for programs that show more of it, as examples/tools/checkbackend does: each
// operation, over element types, shapes and extreme values, against the portable reference, and with checks that memory besides its output
// is unchanged. NewDevice and Fault make a backend fail at a chosen call, to test programs that use backends.
//
// # How to write a backend in an afternoon
//
// The example below is a complete one, of a device with memory of its own. These are the steps.
//
//  1. Memory. Write a type with the methods of tensor.Buffer, which holds your device's handle, and a tensor.Memory that allocates it and
//     counts. Bytes is nil but between Map and Unmap: Map waits for the device and makes the contents visible to the host, Unmap gives them
//     back with what the host has changed. New memory is zero. If the host shares the device's memory, Map copies nothing.
//
//  2. The backend. Write a type that embeds *host.Base and has Name, Describe, Memory, CopyFrom and Close; host.CopyFrom does
//     for CopyFrom. It is complete: Base computes whatever you do not, on the host, by mapping the operands.
//
//  3. Test it, with one line: backendtest.Run(t, b). It should pass now, and after each of the next steps.
//
//  4. Operations. Write Run, which is backend.Each with a function of yours: a switch over the types of operations that ends with Base.Compute.
//     The ones that matter first are MatMulTransposed, RoPEStore and Attend, then RMSNorm, RoPE, SiLUMul (and GELUMul, Softcap), AddAssign,
//     Gather, CopySlice and Cast, and the method ReadBuffer, which together keep a token's activations on the device. Each has checked the
//     operands. Find your buffer by a type assertion; if an operand is no buffer of yours, or the host has it mapped, hand the operation on to
//     Base.Compute. Write nothing but the output: the suite puts guards around it. Models that embed texts want LayerNorm, GELUErf and AttendTexts
//     as well, models with recurrent layers Convolve, Recur, MulAssign, SigmoidMul and Softplus, and mixtures of experts Route, MatMulExperts,
//     SumExperts and, if they have such, AddExpertBias and SwiGLUClamped. Largest and Mask leave the logits on the device.
//
//  5. Weights. If the device wants them in another layout, implement backend.Preparer. A buffer of such weights returns an error from Map,
//     and true from ReadOnly; only MatMulTransposed and Gather see it, and other operations return errors that wrap backend.ErrUnsupported.
//     The weights given to Prepare may be a mapped file, which someone may cut short while you read: copy the bytes in Go, not in a driver.
//
//  6. Fewer and larger operations: let Fusions list backend.FuseNormMatMul, FuseNormSwiGLU and FuseMatMulAdd, which make a layer five operations,
//     FuseProject for models that embed texts, or patterns of your own, and compute what they make.
//
//  7. If the device rounds divisions and square roots correctly and computes with denormal numbers, its results can have the reference's
//     bits, if they are added up in the order that package asm lays down. Implement backend.Exact then: the suite tolerates no difference
//     any more, and conversations can move to the device and back unnoticed.
//
//  8. Register it, in an init function: backend.Register("toy", func(o backend.Options) (backend.Backend, error) { … }).
//
// Operations may be called from several goroutines, and at any time: who closes a backend while another computes must get errors
// from a device that has gone, not a crash. A buffer may be unmapped and freed after Close.
package backendtest
