//go:build opencl && (amd64 || arm64)

package cl

import "fmt"

// Code is an OpenCL error code.
type Code int32

// Codes that callers look for.
const (
	DeviceNotFound       Code = -1
	MemAllocationFailure Code = -4
	OutOfResources       Code = -5
	OutOfHostMemory      Code = -6
	BuildProgramFailure  Code = -11
	InvalidBinary        Code = -42
	InvalidWorkGroupSize Code = -54
	InvalidBufferSize    Code = -61
	PlatformNotFound     Code = -1001 // of the loader, if no driver is installed
	noHandle             Code = -9999 // ours: a driver returned neither an object nor an error
)

var codeNames = map[Code]string{
	-1: "CL_DEVICE_NOT_FOUND", -2: "CL_DEVICE_NOT_AVAILABLE", -3: "CL_COMPILER_NOT_AVAILABLE",
	-4: "CL_MEM_OBJECT_ALLOCATION_FAILURE", -5: "CL_OUT_OF_RESOURCES", -6: "CL_OUT_OF_HOST_MEMORY",
	-7: "CL_PROFILING_INFO_NOT_AVAILABLE", -8: "CL_MEM_COPY_OVERLAP", -11: "CL_BUILD_PROGRAM_FAILURE",
	-12: "CL_MAP_FAILURE", -13: "CL_MISALIGNED_SUB_BUFFER_OFFSET", -14: "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
	-15: "CL_COMPILE_PROGRAM_FAILURE", -16: "CL_LINKER_NOT_AVAILABLE", -17: "CL_LINK_PROGRAM_FAILURE",
	-30: "CL_INVALID_VALUE", -31: "CL_INVALID_DEVICE_TYPE", -32: "CL_INVALID_PLATFORM", -33: "CL_INVALID_DEVICE",
	-34: "CL_INVALID_CONTEXT", -35: "CL_INVALID_QUEUE_PROPERTIES", -36: "CL_INVALID_COMMAND_QUEUE",
	-37: "CL_INVALID_HOST_PTR", -38: "CL_INVALID_MEM_OBJECT", -42: "CL_INVALID_BINARY",
	-43: "CL_INVALID_BUILD_OPTIONS", -44: "CL_INVALID_PROGRAM", -45: "CL_INVALID_PROGRAM_EXECUTABLE",
	-46: "CL_INVALID_KERNEL_NAME", -47: "CL_INVALID_KERNEL_DEFINITION", -48: "CL_INVALID_KERNEL",
	-49: "CL_INVALID_ARG_INDEX", -50: "CL_INVALID_ARG_VALUE", -51: "CL_INVALID_ARG_SIZE",
	-52: "CL_INVALID_KERNEL_ARGS", -53: "CL_INVALID_WORK_DIMENSION", -54: "CL_INVALID_WORK_GROUP_SIZE",
	-55: "CL_INVALID_WORK_ITEM_SIZE", -56: "CL_INVALID_GLOBAL_OFFSET", -57: "CL_INVALID_EVENT_WAIT_LIST",
	-58: "CL_INVALID_EVENT", -59: "CL_INVALID_OPERATION", -61: "CL_INVALID_BUFFER_SIZE",
	-63: "CL_INVALID_GLOBAL_WORK_SIZE", -66: "CL_INVALID_COMPILER_OPTIONS", -1001: "CL_PLATFORM_NOT_FOUND_KHR",
	noHandle: "neither an object nor an error code",
}

// String returns the name in the standard.
func (c Code) String() string {
	if name, ok := codeNames[c]; ok {
		return name
	}
	return "an error that OpenCL 1.2 does not list"
}

// Error is a call that failed; it wraps its Code.
type Error struct {
	Call Function
	Code Code
}

// Error names the call and the code.
func (e *Error) Error() string { return fmt.Sprintf("%v: %v (%d)", e.Call, e.Code, int32(e.Code)) }

// Unwrap lets errors.Is find the code.
func (e *Error) Unwrap() error { return e.Code }

// Error makes a Code an error, so that errors.Is(err, cl.BuildProgramFailure) works.
func (c Code) Error() string { return c.String() }

// check makes an error of a code.
func check(f Function, code int32) error {
	if code == 0 {
		return nil
	}
	return &Error{f, Code(code)}
}

// made checks what a call that creates an object returned.
func made(f Function, handle uintptr, code int32) (uintptr, error) {
	if err := check(f, code); err != nil {
		return 0, err
	}
	if handle == 0 {
		return 0, &Error{f, noHandle}
	}
	return handle, nil
}
