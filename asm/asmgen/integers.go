package main

import "github.com/mmcloughlin/avo/build"

// integerUnits are the units of the kernels of attention that multiply bytes.
var integerUnits = []panelUnit{unitAVX2, unitAVX512}

// integers generates the kernels of attention to pages of Q8_0 and Q4_0.
func integers(c *build.Context) {
	weigh(c)
}
