package target

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
)

// The program adb is asked for the devices, and runs scripts and copies files. One device that is ready needs no choice; of several, the
// serial number chooses. A device in another state is an error with advice for a person. For example, adb devices -l writes:
//
//	List of devices attached
//	emulator-5554  device product:sdk model:Pixel_8 transport_id:1
//	R58M123        unauthorized usb:1-2 transport_id:2
//
//	parseDevices      {emulator-5554, device, Pixel_8} and {R58M123, unauthorized, ""}
//	choose ""         emulator-5554, the only one that is ready
//	choose R58M123    error: adb:R58M123: it does not trust this computer: unlock it and allow debugging on its screen; …
//
// openADB then calls adb -s emulator-5554 features, and a script is run by adb -s emulator-5554 shell SCRIPT.

// adb is the link to an Android device through the program adb.
//
// Programs for it are built for linux and not for android: a static program asks nothing of the device but its kernel, while one for
// android is position-independent and started by the loader of Android's C library, and gains nothing from that here.
type adb struct {
	program string
	serial  string
	old     bool // the device's shell is that of Android 6 or before, which gives no statuses
	o       Options
}

// android is an adb target: a remote that also reports conditions.
type android struct{ remote }

// Conditions asks the services of Android. They answer the shell's user even on phones that close the files in /sys to it.
func (a *android) Conditions(ctx context.Context) (runs.Condition, error) {
	text, err := a.ask(ctx, conditionsScript, a.o.Patience)
	if err != nil {
		return runs.Condition{}, fmt.Errorf("conditions of %s: %w", a.name(), err)
	}
	return parseConditions(text), nil
}

func openADB(ctx context.Context, serial string, o Options) (Target, error) {
	program, err := findADB(o.ADB)
	if err != nil {
		return nil, err
	}
	l := &adb{program: program, serial: serial, o: o}
	if serial == "" {
		l.serial = os.Getenv("ANDROID_SERIAL") // adb's own variable
	}
	list, err := l.devices(ctx)
	if err != nil {
		return nil, err
	}
	d, err := choose(list, l.serial)
	if err != nil {
		return nil, err
	}
	l.serial = d.serial
	features, err := l.call(ctx, "features")
	if err != nil {
		return nil, err
	}
	l.old = !slices.Contains(strings.Fields(features), "shell_v2")
	t := &android{remote{link: l, o: o, folder: o.Folder, sums: map[string]string{}}}
	if o.Folder == "" {
		answer, err := t.ask(ctx, `echo "${TMPDIR:-/data/local/tmp}/antigravity"`, o.Patience)
		if err != nil {
			return nil, err
		}
		t.folder = lastLine(answer)
	}
	return t, nil
}

// findADB looks for the program.
func findADB(given string) (string, error) {
	if given = environment(given, "ANTIGRAVITY_ADB"); given != "" {
		path, err := exec.LookPath(given)
		if err != nil {
			return "", fmt.Errorf("find the program adb: %w", err)
		}
		return path, nil
	}
	if path, err := exec.LookPath("adb"); err == nil {
		return path, nil
	}
	folders := []string{os.Getenv("ANDROID_HOME"), os.Getenv("ANDROID_SDK_ROOT")}
	if home, err := os.UserHomeDir(); err == nil { // Android Studio puts it there
		folders = append(folders, filepath.Join(home, "Android", "Sdk"), filepath.Join(home, "Library", "Android", "sdk"),
			filepath.Join(home, "AppData", "Local", "Android", "Sdk"))
	}
	name := "adb"
	if runtime.GOOS == "windows" {
		name = "adb.exe"
	}
	for _, folder := range folders {
		path := filepath.Join(folder, "platform-tools", name)
		if info, err := os.Stat(path); folder != "" && err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", errors.New("find the program adb: it is not in PATH nor in an Android SDK: install Android's platform-tools " +
		"(Debian and Ubuntu: apt install adb), or name it in ANTIGRAVITY_ADB")
}

// device is a device in the list of adb devices.
type device struct {
	serial string
	state  string // device: it is ready
	model  string
}

// states are those in which a device is of no use, and what a person can do.
var states = []struct{ state, advice string }{
	{"unauthorized", "it does not trust this computer: unlock it and allow debugging on its screen; if it does not ask, unplug it and plug it in again"},
	{"authorizing", "it is still being asked whether it trusts this computer: unlock it, allow debugging on its screen, and try again"},
	{"connecting", "it is only just connecting: try again"},
	{"offline", "it is connected and does not answer: unplug it and plug it in again, or run adb reconnect offline"},
	{"no permissions", "this user may not open it: install Android's udev rules (Debian and Ubuntu: apt install android-sdk-platform-tools-common), " +
		"become a member of the group plugdev, log in again, and run adb kill-server"},
	{"recovery", "it is in its recovery system: start Android on it"},
	{"rescue", "it is in its recovery system: start Android on it"},
	{"sideload", "it is in its recovery system: start Android on it"},
	{"bootloader", "it is in its boot loader: start Android on it"},
}

// advice returns what a person can do about a state; "" if the device is ready.
func advice(state string) string {
	if state == "device" {
		return ""
	}
	for _, s := range states {
		if state == s.state {
			return s.advice
		}
	}
	return "adb calls its state " + strconv.Quote(state) + ": it has to be device"
}

// parseDevices reads what adb devices -l writes.
func parseDevices(text string) (list []device) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		fields := strings.Fields(line)
		if len(fields) < 2 || strings.HasPrefix(line, "*") || strings.HasPrefix(line, "List of devices") {
			continue
		}
		d := device{serial: fields[0], state: fields[1]}
		if strings.HasPrefix(strings.TrimSpace(strings.TrimPrefix(line, d.serial)), "no permissions") {
			d.state = "no permissions"
		}
		for _, f := range fields[2:] {
			if model, ok := strings.CutPrefix(f, "model:"); ok {
				d.model = model
			}
		}
		list = append(list, d)
	}
	return list
}

// choose returns the device of a serial, or the only one that is ready.
func choose(list []device, serial string) (device, error) {
	ready := slices.DeleteFunc(slices.Clone(list), func(d device) bool { return d.state != "device" })
	named := slices.IndexFunc(list, func(d device) bool { return d.serial == serial })
	switch {
	case serial != "" && named < 0:
		return device{}, fmt.Errorf("adb:%s is not connected%s", serial, described(", but ", list))
	case serial != "":
		ready, list = nil, list[named:named+1]
		if list[0].state == "device" {
			ready = list
		}
	}
	switch {
	case len(ready) == 1:
		return ready[0], nil
	case len(ready) > 1:
		return device{}, fmt.Errorf("several devices are connected: choose one of them%s", described(": ", ready))
	case len(list) == 0:
		return device{}, errors.New("no Android device is connected: plug one in, with USB debugging on in its developer options " +
			"(which appear after seven taps on the build number), or connect one of the network by adb connect")
	case len(list) == 1:
		return device{}, fmt.Errorf("adb:%s: %s", list[0].serial, advice(list[0].state))
	}
	return device{}, fmt.Errorf("no Android device is ready%s", described(": ", list))
}

// described lists devices for an error, after some words.
func described(before string, list []device) string {
	var named []string
	for _, d := range list[:min(len(list), 10)] {
		name := "adb:" + d.serial
		if about := cmp.Or(strings.TrimPrefix(d.state, "device"), d.model); about != "" {
			name += " (" + about + ")"
		}
		named = append(named, name)
	}
	if named == nil {
		return ""
	}
	return before + strings.Join(named, ", ")
}

// devices asks adb for the devices. adb starts its server for that, if it does not run yet.
func (l *adb) devices(ctx context.Context) ([]device, error) {
	var out limited
	if err := l.exec(ctx, l.o.Patience, &out, io.Discard, "devices", "-l"); err != nil {
		return nil, err
	}
	return parseDevices(out.String()), nil
}

// exec runs adb within a time, for the device if it is known already. Its errors name what adb said.
func (l *adb) exec(ctx context.Context, patience time.Duration, stdout, stderr io.Writer, verb string, args ...string) error {
	within, cancel := context.WithTimeoutCause(ctx, patience, errSilent)
	defer cancel()
	args = append([]string{verb}, args...)
	if verb != "devices" {
		args = append([]string{"-s", l.serial}, args...)
	}
	var tail limited
	cmd := exec.CommandContext(within, l.program, args...)
	cmd.Stdout, cmd.Stderr = stdout, io.MultiWriter(stderr, &tail)
	cmd.WaitDelay = waitDelay
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(context.Cause(within), errSilent):
		return fmt.Errorf("adb %s took longer than %s: unplug the device and plug it in again, and run adb kill-server", verb, patience.Round(time.Second))
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return nil
	case tail.Len() > 0:
		return fmt.Errorf("adb %s: %s", verb, strings.TrimPrefix(lastLine(tail.String()), "adb: "))
	}
	return fmt.Errorf("adb %s: %w", verb, err)
}

// call runs adb for the device and returns what it wrote.
func (l *adb) call(ctx context.Context, verb string, args ...string) (string, error) {
	var out limited
	if err := l.exec(ctx, l.o.Patience, &out, io.Discard, verb, args...); err != nil {
		if ctx.Err() != nil {
			return "", err
		}
		return "", fmt.Errorf("%s: %w", l.name(), l.explain(ctx, err.Error()))
	}
	return out.String(), nil
}

func (l *adb) name() string { return "adb:" + l.serial }

func (l *adb) plain() bool { return l.old }

func (l *adb) command(ctx context.Context, script string) *exec.Cmd {
	// adb hands its arguments to the device's shell as they are, with spaces between them.
	return exec.CommandContext(ctx, l.program, "-s", l.serial, "shell", script)
}

// slowestUpload is what no cable and no wireless network falls short of, in bytes a second.
const slowestUpload = 200e3

// watched is the size of a file, in bytes, from which it is worth asking how much of it has come.
const watched = 64 << 20

func (l *adb) upload(ctx context.Context, local, remote string, size int64, progress func(done int64)) error {
	limit := l.o.Patience + time.Duration(float64(size)/slowestUpload*float64(time.Second))
	if size >= watched {
		watching, stop := context.WithCancel(ctx)
		defer stop()
		go l.watch(watching, remote, progress)
	}
	err := l.exec(ctx, limit, io.Discard, io.Discard, "push", local, remote)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return l.explain(ctx, err.Error())
}

// watch reports how much of a file has come, until the context ends. adb itself shows it on terminals only.
func (l *adb) watch(ctx context.Context, remote string, progress func(done int64)) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		answer, err := l.call(ctx, "shell", "wc -c <"+quote(remote))
		if n, bad := strconv.ParseInt(strings.TrimSpace(answer), 10, 64); err == nil && bad == nil {
			progress(n)
		}
	}
}

func (l *adb) download(ctx context.Context, remote string, to io.Writer) error {
	folder, err := os.MkdirTemp("", "antigravity-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "file")
	if _, err := l.call(ctx, "pull", remote, file); err != nil {
		return err
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(to, f)
	return err
}

// explain asks adb what has become of the device.
func (l *adb) explain(ctx context.Context, said string) error {
	list, err := l.devices(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(d device) bool { return d.serial == l.serial })
	switch said = lastLine(said); {
	case i < 0:
		return errors.New("the device went away: plug it in again and repeat the command")
	case list[i].state != "device":
		return errors.New(advice(list[i].state))
	case said == "":
		return errors.New("it stopped answering: unplug it and plug it in again, or run adb kill-server, and repeat the command")
	}
	return errors.New(strings.TrimPrefix(said, "adb: "))
}

// processors are Go's words for Android's.
var processors = map[string]string{
	"arm64-v8a": "arm64", "armeabi-v7a": "arm", "armeabi": "arm", "x86_64": "amd64", "x86": "386", "riscv64": "riscv64",
}

func (l *adb) platform(ctx context.Context, r *remote) (goos, goarch string, err error) {
	answer, err := r.ask(ctx, "getprop ro.product.cpu.abi", l.o.Patience)
	if err != nil {
		return "", "", err
	}
	goarch, ok := processors[strings.TrimSpace(answer)]
	if !ok {
		return "", "", fmt.Errorf("%s calls its processor %q, for which there is no program", l.name(), lastLine(answer))
	}
	return "linux", goarch, nil
}

// uploadBytes uploads data, by way of a file.
func uploadBytes(ctx context.Context, l link, data []byte, remote string) error {
	f, err := os.CreateTemp("", "antigravity-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = io.Copy(f, bytes.NewReader(data))
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return l.upload(ctx, f.Name(), remote, int64(len(data)), func(int64) {})
}
