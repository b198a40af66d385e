// Package target runs programs on the machine to measure: this machine, an Android device through adb, or another machine through ssh.
//
// The programs adb and ssh do the talking, so whatever a person has set up for them holds here too: keys, aliases, devices on the network.
// Everything over there is done by a POSIX shell in the words of remoterun.go; adb.go and ssh.go only carry scripts and files.
package target

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
)

// Target is a machine that runs programs. It runs one at a time.
//
// Names of files on it are the target's affair: Push gives a file a place, and arguments refer to it by the path that Push returned. If a
// person can do something about an error, it says what: plug the device in, allow debugging on its screen, free space.
type Target interface {
	// Name is what Config.Target calls it: "" for this machine, adb:SERIAL or ssh:HOST.
	Name() string
	// Platform returns the system and the processor that programs for it are built for, in Go's words.
	Platform(ctx context.Context) (goos, goarch string, err error)
	// Push copies a file or a folder there unless the same bytes lie there already, and returns its path there. Of a folder it copies
	// the files that lie in it, not the folders: what a model needs lies at the top of its folder.
	Push(ctx context.Context, local string) (remote string, err error)
	// Run runs a program there and waits for its end. An *ExitError says that it ran and failed. When the context ends, so does the
	// program, there too. What stdin has is read to its end before the program starts; nil is nothing.
	Run(ctx context.Context, program string, args []string, stdin io.Reader, stdout, stderr io.Writer) error
	// Close ends connections. Pushed files stay, for the next time.
	Close() error
}

// Sensor is a Target that says how it is through something that programs on it cannot read.
type Sensor interface {
	// Conditions returns how the target is now. A value that it does not report is 0, and so is At.
	Conditions(ctx context.Context) (runs.Condition, error)
}

// Cleaner is a Target that keeps pushed files.
type Cleaner interface {
	// Clean removes everything that was ever pushed and returns how many bytes it took.
	Clean(ctx context.Context) (bytes int64, err error)
}

// Options are settings of Open. The zero value is right for a person at a terminal.
type Options struct {
	ADB      string                  // the program adb; "": $ANTIGRAVITY_ADB, or the one in PATH or in the Android SDK
	SSH      string                  // the program ssh; "": $ANTIGRAVITY_SSH, or the one in PATH
	Folder   string                  // for pushed files, as an absolute path; "": a folder that the system has for this
	Patience time.Duration           // how long the target may take to answer a question; 0: half a minute
	Progress func(done, total int64) // is called with the bytes of a file being pushed; may be nil
}

// patience is how long a target may take to answer a question unless Options say so.
const patience = 30 * time.Second

// Open opens a target by its name: "" or "local" for this machine, "adb" for the only Android device, "adb:SERIAL" for one of several,
// "ssh:HOST" for another machine. HOST is whatever ssh takes, user@host and aliases of its configuration included, perhaps with ":PORT"
// behind it. It makes sure that the target answers.
func Open(ctx context.Context, name string, o Options) (Target, error) {
	o.Patience = cmp.Or(o.Patience, patience)
	if o.Progress == nil {
		o.Progress = func(int64, int64) {}
	}
	kind, rest, given := strings.Cut(name, ":")
	switch {
	case name == "", name == "local":
		return Local{}, nil
	case kind == "adb" && (!given || rest != ""):
		return openADB(ctx, rest, o)
	case kind == "ssh" && rest != "":
		return openSSH(ctx, rest, o)
	}
	return nil, fmt.Errorf("there is no target %q: it is adb, adb:SERIAL, ssh:HOST, or nothing for this machine", name)
}

// ExitError says that a program ran on a target and failed.
type ExitError struct {
	Status int  // as a shell gives it: 128 and more for a signal
	Killed bool // something killed it that was not this package
}

// killedStatus is the status that shells give for a program that SIGKILL ended.
const killedStatus = 128 + 9

func exitError(status int) error {
	if status == 0 {
		return nil
	}
	return &ExitError{Status: status, Killed: status == killedStatus}
}

// Error gives the status or, for a program that was killed, the likely reason.
func (e *ExitError) Error() string {
	switch {
	case e.Killed:
		return "killed by the system, likely for memory: a smaller model, a smaller window or fewer programs beside it may help"
	case e.Status > 128 && e.Status < 192:
		return fmt.Sprintf("ended by signal %d", e.Status-128)
	}
	return fmt.Sprintf("ended with status %d", e.Status)
}

// environment returns given or, if that is "", a variable of the environment.
func environment(given, variable string) string { return cmp.Or(given, os.Getenv(variable)) }
