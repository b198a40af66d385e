// Package exact is floating-point arithmetic that has the same bits on every architecture.
//
// Go leaves two freedoms to a compiler and a platform that reproducible results cannot afford: x*y + z may be fused into
// one rounding (arm64 does it, amd64 does not), and functions such as math.Exp or math.Sin may be assembly on one machine
// and a different algorithm on another. Here every function is a fixed sequence of operations that IEEE 754 rounds
// correctly: additions, products and divisions that are rounded explicitly, and explicit fused multiply-adds.
//
// The float32 functions are also the definition that vector code is held to: FMA is what VFMADD and FMLA do in a lane, and
// Exp and SiLU are written so that a vector unit can execute the same steps lane by lane, without a branch.
//
// NaN goes in as NaN and comes out as NaN; which of the many NaNs is not specified. All functions are safe for concurrent
// use and allocate nothing.
package exact
