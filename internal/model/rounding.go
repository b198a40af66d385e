package model

// Rounding says which numbers are rounded as BitNet b1.58 rounds them (arXiv 2402.17764). The zero value stands for no rounding.
type Rounding struct {
	Rows     bool // each row of activations to integers of eight bits, by one scale, before it is multiplied with a matrix of a layer
	Matrices bool // the matrices of layers to −1, 0 and 1 times the mean of their magnitudes, when a folder is read
	Divided  bool // a folder has numbers that products are divided by, not multiplied by
}
