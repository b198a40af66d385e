// Package cli holds what the example programs share: how they start and end, their flags, and how they load a model.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Program is a program's body, free of the process so that a test can run it.
type Program func(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error

// Main runs a program and ends the process. Ctrl-C and SIGTERM cancel the context, and a second one ends the process as
// usual.
func Main(name string, run Program) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	Exit(name, run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// The exit statuses. Interrupted is what shells report for a program that SIGINT ended.
const (
	failed      = 1
	misused     = 2
	interrupted = 130
)

// Exit reports an error on stderr and ends the process: with status 0 without an error, 130 when the user interrupted, what the
// error's method ExitStatus() int returns if it has one, such as 2 when the command line was wrong, and 1 otherwise.
func Exit(name string, err error) {
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		os.Exit(0)
	case errors.Is(err, context.Canceled):
		if IsTerminal(os.Stderr) {
			fmt.Fprintln(os.Stderr) // the shell's prompt stands on a line of its own, and not behind a bar
		}
		os.Exit(interrupted)
	}
	fmt.Fprintf(os.Stderr, "%s: %s\n", name, Printable(err.Error())) // it may quote a file, or a device's answer
	var status interface{ ExitStatus() int }
	if errors.As(err, &status) {
		os.Exit(status.ExitStatus())
	}
	os.Exit(failed)
}

// UsageError is a mistake on a command line.
type UsageError struct{ Reason string }

// Usagef makes a UsageError.
func Usagef(format string, a ...any) error { return &UsageError{fmt.Sprintf(format, a...)} }

// Error adds the place to look for the right usage.
func (e *UsageError) Error() string { return e.Reason + " (-h lists the flags)" }

// ExitStatus is the status with which Exit ends the process.
func (e *UsageError) ExitStatus() int { return misused }
