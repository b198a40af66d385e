// Package asm holds the raw kernels: loops over slices that know nothing of tensors, threads or models.
//
// A kernel comes as a quartet of files: x.go has the portable form, which is also the specification; x_amd64.s and
// x_arm64.s have the assembly; the stubs beside them say which form belongs to which tier. A Kernels value is the set of
// kernels of one tier, and Best is the one dispatch point: it is chosen once, when the program starts.
//
// # Same bits on every tier
//
// Each kernel's doc comment fixes the order of its floating-point operations, so that every tier, on every architecture,
// gives the same bits, and tests compare tiers by equality:
//
//   - products are summed in order along the inner dimension, each step one fused multiply-add (exact.FMA);
//   - sums over a row (of squares, of exponentials) use Lanes virtual lanes, element i going to lane i mod Lanes, and the
//     lanes are folded in halves: lane i += lane i+8, then i+4, i+2, i+1;
//   - exponentials are exact.Exp, a fixed polynomial;
//   - attention walks the keys in tiles of TileKeys slots and merges the tiles' results in order.
package asm
