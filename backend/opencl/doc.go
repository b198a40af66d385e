// Package opencl is the backend for GPUs and other devices with OpenCL 1.2.
//
// It is compiled with the opencl tag. The library is then found when the program runs (no cgo, no headers); without the
// tag, importing the package registers the name "opencl" with an opener that says how to build it.
//
// All work goes to one queue that runs it in order, and nothing waits but what hands something to the host: ReadBuffer, Map,
// Largest and Synchronize. Weights are rearranged once, by Prepare, so that neighbouring work-items load neighbouring pieces
// of 16 bytes; a norm before a product, the addition after it and the joining of a feed-forward network's two products happen
// within the product's own kernel, because to a small model the start of a kernel costs more than its work. Products of many
// rows widen the weights first, a little work that the rows share, so that one kernel serves all formats. Largest selects on
// the device, so that of a vocabulary's logits only those that can be drawn are read. Operands that no kernel takes, such as
// weights in the layout of files, are mapped and computed by the portable reference.
//
// The kernels keep to what OpenCL C 1.2 demands of everyone: no half arithmetic, no subgroups.
//
// These environment variables matter:
//
//	ANTIGRAVITY_OPENCL_DEVICE   which device, by number or part of its name, where Options say nothing
//	ANTIGRAVITY_OPENCL_LIB      the OpenCL library
//	ANTIGRAVITY_OPENCL_KERNELS  a folder whose .cl files replace the embedded ones, to try others without building anew
//	ANTIGRAVITY_OPENCL_CACHE    the folder for compiled kernels; "off": none is used
package opencl
