// Package cl binds the parts of OpenCL 1.2 that package opencl needs, without cgo and without headers.
//
// Everything passes through one narrow place, the Driver: a table of entry points that is called by index. The real one is found with
// dlopen when the program runs; a test puts its own between, to count objects created and released and to let any call fail. Objects are
// thin handles on top of it. They hold nothing that the garbage collector must see and are released by hand, and as OpenCL counts
// references itself, a buffer may be released while commands still use it.
//
// The package is built with the opencl tag on 64-bit processors only, where every argument of the calls below fits a
// machine word.
package cl
