package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

// Local is this machine.
type Local struct{}

// Name returns "".
func (Local) Name() string { return "" }

// Platform returns what this program was built for.
func (Local) Platform(context.Context) (goos, goarch string, err error) {
	return runtime.GOOS, runtime.GOARCH, nil
}

// Push returns the absolute path of the file, which is there already.
func (Local) Push(_ context.Context, local string) (string, error) {
	path, err := filepath.Abs(local)
	if err == nil {
		_, err = os.Stat(path)
	}
	return path, err
}

// Run runs a program. On systems with groups of processes, the program's own children end with it, also if it ends by itself.
func (Local) Run(ctx context.Context, program string, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	cmd.WaitDelay = 2 * time.Second // a grandchild may hold the output open
	ownGroup(cmd)
	err := cmd.Run()
	endGroup(cmd)
	if errors.Is(err, exec.ErrWaitDelay) { // the program ended well; what it left behind held the output open
		err = nil
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &exit):
		return exitError(status(exit.ProcessState))
	case err != nil:
		return fmt.Errorf("run %s: %w", program, err)
	}
	return nil
}

// Close does nothing.
func (Local) Close() error { return nil }
