// Package opencl is the backend for GPUs and other devices with OpenCL 1.2. Import it and build with the tag opencl to load models on such a
// device: backend.Open("opencl", …) makes it.
//
// It is compiled with the opencl tag. The library is then found when the program runs (no cgo, no headers); without the
// tag, importing the package registers the name "opencl" with an opener that says how to build it.
//
// All work goes to one queue that runs it in order, and nothing waits but what hands something to the host: ReadBuffer, Map,
// Largest and Synchronize. Weights are rearranged once, by Prepare, so that neighbouring work-items load neighbouring pieces
// of 16 bytes; a norm before a product, the addition after it and the joining of a feed-forward network's two products happen
// within the product's own kernel, because to a small model the start of a kernel costs more than its work. Largest selects on
// the device, so that of a vocabulary's logits only those that can be drawn are read. Their probabilities are computed there too: of all
// parameters of sampling only penalties, a Mask and a TopK above 256 need all logits on the host. Operands that no kernel takes, such as
// weights in the layout of files, are mapped and computed by the portable reference.
//
// # How the package is made
//
// A queue (queue.go) is the device with what all operations share: the lock, programs, scratch and staging memory. Each kind of operation is a
// type around it, which owns what only these operations need: vectors, selections, copies, conversions, preparation of weights, products,
// fused products, caches (which write keys and values) and attention (which reads them). Backend is these types together. Every operation
// takes the lock, finds its operands on the device, and enqueues kernels; if no kernel takes an operand, onHost computes the operation.
//
// # What a launch costs
//
// On an NVIDIA H200 a launch takes the host 4.5 to 6 µs, whatever the kernel does, and more with many buffers (8.7 µs with twelve);
// numbers among the arguments, flushes, the queue's properties, kernels of their own for each set of arguments and pointers to shared
// virtual memory make no difference that can be measured, or make it worse. On the device the gap between two kernels is about 1.3 µs, and a
// kernel that does next to nothing takes some 2. So a step of one token has few launches with few buffers, five for a layer:
//
//   - a weight is one buffer, scales behind its quants;
//   - the products of queries, keys and values wait for RoPEStore, which rotates and stores them as they are computed;
//   - the last group of attend to leave its part merges all of them on NVIDIA's devices, elsewhere a kernel of its own does: see last.cl;
//   - NormSwiGLU leaves its result rounded too, and the product that comes next loads that: it takes as long as the rounding of 8192
//     elements in each of its groups did.
//
// Waiting products and rounded activations last only until the next command.
//
// # Many operations in one launch
//
// On devices that run as many groups at once as they have compute units (NVIDIA's of compute capability 7 and later; a trial when the device is
// opened shows it) the operations of the layers of a token, or of few, are records that one launch computes, with a meeting of all groups between two:
// chain.go has the records, chain_record.cl the kernel, meetings.go how groups meet. Records take weights in blocks, of one format or of two with
// blocks of 256 (as Q4_K_M files have), and a cache of F16 or F32, without windows, limits and sinks; the rest are launches as before. For Llama 3.2
// 1B 80 records go in five launches, the first of five records, so that the device begins early. A launch of its own takes the host 10 to 19 µs on a
// virtual machine, a record 1 to 2.
//
// On an H100 a layer takes 66,000 cycles, 33 µs: the two products of the feed-forward network take 35,000 of these. They read weights
// for 19,000, at 2.6 to 3.2 TB/s. Attention takes 13,000, and each of five meetings 2,400. Loads end in their order, so that activations are
// loaded before weights: weights that were loaded before a meeting held the activations after it up. To ask for weights in the second-level
// cache one or two records ahead, by lines or in bulk, gained at most 5 %.
//
// Steps of 2 to 8 rows (tokens of several conversations, drafts, or both) are chains, too, by a kernel of their own: chain_rows.cl. A record
// before each product rounds all rows for all groups, since local memory has no room for them. Groups keep their blocks of weights in registers,
// and multiply them with two rows of activations at a time. On an H100 a layer of the same model takes 101,000 cycles with 2 rows, 125,000 with 4 and
// 173,000 with 8. Of the latter gate and up take 51,000, down 42,000, queries to values 19,000, attention 16,000, the output's product 16,000, and
// the four records that round 30,000. With one row of activations at a time 8 rows took 201,000. Loading weights before or
// after a meeting made no difference; to ask for them ahead lost 3 %, two buffers of weights 6 %. To add a term takes an adding work-item 18
// cycles, while others wait: there is something left to gain. Layers with many weights stay launches from some number of rows on: see mostChained.
//
// If groups do not meet, because other work has taken a part of the device, each of them gives up after some seconds. The results become NaN,
// and whoever waits for the device gets an error that wraps ErrNotMet. From then on each operation is a launch.
//
// # Many conversations
//
// A kernel works on the pages of up to 16 runs, or on NVIDIA's devices 64, which may be of as many conversations: it takes the buffers of
// all slabs, and a description of each run by value. The lists of pages stay on the device, those of all caches in one buffer, and are sent
// again when they have changed: for a conversation that goes on, once for each page of slots. Runs of few tokens share the tiles of keys
// out among groups of work-items, longer ones walk them. Slabs double, so that 16 of one type and size of head are enough; a cache in more
// of them is mapped and computed by the reference.
//
// Of products with several rows of activations there are three: row by row, which loads the weights for each row anew; tiles of rows; and
// one for in between, which multiplies each block of weights with several rows in a lane. Which is fastest is tried for each shape and
// number of rows.
//
// # Matrices of bytes
//
// If a device has instructions that multiply matrices of bytes (matrix.cl; NVIDIA's, by inline assembly), tiles are computed by them, all
// products of more than 16 rows are tiles, and passes take more rows. Their integers are exact, and the scales are applied in the order
// that package asm lays down, so that results keep their bits. A trial when the device is opened compares products of pieces; a device that
// does not compile it, or gives something else, has the other tiles. A further vendor's instructions are a further part of matrix.cl and a
// further line of matrixWays.
//
// On an H200 they compute about 110·10¹² multiply-adds a second with Q4_0 and Q4_K, and 90 with Q6_K, of 620·10¹² that the instruction alone reaches.
// Local memory is the limit: its loads and stores take three quarters of the time, since a team loads 64 rows for 32 × 32 results. A prompt of 4096 tokens
// in chunks of 2048 spends half of its time in attention: its products of floats have a laid-down order and so cannot use such instructions.
//
// # Memory and its end
//
// The driver is given no memory of the host's but staging memory of this package, into which Go copies: a tensor's bytes may be a
// mapped file, and a driver that reads where such a file was cut short ends the process, where Go returns an error. After Close
// everything is an error that wraps ErrClosed, except that buffers can still be unmapped and freed; what the host has mapped stays
// visible until then. Close may be called while others compute: they finish the operation that they are in, and get the error
// from the next.
//
// # The bits of the CPU
//
// Every operation gives what package cpu gives, bit for bit. Activations are rounded to eight bits in the same blocks. The products of a
// block are sums of integers: their order does not matter. Floats are added in the order that package asm lays down, with fused
// multiply-adds at the same steps: work-items share the sums of integers, and one of them adds up the floats. So a conversation may move
// between devices, or its state be restored on another, and no token, logit or slot shows which device computed it. Agreement within
// rounding would be worth little: each layer rounds its activations anew, and a difference in the last bit becomes one of a percent of the
// logits.
//
// It takes a device that rounds divisions and square roots correctly and computes with floats below the normal range, both of
// which OpenCL leaves open: BitExact reports it. On others results agree within the error of rounding activations.
//
// # Portability
//
// The kernels keep to what OpenCL C 1.2 demands of everyone: no half arithmetic, no subgroups. If a device multiplies four bytes with four
// in one instruction, by cl_khr_integer_dot_product, Arm's extension or NVIDIA's assembly, and the answers of a trial are right, products
// use that. How products are divided among work-items is tried once for each shape, and kept with the compiled kernels.
//
// That happens when a model is loaded (Warm), within a bound of time: an answer never waits for trials. Results for some devices come with the
// package, in known.json; NVIDIA's others use those of the nearest. A shape for which there was no time is divided as the most similar one with a
// result, and tried when a model is loaded again.
//
// A device that is a processor is left two things fewer: Largest searches rows on the host, in its own memory, and divisions are not tried,
// because it computes the work-items of a group one after the other and compiles slowly.
//
// # When programs are compiled
//
// An H200 compiles some 35 programs for a model, a tenth of a second to three seconds each, one after the other from any number of threads, and its
// driver enqueues nothing meanwhile. So a kernel is a program of its own, and each way to compute that is only faster than another one
// waits: compiler.Ready says that it is not there yet, and has it compiled. A model answers as soon as there is a kernel for each operation, compiled for
// the most part while its weights were sent: one division of products by rows and one tile for each format of weights, attention for any
// number of runs. Other divisions and tiles, flash, fused norms, chains and the search for the largest logits come between answers, those that are missed most first.
//
// # Environment
//
// These environment variables matter:
//
//	ANTIGRAVITY_OPENCL_DEVICE   which device, by number or part of its name, if Options say nothing
//	ANTIGRAVITY_OPENCL_LIB      the OpenCL library
//	ANTIGRAVITY_OPENCL_KERNELS  a folder with .cl files that replace the embedded ones, to try others without building anew
//	ANTIGRAVITY_OPENCL_CHAIN    "off": each operation is a launch of its own
//	ANTIGRAVITY_OPENCL_CACHE    the folder for compiled kernels; "off": no cache, the default with pocl, which has its own
package opencl
