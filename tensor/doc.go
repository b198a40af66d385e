// Package tensor holds the data that everything else computes on: element types and their block geometry (DType),
// dimensions (Shape), memory that a device understands (Buffer, Memory) and the three together (Tensor).
//
// A tensor's data are row-major. Quantised types store a row as blocks, so that the bytes of a row follow from DType.Bytes
// and never from a size "per element". Host memory is a SharedBuffer: 64-byte aligned and outside the Go heap. A mapped
// file is a read-only one. A device's own memory hides behind the Buffer interface.
package tensor
