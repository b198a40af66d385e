//go:build !purego

package asm

// f32NEONx4 multiplies a panel with 4 rows of activations, see floatKernel; k > 0.
//
//go:noescape
func f32NEONx4(w *byte, panelBytes, k int, x, out *float32, stride int)

// f32NEONx1 does so with 1 row of activations.
//
//go:noescape
func f32NEONx1(w *byte, panelBytes, k int, x, out *float32, stride int)

// f32NEONx1x4 multiplies 4 panels with 1 row of activations.
//
//go:noescape
func f32NEONx1x4(w *byte, panelBytes, k int, x, out *float32, stride int)

// f16NEONx4 multiplies a panel with 4 rows of activations, see floatKernel; k > 0.
//
//go:noescape
func f16NEONx4(w *byte, panelBytes, k int, x, out *float32, stride int)

// f16NEONx1 does so with 1 row of activations.
//
//go:noescape
func f16NEONx1(w *byte, panelBytes, k int, x, out *float32, stride int)

// f16NEONx1x4 multiplies 4 panels with 1 row of activations.
//
//go:noescape
func f16NEONx1x4(w *byte, panelBytes, k int, x, out *float32, stride int)

// bf16NEONx4 multiplies a panel with 4 rows of activations, see floatKernel; k > 0.
//
//go:noescape
func bf16NEONx4(w *byte, panelBytes, k int, x, out *float32, stride int)

// bf16NEONx1 does so with 1 row of activations.
//
//go:noescape
func bf16NEONx1(w *byte, panelBytes, k int, x, out *float32, stride int)

// bf16NEONx1x4 multiplies 4 panels with 1 row of activations.
//
//go:noescape
func bf16NEONx1x4(w *byte, panelBytes, k int, x, out *float32, stride int)
