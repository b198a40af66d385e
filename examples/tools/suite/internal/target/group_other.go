//go:build !unix

package target

import (
	"os"
	"os/exec"
)

// ownGroup does nothing: the end of its context ends the command alone.
func ownGroup(*exec.Cmd) {}

// endGroup does nothing.
func endGroup(*exec.Cmd) {}

// status returns how a process ended.
func status(p *os.ProcessState) int { return p.ExitCode() }
