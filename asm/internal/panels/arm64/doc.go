// Package arm64 multiplies panels of weights with the instructions of 64-bit Arm processors.
//
// The files are named after the instructions, and then after the formats or after the kinds of kernels: floats, 32 (the formats with blocks
// of 32: Q4_0, Q4_1 and Q8_0), q4_k_q5_k, q6_k, and k (all three formats with blocks of 256); x8 are kernels for eight rows of activations.
// NAME_arm64.go says which kernels the instructions have.
//
// The formats that unpacked_arm64.go lists are unpacked a few blocks at a time (unpack), and then multiplied as bytes (bytes, and with
// eight tokens in sdot_32_x8, sdot_k_x8, i8mm_32 and i8mm_k).
package arm64

//go:generate go -C ../../../asmgen run . headers
