package target

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"strconv"
	"strings"
	"time"
)

// A remote needs only a shell over there. The status of a script does not come from the link's program, which may end with 1 for its own
// reasons, but in a line that the script writes. For example, ask("df -Pk /tmp") sends
//
//	{ df -Pk /tmp
//	} 2>&1
//	echo "[MARK:$?]"
//
// and takes [MARK:0] out of the answer. Without such a line the connection broke.

// link is a way to a machine: it carries scripts and files.
type link interface {
	// name is the target's name.
	name() string
	// command makes the command that runs a script in a shell over there.
	command(ctx context.Context, script string) *exec.Cmd
	// plain says that the shell mixes stdout with stderr, changes ends of lines and takes no input.
	plain() bool
	// upload copies a file to a path over there and calls progress with how many bytes of it have come. It fails if the connection breaks,
	// and may leave a part of the file.
	upload(ctx context.Context, local, remote string, size int64, progress func(done int64)) error
	// download copies a small file from over there. Only plain links are asked to.
	download(ctx context.Context, remote string, to io.Writer) error
	// explain turns what the link's program said when it failed into what a person can do.
	explain(ctx context.Context, said string) error
	// platform reads Go's words for the system and the processor from the shell.
	platform(ctx context.Context, r *remote) (goos, goarch string, err error)
}

// remote is a Target behind a link.
type remote struct {
	link
	o      Options
	folder string            // for pushed files: an absolute path
	sums   map[string]string // of local files that were read already, by path, size and time
}

// Name returns the name that opens the target.
func (r *remote) Name() string { return r.name() }

// Platform asks the target.
func (r *remote) Platform(ctx context.Context) (goos, goarch string, err error) {
	return r.platform(ctx, r)
}

// Close does nothing: every call is a connection of its own.
func (r *remote) Close() error { return nil }

// maxAnswer bounds what a question's answer may be, in bytes.
const maxAnswer = 1 << 20

// errSilent is the cause of a context that ended because the target did not answer.
var errSilent = errors.New("no answer")

// ask runs a short script and returns what it wrote, on stdout or stderr. A script that fails is an *ExitError.
func (r *remote) ask(ctx context.Context, script string, patience time.Duration) (string, error) {
	told := ""
	var answer limited
	m := &markedStream{out: &answer, prefix: "[" + rand.Text() + ":", told: func(word string) { told = word }}
	within, cancel := context.WithTimeoutCause(ctx, patience, errSilent)
	defer cancel()
	cmd := r.command(within, "{ "+script+"\n} 2>&1\necho \""+m.prefix+"$?]\"")
	cmd.Stdout, cmd.Stderr = m, m
	cmd.WaitDelay = waitDelay
	err := cmd.Run()
	m.flush()
	switch status, bad := strconv.Atoi(told); {
	case bad == nil:
		return strings.ReplaceAll(answer.String(), "\r", ""), exitError(status)
	case ctx.Err() != nil:
		return "", ctx.Err()
	default:
		return "", fmt.Errorf("ask %s: %w", r.name(), r.reason(ctx, within, err, m.last()))
	}
}

// waitDelay is how long a program may hold its output open after its end or the end of its context.
const waitDelay = 2 * time.Second

// reason says why a command of the link did not do its work.
func (r *remote) reason(ctx, within context.Context, err error, said string) error {
	var exit *exec.ExitError
	switch {
	case errors.Is(context.Cause(within), errSilent):
		return r.explain(ctx, "")
	case err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay):
		return err // the program could not be started
	}
	return r.explain(ctx, said)
}

// limited keeps the first maxAnswer bytes that are written to it.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	l.Buffer.Write(p[:min(len(p), maxAnswer-l.Len())])
	return len(p), nil
}

// maxInput bounds a program's input, in bytes.
const maxInput = 16 << 20

// Run runs a program, as Target says.
func (r *remote) Run(ctx context.Context, program string, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	input, err := readInput(stdin)
	if err != nil {
		return err
	}
	stdout, stderr = orDiscard(stdout), orDiscard(stderr)
	mark := rand.Text()
	e := &remoteRun{mark: "[" + mark + ":", folder: path.Join(r.folder, "run-"+mark), input: len(input), plain: r.plain(),
		command: quoteAll(append([]string{program}, args...))}
	err = r.run(ctx, e, input, stdout, stderr)
	if err != nil && ctx.Err() != nil {
		// The script ends the program when the connection ends. This is for shells that do not get to know of that.
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.o.Patience)
		defer cancel()
		r.ask(after, e.stopScript(), r.o.Patience)
		return ctx.Err()
	}
	return err
}

func (r *remote) run(ctx context.Context, e *remoteRun, input []byte, stdout, stderr io.Writer) error {
	if e.plain {
		if err := r.putInput(ctx, e, input); err != nil {
			return err
		}
	}
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	status, doing := -1, "start a program on"
	silent := time.AfterFunc(r.o.Patience, func() { cancel(errSilent) })
	cmd := r.command(within, e.script())
	host, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	m := &markedStream{out: stderr, prefix: e.mark, told: func(word string) {
		silent.Stop()
		doing = "wait for a program's end on"
		if n, err := strconv.Atoi(word); err == nil {
			status = n
			host.Close() // nothing over there has to wait for it any more
		}
	}}
	cmd.Stdout, cmd.Stderr = stdout, m
	if e.plain {
		cmd.Stdout = m
	}
	cmd.WaitDelay = waitDelay
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%s %s: %w", doing, r.name(), err)
	}
	if !e.plain {
		host.Write(input) // if that fails, the script does not start, and says why
	}
	err = cmd.Wait() // closes host
	silent.Stop()
	m.flush()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case status < 0:
		return fmt.Errorf("%s %s: %w", doing, r.name(), r.reason(ctx, within, err, m.last()))
	case e.plain:
		if err := r.fetchOutput(ctx, e, stdout, stderr); err != nil {
			return err
		}
	}
	return exitError(status)
}

// putInput puts a program's input into the file that the script of a plain link reads.
func (r *remote) putInput(ctx context.Context, e *remoteRun, input []byte) error {
	if _, err := r.ask(ctx, "mkdir -p "+quote(e.folder), r.o.Patience); err != nil {
		return err
	}
	return uploadBytes(ctx, r.link, input, path.Join(e.folder, "in"))
}

// fetchOutput hands on what the program wrote under a plain link, and removes it there.
func (r *remote) fetchOutput(ctx context.Context, e *remoteRun, stdout, stderr io.Writer) error {
	err := errors.Join(r.download(ctx, path.Join(e.folder, "out"), stdout), r.download(ctx, path.Join(e.folder, "err"), stderr))
	_, removed := r.ask(ctx, "rm -rf "+quote(e.folder), r.o.Patience)
	return errors.Join(err, removed)
}

func readInput(stdin io.Reader) ([]byte, error) {
	if stdin == nil {
		return nil, nil
	}
	input, err := io.ReadAll(io.LimitReader(stdin, maxInput+1))
	if err == nil && len(input) > maxInput {
		err = fmt.Errorf("it must be no longer than %d bytes", maxInput)
	}
	if err != nil {
		return nil, fmt.Errorf("read a program's input: %w", err)
	}
	return input, nil
}

func orDiscard(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return w
}
