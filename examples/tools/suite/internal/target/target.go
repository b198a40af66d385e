// Package target runs programs where the measuring is to be done: on this machine, on an Android device through adb, or on another
// machine through ssh.
package target

import (
	"context"
	"io"
)

// Target is a machine that runs programs. It runs one at a time.
//
// Names of files on it are the target's affair: Push gives a file a place, and arguments refer to it by the path that Push returned.
// Errors say what to do about them, where a person can do something: plug the device in, allow debugging on its screen, free space.
type Target interface {
	// Name is what Config.Target calls it: "" for this machine, adb:SERIAL or ssh:HOST.
	Name() string
	// Platform returns the system and the processor that programs for it are built for, in Go's words.
	Platform(ctx context.Context) (goos, goarch string, err error)
	// Push copies a file or a folder there unless the same bytes lie there already, and returns its path there.
	Push(ctx context.Context, local string) (remote string, err error)
	// Run runs a program there and waits for its end. An *ExitError says that it ran and failed. When the context ends, so does the
	// program, there too.
	Run(ctx context.Context, program string, args []string, stdin io.Reader, stdout, stderr io.Writer) error
	// Close ends connections. What was pushed stays, for the next time.
	Close() error
}
