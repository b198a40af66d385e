//go:build linux

package devicetest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// A Device's file describes the phone that this adb is connected to; each call reads it. A shell of the device is a shell here, a file that
// is pushed is a file here. All bytes of both pass through a line. Once UnplugAfter bytes have passed, the device's file says that it is
// gone. For example, with the serial "A1" and 6000 for UnplugAfter, a push of 10000 bytes goes
//
//	block   bytes passed
//	1       4096           written
//	2       8192           "couldn't read from device", status 1
//
// and the next call answers "device 'A1' not found".

// ADB does what the program adb would do with the arguments, and returns its status.
func ADB(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	d, file, err := load()
	if err != nil {
		fmt.Fprintln(stderr, "adb:", err)
		return 1
	}
	serial := d.Serial
	if len(args) > 1 && args[0] == "-s" {
		serial, args = args[1], args[2:]
	}
	if len(args) == 0 {
		fmt.Fprintln(stderr, "adb: usage")
		return 1
	}
	if d.Hang == args[0] {
		time.Sleep(time.Hour)
	}
	if args[0] == "devices" {
		d.list(stdout)
		return 0
	}
	if d.Gone || serial != d.Serial {
		fmt.Fprintf(stderr, "adb: device '%s' not found\n", serial)
		return 1
	}
	if d.State != "" {
		fmt.Fprintf(stderr, "adb: device %s\n", d.State)
		return 1
	}
	l := &line{d: d, file: file}
	switch args[0] {
	case "get-state":
		fmt.Fprintln(stdout, "device")
	case "features":
		if !d.Old {
			fmt.Fprintln(stdout, "shell_v2")
		}
		fmt.Fprintln(stdout, "cmd\nstat_v2")
	case "shell":
		return l.shell(strings.Join(args[1:], " "), stdin, stdout, stderr)
	case "push", "pull":
		if len(args) == 4 && args[1] == "--sync" {
			args = append(args[:1:1], args[2:]...)
		}
		if len(args) != 3 {
			fmt.Fprintf(stderr, "adb: %s takes two paths\n", args[0])
			return 1
		}
		if err := l.transfer(args[0] == "push", args[1], args[2]); err != nil {
			fmt.Fprintf(stderr, "adb: error: failed to copy '%s' to '%s': %v\n", args[1], args[2], err)
			return 1
		}
	default:
		fmt.Fprintf(stderr, "adb: unknown command %s\n", args[0])
		return 1
	}
	return 0
}

// list writes what adb devices -l does.
func (d *Device) list(w io.Writer) {
	fmt.Fprintln(w, "List of devices attached")
	if !d.Gone {
		state := d.State
		if state == "" {
			state = "device"
		}
		fmt.Fprintf(w, "%-22s %s usb:1-2 product:panther model:%s device:panther transport_id:1\n", d.Serial, state, d.Model)
	}
	for i, serial := range d.Others {
		fmt.Fprintf(w, "%-22s device model:Other transport_id:%d\n", serial, i+2)
	}
	fmt.Fprintln(w)
}

// line is the cable: it counts the bytes that go through it, and may be unplugged.
type line struct {
	d      *Device
	file   string
	passed int64
	gone   atomic.Bool
	out    func() // what happens at the other end when it is unplugged
}

var errUnplugged = errors.New("couldn't read from device")

// pass counts bytes, and unplugs the device when it is time.
func (l *line) pass(n int) error {
	l.passed += int64(n)
	if l.d.UnplugAfter == 0 || l.passed < l.d.UnplugAfter {
		return nil
	}
	l.d.Gone = true
	l.gone.Store(true)
	if err := l.d.Save(l.file); err != nil {
		return err
	}
	if l.out != nil {
		l.out()
	}
	return errUnplugged
}

// shell runs a command in a shell of the device.
func (l *line) shell(command string, stdin io.Reader, stdout, stderr io.Writer) int {
	runtime.LockOSThread() // the hang-up comes when the thread ends that started the shell
	cmd := exec.Command(l.d.shell(), "-c", command)
	cmd.Dir = l.d.Folder
	cmd.Env = []string{"PATH=" + filepath.Join(l.d.Folder, "bin") + ":/usr/bin:/bin", "TMPDIR=" + filepath.Join(l.d.Data(), "local", "tmp"),
		"HOME=" + l.d.Data(), Variable + "=" + l.file}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGHUP} // as the device's end of adb does
	cmd.Stdin, cmd.Stderr = stdin, cut{l, stderr}
	counted := &passing{l: l, w: stdout, old: l.d.Old}
	cmd.Stdout = counted
	if l.d.Old {
		cmd.Stdin, cmd.Stderr = nil, counted
	}
	l.out = func() { cmd.Process.Signal(syscall.SIGHUP) }
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case counted.failed:
		return 255
	case err == nil, l.d.Old:
		return 0
	case errors.As(err, &exit):
		if w := exit.Sys().(syscall.WaitStatus); w.Signaled() {
			return 128 + int(w.Signal())
		}
		return exit.ExitCode()
	}
	fmt.Fprintln(stderr, "adb:", err)
	return 1
}

// passing is what a shell writes.
type passing struct {
	l      *line
	w      io.Writer
	old    bool
	failed bool
}

func (p *passing) Write(b []byte) (int, error) {
	if err := p.l.pass(len(b)); err != nil {
		p.failed = true
		return 0, err
	}
	if p.old {
		b2 := strings.ReplaceAll(string(b), "\n", "\r\n")
		_, err := io.WriteString(p.w, b2)
		return len(b), err
	}
	return p.w.Write(b)
}

// cut is a stream that ends when the device is unplugged.
type cut struct {
	l *line
	w io.Writer
}

func (c cut) Write(b []byte) (int, error) {
	if c.l.gone.Load() {
		return 0, errUnplugged
	}
	return c.w.Write(b)
}

// transfer copies a file to the device or from it.
func (l *line) transfer(push bool, from, to string) error {
	if device := map[bool]string{true: to, false: from}[push]; !l.d.holds(device) {
		return errors.New("remote couldn't create file: Read-only file system")
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer out.Close()
	room := l.d.Quota - l.d.used()
	block := make([]byte, 4<<10)
	for {
		n, err := in.Read(block)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if room -= int64(n); push && l.d.Quota > 0 && room < 0 {
			os.Remove(to)
			return errors.New("remote No space left on device")
		}
		if err := l.pass(n); err != nil {
			return err
		}
		if _, err := out.Write(block[:n]); err != nil {
			return err
		}
	}
}
