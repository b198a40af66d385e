package rare

// separate brings interleaved rows of Q4_0 back in order. Of each block of some rows the scales come first, and then the nibbles, a chunk of
// each row in turn, with 8 subtracted from each.
func (t *Type) separate(dst, src []byte, cols int) {
	const scale, nibbles = 2, 16
	blocks := cols / t.blockLen
	for ; len(src) > 0; dst, src = dst[t.rows*t.Bytes(cols):], src[t.rows*t.Bytes(cols):] {
		for i := range blocks {
			from := src[i*t.rows*t.blockBytes:][:t.rows*t.blockBytes]
			for row := range t.rows {
				to := dst[(row*blocks+i)*t.blockBytes:][:t.blockBytes]
				copy(to[:scale], from[scale*row:])
				for j := range nibbles {
					at := j/t.chunk*t.rows*t.chunk + row*t.chunk + j%t.chunk
					to[scale+j] = from[scale*t.rows+at] ^ 0x88
				}
			}
		}
	}
}
