// Package compiler makes kernels of the sources of a device's programs: at once, or when nobody waits for the device.
package compiler
