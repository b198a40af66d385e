package quant_test

import (
	"fmt"
	"log"

	"github.com/antigravity-go/antigravity/quant"
)

// Rows are rounded so that the columns which matter most lose least: here the first sixteen of each row.
func ExampleFormat_QuantizeWeighted() {
	const cols = 256
	row, importance := make([]float32, cols), make([]float32, cols)
	for i := range row {
		row[i] = float32(i%37)/37 - 0.5
		if i%32 < 16 {
			importance[i] = 1
		}
	}
	for _, weights := range [][]float32{nil, importance} {
		packed := make([]byte, quant.Q3_K.Bytes(cols))
		if err := quant.Q3_K.QuantizeWeighted(packed, row, weights); err != nil {
			log.Fatal(err)
		}
		back := make([]float32, cols)
		if err := quant.Q3_K.Dequantize(back, packed); err != nil {
			log.Fatal(err)
		}
		worst := float32(0)
		for i, v := range row {
			if importance[i] > 0 {
				worst = max(worst, v-back[i], back[i]-v)
			}
		}
		fmt.Printf("%d bytes, off by less than 0.1: %v\n", len(packed), worst < 0.1)
	}
	// Output:
	// 110 bytes, off by less than 0.1: true
	// 110 bytes, off by less than 0.1: true
}
