package asm

import (
	"github.com/antigravity-go/antigravity/asm/internal/attention"
	"github.com/antigravity-go/antigravity/asm/internal/convert"
	"github.com/antigravity-go/antigravity/asm/internal/limits"
	"github.com/antigravity-go/antigravity/asm/internal/panels"
	"github.com/antigravity-go/antigravity/asm/internal/recurrent"
	"github.com/antigravity-go/antigravity/asm/internal/vectors"
	"github.com/antigravity-go/antigravity/quant"
)

// Kernels is the set of kernels of one tier of processors. Every method that computes something has the meaning, and gives the
// bits, of its portable form; slices must have the lengths that the method's comment says, which the callers have checked. A set
// never changes, and may be used by any number of goroutines.
//
// For example:
//
//	k, x := asm.Best(), []float32{1, 2}
//	k.Scale(x, 3)                   // x is [3 6]
//	k.Add(x, []float32{10, 20})     // x is [13 26]
//	k.Axpy(x, 2, []float32{1, 1})   // x is [15 28]
type Kernels struct {
	tier       string
	vectors    vectors.Kernels
	quantize   func(f quant.Format, dst []byte, src []float32)
	dequantize func(f quant.Format, dst []float32, src []byte)
	pages      Pages
	merge      func(dst, src []Partial)
	recur      func(p *StatePass)
	panels     []*Panels
	integers   limits.Chain
	floats     limits.Chain
}

// portable is the tier in portable Go.
var portable = Kernels{
	tier:       "generic",
	vectors:    vectors.Portable(),
	quantize:   convert.Quantize,
	dequantize: convert.Dequantize,
	pages:      attention.InRows{},
	merge:      attention.Merge,
	recur:      recurrent.Portable,
	integers:   limits.IntegersPortable,
	floats:     limits.FloatsPortable,
}

// Portable returns the kernels in portable Go: the reference for all others.
func Portable() *Kernels { return &portable }

// Tier names the instructions used: "generic" is portable Go.
func (k *Kernels) Tier() string { return k.tier }

// Add computes dst[i] += src[i]. The slices have one length and do not overlap partly.
func (k *Kernels) Add(dst, src []float32) { k.vectors.Add(dst, src) }

// Mul computes dst[i] *= src[i]. The slices have one length and do not overlap partly.
func (k *Kernels) Mul(dst, src []float32) { k.vectors.Mul(dst, src) }

// Scale computes x[i] *= v.
func (k *Kernels) Scale(x []float32, v float32) { k.vectors.Scale(x, v) }

// Divide computes x[i] /= v.
func (k *Kernels) Divide(x []float32, v float32) { k.vectors.Divide(x, v) }

// Axpy computes dst[i] = fma(a, x[i], dst[i]). The slices have one length.
func (k *Kernels) Axpy(dst []float32, a float32, x []float32) { k.vectors.Axpy(dst, a, x) }

// SiLUMul computes dst[i] = silu(gate[i])·up[i], the activation of SwiGLU. The slices have one length; dst may be gate or up.
func (k *Kernels) SiLUMul(dst, gate, up []float32) { k.vectors.SiLUMul(dst, gate, up) }

// SigmoidMul computes dst[i] = exact.Sigmoid(gate[i])·up[i]. The slices have one length; dst may be gate or up.
func (k *Kernels) SigmoidMul(dst, gate, up []float32) { k.vectors.SigmoidMul(dst, gate, up) }

// GELUMul computes dst[i] = exact.GELU(gate[i]) · up[i], the activation of GeGLU. dst may be gate or up.
func (k *Kernels) GELUMul(dst, gate, up []float32) { k.vectors.GELUMul(dst, gate, up) }

// GELUErfMul computes dst[i] = exact.GELUErf(gate[i]) · up[i]. The slices have one length; dst may be gate or up.
func (k *Kernels) GELUErfMul(dst, gate, up []float32) { k.vectors.GELUErfMul(dst, gate, up) }

// SwiGLUClamped computes dst[i] = exact.SwiGLUClamped(gate[i], up[i], limit). The slices have one length; dst may be gate or up.
func (k *Kernels) SwiGLUClamped(dst, gate, up []float32, limit float32) {
	k.vectors.SwiGLUClamped(dst, gate, up, limit)
}

// Softcap computes x[i] = exact.Softcap(x[i], limit), that is limit·tanh(x[i]/limit). limit is above 0.
func (k *Kernels) Softcap(x []float32, limit float32) { k.vectors.Softcap(x, limit) }

// Exp replaces each element by its exponential, as exact.Exp has it.
func (k *Kernels) Exp(x []float32) { k.vectors.Exp(x) }

// Convolve computes one row of a convolution of each channel by itself: dst[i] = b[i] + Σ taps[j][i]·w[j·stride+i], the taps in order, each by
// FMA. A b that is nil counts as zeros. The taps and b are as long as dst, which may be the last tap.
func (k *Kernels) Convolve(dst []float32, taps [][]float32, w []float32, stride int, b []float32) {
	k.vectors.Convolve(dst, taps, w, stride, b)
}

// Recur computes a pass of some tokens through a block of a state's columns.
func (k *Kernels) Recur(p *StatePass) { k.recur(p) }

// RMSNorm computes dst[i] = x[i]/rms(x)·w[i], with eps added to the mean of squares. The slices have one length; dst may be x.
func (k *Kernels) RMSNorm(dst, x, w []float32, eps float32) { k.vectors.RMSNorm(dst, x, w, eps) }

// Softmax replaces a row by its softmax.
func (k *Kernels) Softmax(x []float32) { k.vectors.Softmax(x) }

// RoPE rotates one head vector in place: element i, with element i+len(x)/2, by the angle with cosine cos[i] and sine sin[i].
func (k *Kernels) RoPE(x, cos, sin []float32) { k.vectors.RoPE(x, cos, sin) }

// Prepare brings x into the activation's form, as row t: see quant.Activation.Prepare.
func (k *Kernels) Prepare(a *quant.Activation, t int, x []float32) { k.vectors.Prepare(a, t, x) }

// Quantize rounds src, whole blocks, into dst: see quant.Format.Quantize.
func (k *Kernels) Quantize(f quant.Format, dst []byte, src []float32) { k.quantize(f, dst, src) }

// Dequantize reads src, whole blocks, into dst: see quant.Format.Dequantize.
func (k *Kernels) Dequantize(f quant.Format, dst []float32, src []byte) { k.dequantize(f, dst, src) }

// Pages returns how the tier keeps keys and values in pages, and attends to them.
func (k *Kernels) Pages() Pages { return k.pages }

// Merge joins the results of the next tile to those of the tiles before, for each of some rows.
func (k *Kernels) Merge(dst, src []Partial) { k.merge(dst, src) }

// PanelsFor returns the tier's panels for the weights of a format, or nil.
func (k *Kernels) PanelsFor(f quant.Format) *Panels { return panels.Find(k.panels, f) }

// MultiplyIntegers multiplies and adds 8-bit integers for some ten microseconds, by the instructions with which the tier's products do, and
// returns how many multiply-adds it did: always the same number. Nothing is loaded, converted or stored meanwhile, and the result is thrown
// away: its time shows what the processor can do at most.
func (k *Kernels) MultiplyIntegers() (macs int) { return k.integers.Run() }

// MultiplyFloats is MultiplyIntegers for fused multiply-adds of float32.
func (k *Kernels) MultiplyFloats() (macs int) { return k.floats.Run() }

// The data that the kernels work on, and its sizes. The comments repeat the fields and methods, which documentation tools do not
// show for types of internal packages.
type (
	// Pages is how keys and values of TileKeys slots lie in the halves of a page, and the kernels that attend to them. Its methods:
	//
	//	Store(side Side, f quant.Format, headDim int, half []byte, first int, rows []byte) // writes slots from the first on
	//	Load(side Side, f quant.Format, headDim int, rows, half []byte, first int)         // reads them
	//	ValuesOf(f quant.Format, headDim int, keys, values, rows []byte) []byte            // the half that has keys as values, which it may write to values
	//	Attend(t *AttentionTile)                                                          // computes a tile
	//	Score(t *AttentionTile)                                                           // computes Scores alone: queries times keys
	//
	// Goroutines may store to a half at the same time if no two store to the same SharedSlots slots.
	Pages = attention.Pages
	// PageSide is a half of a page: PageKeys or PageValues.
	PageSide = attention.Side
	// AttentionTile is the attention of some query rows to the slots of one tile, at most TileKeys, for one KV head. Its fields:
	//
	//	Format       quant.Format      // of keys and values
	//	Keys, Values []byte            // the halves of a page; Values nil: weights only
	//	Next         []byte            // a hint: the keys of the page after this one
	//	HeadDim      int               // elements of a key
	//	Cap          float32           // scores s count as Cap·tanh(s/Cap); 0: as they are
	//	Queries      *quant.Activation // row r, multiplied by QueryScale, in Format's ActivationForm
	//	Visible      []int             // row r sees the first Visible[r] slots
	//	Hidden       []int             // but not the first Hidden[r] of them; nil: it sees all of them
	//	Bias         []float32         // [rows, TileKeys]: added to scores before they are limited; nil: nothing is
	//	Results      []Partial         // one for each row: written
	//	Out          []float32         // [rows, HeadDim]: Results[r].Out is row r of it
	//	Scores       []float32         // [rows, TileKeys]: exp(score−Max) of each slot that the row sees: written
	//	Weights      *quant.Activation // scratch: room for [rows, TileKeys] in the form Int8x32
	//	Wide         []float32         // scratch: made when it is too short
	//
	// Release() forgets the keys and values.
	AttentionTile = attention.Tile
	// Partial is a row's attention to some of the slots. Sink(score) joins a score that has no value. Its fields:
	//
	//	Max, Sum float32   // the largest score, and Σ exp(score−Max): 0 without slots
	//	Out      []float32 // [HeadDim]: Σ exp(score−Max)·value
	Partial = attention.Partial
	// StatePass is some tokens that pass, one after the other, through StateColumns columns of one head's state S. Token t has k =
	// K[t·KeyStride:][:KeyDim], q likewise of Q, v = V[t·ValueStride:][:StateColumns], Decay[t] and Beta[t], and for each column j
	//
	//	m = Σᵢ S[i][j]·k[i];  u = Beta·fma(−Decay, m, v[j]), or Beta·v[j] without Delta
	//	S[i][j] = fma(k[i], u, Decay·S[i][j]);  Out[t·ValueStride+j] = Σᵢ S[i][j]·q[i]
	//
	// A sum is four, of the terms with i mod 4 = 0, 1, 2 and 3, each in order by FMA from 0, which are added as (0+2) + (1+3). Out may be V.
	// Its fields:
	//
	//	State       []float32 // [KeyDim, StateColumns]
	//	Q, K        []float32 // KeyDim elements a token, KeyStride apart
	//	V, Out      []float32 // StateColumns elements a token, ValueStride apart
	//	Decay, Beta []float32 // one a token
	//	KeyDim      int
	//	KeyStride   int
	//	ValueStride int
	//	Delta       bool
	StatePass = recurrent.Pass
	// Panels is how a tier stores the weights of one format, which Format returns, for its products: PanelRows rows together, in
	// as many bytes as the format has for them. It has no fields for users. Its methods:
	//
	//	Pack(dst, src []byte, rowBytes, k int)        // writes one panel of PanelRows rows of k elements, one every rowBytes bytes
	//	Quantize(dst, src []byte, from quant.Format, rowBytes, k int, scratch *[]byte) bool // is Pack for rows of floats, if it returns true
	//	Unpack(dst []float32, panel []byte, r, k int) // writes row r of a panel as floats
	//	FirstNotFinite(panel []byte, k int) (row int) // finds a row with a number that is not finite; -1 if all are finite
	//	Multiply(product *PanelProduct)               // computes a product
	Panels = panels.Panels
	// PanelProduct is the product of neighbouring panels with the rows of an activation,
	//
	//	Out[t·Stride + i] = row i · Acts.Row(t)   i < Count·PanelRows, t < Acts.Rows
	//
	// with the bits that quant.Format.DotRows has for the rows as they were before packing. Its fields:
	//
	//	Panels []byte            // Count panels, one after another
	//	Count  int
	//	Acts   *quant.Activation // its K is the rows' length
	//	Out    []float32
	//	Stride int               // elements of Out from one row of the activation to the next
	//
	//	Unscaled bool // the panels, at most 4 of Q8_0 or Q4_0 and rows of at most 128 elements, are quants without scales, which are 1
	//
	// PanelBytes(layout) and Planes(layout, i) are for kernels.
	PanelProduct = panels.Product
)

const (
	// Lanes is the number of virtual lanes in which a sum over a row is accumulated.
	Lanes = vectors.Lanes
	// TileKeys is the number of cache slots of one tile of attention.
	TileKeys = attention.TileKeys
	// SharedSlots is how many neighbouring slots of a page may share bytes.
	SharedSlots = attention.SharedSlots
	// PageKeys is the half of a page with the keys.
	PageKeys = attention.Keys
	// PageValues is the half of a page with the values.
	PageValues = attention.Values
	// StateColumns is how many columns of a state a pass works on.
	StateColumns = recurrent.Columns
	// PanelRows is how many rows of weights a panel interleaves.
	PanelRows = panels.Rows
)

// QueryScale returns 1/√headDim, by which queries are multiplied before they are prepared.
func QueryScale(headDim int) float32 { return attention.QueryScale(headDim) }
