// Package tensor holds the data that everything else computes on: element types and the sizes of their blocks (DType), dimensions
// (Shape), memory that a device understands (Buffer, Memory), and all of them together (Tensor). Programs meet it as the types of
// weights and caches, such as tensor.Q8_0; backends and eviction policies work with Tensors.
//
// A tensor's data are row-major. Quantised types store a row as blocks, so that the bytes of a row follow from DType.Bytes and never
// from a size "per element". Host memory is a SharedBuffer: 64-byte aligned and outside the Go heap. A mapped file is a read-only
// SharedBuffer. A device's own memory is a type of the device's package, behind the Buffer interface.
package tensor
