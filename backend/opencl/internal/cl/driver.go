//go:build opencl && (amd64 || arm64)

package cl

import "fmt"

// Function is the index of an entry point of the OpenCL library.
type Function int

// The entry points in use.
const (
	GetPlatformIDs Function = iota
	GetPlatformInfo
	GetDeviceIDs
	GetDeviceInfo
	CreateContext
	ReleaseContext
	CreateCommandQueue
	ReleaseCommandQueue
	CreateBuffer
	ReleaseMemObject
	CreateProgramWithSource
	CreateProgramWithBinary
	BuildProgram
	GetProgramInfo
	GetProgramBuildInfo
	ReleaseProgram
	CreateKernel
	ReleaseKernel
	SetKernelArg
	GetKernelWorkGroupInfo
	EnqueueNDRangeKernel
	EnqueueReadBuffer
	EnqueueWriteBuffer
	EnqueueCopyBuffer
	EnqueueFillBuffer
	EnqueueMapBuffer
	EnqueueUnmapMemObject
	WaitForEvents
	ReleaseEvent
	Flush
	Finish
	functions // their number
)

var functionNames = [functions]string{
	GetPlatformIDs:          "clGetPlatformIDs",
	GetPlatformInfo:         "clGetPlatformInfo",
	GetDeviceIDs:            "clGetDeviceIDs",
	GetDeviceInfo:           "clGetDeviceInfo",
	CreateContext:           "clCreateContext",
	ReleaseContext:          "clReleaseContext",
	CreateCommandQueue:      "clCreateCommandQueue",
	ReleaseCommandQueue:     "clReleaseCommandQueue",
	CreateBuffer:            "clCreateBuffer",
	ReleaseMemObject:        "clReleaseMemObject",
	CreateProgramWithSource: "clCreateProgramWithSource",
	CreateProgramWithBinary: "clCreateProgramWithBinary",
	BuildProgram:            "clBuildProgram",
	GetProgramInfo:          "clGetProgramInfo",
	GetProgramBuildInfo:     "clGetProgramBuildInfo",
	ReleaseProgram:          "clReleaseProgram",
	CreateKernel:            "clCreateKernel",
	ReleaseKernel:           "clReleaseKernel",
	SetKernelArg:            "clSetKernelArg",
	GetKernelWorkGroupInfo:  "clGetKernelWorkGroupInfo",
	EnqueueNDRangeKernel:    "clEnqueueNDRangeKernel",
	EnqueueReadBuffer:       "clEnqueueReadBuffer",
	EnqueueWriteBuffer:      "clEnqueueWriteBuffer",
	EnqueueCopyBuffer:       "clEnqueueCopyBuffer",
	EnqueueFillBuffer:       "clEnqueueFillBuffer",
	EnqueueMapBuffer:        "clEnqueueMapBuffer",
	EnqueueUnmapMemObject:   "clEnqueueUnmapMemObject",
	WaitForEvents:           "clWaitForEvents",
	ReleaseEvent:            "clReleaseEvent",
	Flush:                   "clFlush",
	Finish:                  "clFinish",
}

// String returns the name in the library.
func (f Function) String() string {
	if f < 0 || f >= functions {
		return fmt.Sprintf("Function(%d)", int(f))
	}
	return functionNames[f]
}

// Driver calls the entry points of an OpenCL library.
type Driver interface {
	// Call passes the arguments as C would and returns what the entry point returns. Memory that the arguments point to does not move until
	// Call returns. Any number of goroutines may call.
	Call(f Function, args ...uintptr) uintptr
}

// API is OpenCL as a Driver offers it.
type API struct{ driver Driver }

// New makes an API of a driver.
func New(d Driver) *API { return &API{d} }

// call keeps what the arguments point to on the heap and alive until the driver returns, as the directive says.
//
//go:uintptrescapes
func (a *API) call(f Function, args ...uintptr) uintptr { return a.driver.Call(f, args...) }

// status is call for entry points that return an error code.
//
//go:uintptrescapes
func (a *API) status(f Function, args ...uintptr) error {
	return check(f, int32(a.driver.Call(f, args...)))
}
