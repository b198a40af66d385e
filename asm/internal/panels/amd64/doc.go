// Package amd64 multiplies panels of weights with the instructions of x86-64 processors.
//
// For each set of instructions there is NAME_amd64.s with the kernels, and NAME_amd64.go with their declarations and the table
// of the tiles that they compute. Both are written by asmgen, where panels*.go says how the kernels work.
package amd64

//go:generate go -C ../../../asmgen run . avx2 avxvnni avx512 avx512vnni near amx
