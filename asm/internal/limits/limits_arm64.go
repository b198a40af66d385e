//go:build !purego

package limits

// The chains, by the instructions that they need.
var (
	IntegersNEON = Chain{run: integersNEON, turns: 1024, macs: sumsNEON * 8}
	IntegersSDOT = Chain{run: integersSDOT, turns: 1024, macs: sumsNEON * 16}
	IntegersI8MM = Chain{run: integersI8MM, turns: 1024, macs: sumsNEON * 32}
	FloatsNEON   = Chain{run: floatsNEON, turns: 1024, macs: sumsNEON * 4}
)

// sumsNEON is how many sums take turns: enough for four units with a latency of six cycles.
const sumsNEON = 24

// integersNEON does 24 steps for each turn, of 8 multiply-adds each: SMLAL and SMLAL2, which add products of bytes to 16-bit sums.
func integersNEON(turns int)

// integersSDOT does 24 steps for each turn, of 16 multiply-adds each: SDOT.
func integersSDOT(turns int)

// integersI8MM does 24 steps for each turn, of 32 multiply-adds each: SMMLA.
func integersI8MM(turns int)

// floatsNEON does 24 steps for each turn, of 4 multiply-adds each: FMLA.
func floatsNEON(turns int)
