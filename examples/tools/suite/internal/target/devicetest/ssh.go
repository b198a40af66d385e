//go:build linux

package devicetest

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// SSH does what the program ssh would do with the arguments, and returns its status. The device's serial is the host's name. Unlike adb it
// sends no hang-up when it ends: only the streams end.
func SSH(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	d, file, err := load()
	if err != nil {
		fmt.Fprintln(stderr, "ssh:", err)
		return 255
	}
	at := slices.Index(args, "--")
	if at < 0 || len(args) < at+3 || !slices.Contains(args[:at], "BatchMode=yes") {
		fmt.Fprintln(stderr, "ssh: usage")
		return 255
	}
	if d.Hang == "ssh" {
		time.Sleep(time.Hour)
	}
	if args[at+1] != d.Serial {
		fmt.Fprintf(stderr, "ssh: Could not resolve hostname %s: Name or service not known\n", args[at+1])
		return 255
	}
	if d.State != "" {
		fmt.Fprintln(stderr, d.State)
		return 255
	}
	l := &line{d: d, file: file}
	cmd := exec.Command(d.shell(), "-c", strings.Join(args[at+2:], " "))
	cmd.Dir, cmd.Env = d.Folder, []string{"PATH=" + d.Folder + "/bin:/usr/bin:/bin", "HOME=" + d.Data()}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	counted := &passing{l: l, w: stdout}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, counted, cut{l, stderr}
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case counted.failed:
		fmt.Fprintf(stderr, "client_loop: send disconnect: Broken pipe\n")
		return 255
	case errors.As(err, &exit):
		return exit.ExitCode()
	case err != nil:
		return 255
	}
	return 0
}
