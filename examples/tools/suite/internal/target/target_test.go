//go:build linux

package target

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
	"github.com/antigravity-go/antigravity/examples/tools/suite/internal/target/devicetest"
)

// TestMain lets the test's program be adb and ssh as well, when it is called so.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "adb":
		os.Exit(devicetest.ADB(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	case "ssh":
		os.Exit(devicetest.SSH(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// plugged is a device, and how to reach it.
type plugged struct {
	devicetest.Device
	t       *testing.T
	file    string
	options Options

	done, total int64 // of the latest push
}

func plug(t *testing.T, change func(d *devicetest.Device)) *plugged {
	t.Helper()
	folder := t.TempDir()
	p := &plugged{t: t, file: filepath.Join(folder, "device.json"), options: Options{Patience: 20 * time.Second},
		Device: devicetest.Device{Folder: filepath.Join(folder, "a device's files"), Serial: "PHONE1", Model: "Pixel_7", ABI: "arm64-v8a"}}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p.options.ADB, p.options.SSH = filepath.Join(folder, "adb"), filepath.Join(folder, "ssh")
	if err := errors.Join(os.Symlink(self, p.options.ADB), os.Symlink(self, p.options.SSH)); err != nil {
		t.Fatal(err)
	}
	p.options.Progress = func(done, total int64) { p.done, p.total = done, total }
	if change != nil {
		change(&p.Device)
	}
	p.save()
	t.Setenv(devicetest.Variable, p.file)
	t.Setenv("ANDROID_SERIAL", "")
	return p
}

func (p *plugged) save() {
	p.t.Helper()
	if err := p.Save(p.file); err != nil {
		p.t.Fatal(err)
	}
}

func (p *plugged) open(name string) Target {
	p.t.Helper()
	target, err := Open(p.t.Context(), name, p.options)
	if err != nil {
		p.t.Fatal(err)
	}
	return target
}

// file makes a local file.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o777); err != nil {
		t.Fatal(err)
	}
	return path
}

// way is how a device is reached.
type way struct {
	name, target string
	old          bool
	shell        string
}

// ways are a new Android's shell, an old one's, and ssh.
var ways = []way{{"adb", "adb", false, ""}, {"old adb", "adb:PHONE1", true, ""}, {"ssh", "ssh:PHONE1", false, ""}}

// shells adds mksh, which is Android's shell, and bash, in place of this machine's, if they are installed.
func shells() []way {
	list := slices.Clone(ways)
	for _, shell := range []string{"mksh", "bash"} {
		if path, err := exec.LookPath(shell); err == nil {
			list = append(list, way{"adb with " + shell, "adb", false, path}, way{"old adb with " + shell, "adb", true, path})
		}
	}
	return list
}

func TestRunsAProgramThere(t *testing.T) {
	program := "#!/bin/sh\nfor a; do echo \"<$a>\"; done\necho to the other stream >&2\ncat\nexit 3\n"
	args := []string{"", "a b", "it's", "$HOME `id` \\ \"x\"", "new\nline", "*", "-n", "\xff\x01", "~", "a;b&c|d", "日本"}
	input := strings.Repeat("input\x00\xff\r\n", 3000)
	want := "<" + strings.Join(args, ">\n<") + ">\n" + input
	for _, way := range shells() {
		t.Run(way.name, func(t *testing.T) {
			p := plug(t, func(d *devicetest.Device) { d.Old, d.Shell = way.old, way.shell })
			target := p.open(way.target)
			there, err := target.Push(t.Context(), file(t, "program's name.sh", program))
			if err != nil {
				t.Fatal(err)
			}
			var stdout, stderr bytes.Buffer
			err = target.Run(t.Context(), there, args, strings.NewReader(input), &stdout, &stderr)
			var exit *ExitError
			if !errors.As(err, &exit) || exit.Status != 3 || exit.Killed {
				t.Errorf("status 3 came as %v", err)
			}
			if stdout.String() != want {
				t.Errorf("stdout: %.300q, want %.300q", &stdout, want)
			}
			if stderr.String() != "to the other stream\n" {
				t.Errorf("stderr: %q", &stderr)
			}
			if err := target.Run(t.Context(), "/bin/echo", []string{"hello"}, nil, nil, nil); err != nil {
				t.Errorf("a program that is well: %v", err)
			}
			left, err := filepath.Glob(filepath.Join(p.Data(), "*", "*", "*", "run-*"))
			if err != nil || len(left) > 0 {
				t.Errorf("left there: %v, %v", left, err)
			}
		})
	}
}

func TestNames(t *testing.T) {
	p := plug(t, nil)
	for name, want := range map[string]string{"": "", "local": "", "adb": "adb:PHONE1", "adb:PHONE1": "adb:PHONE1", "ssh:PHONE1": "ssh:PHONE1",
		"ssh:PHONE1:2222": "ssh:PHONE1:2222"} {
		target := p.open(name)
		if target.Name() != want {
			t.Errorf("%q is %q, want %q", name, target.Name(), want)
		}
		goos, goarch, err := target.Platform(t.Context())
		wantArch := runtime.GOARCH
		if strings.HasPrefix(name, "adb") {
			wantArch = "arm64"
		}
		if goos != "linux" || goarch != wantArch || err != nil {
			t.Errorf("%q: %s/%s, %v", name, goos, goarch, err)
		}
		if err := target.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"adb:", "ssh:", "ssh", "usb", "ssh:-oProxyCommand=x", "ssh:a b", "adb:-x", ":"} {
		if target, err := Open(t.Context(), name, p.options); err == nil {
			t.Errorf("%q opens %v", name, target)
		}
	}
}

// TestErrorsSayWhatToDo has a fault a line, and words that a person needs.
func TestErrorsSayWhatToDo(t *testing.T) {
	for _, c := range []struct {
		name, target string
		change       func(*devicetest.Device)
		want         []string
	}{
		{"none", "adb", func(d *devicetest.Device) { d.Gone = true }, []string{"no Android device is connected", "USB debugging"}},
		{"another", "adb:X", nil, []string{"adb:X is not connected", "but adb:PHONE1 (Pixel_7)"}},
		{"unauthorised", "adb", func(d *devicetest.Device) { d.State = "unauthorized" }, []string{"adb:PHONE1", "allow debugging on its screen"}},
		{"offline", "adb:PHONE1", func(d *devicetest.Device) { d.State = "offline" }, []string{"adb:PHONE1", "plug it in again"}},
		{"permissions", "adb", func(d *devicetest.Device) {
			d.State = "no permissions (missing udev rules? user is in the plugdev group)"
		},
			[]string{"udev rules", "plugdev"}},
		{"odd state", "adb", func(d *devicetest.Device) { d.State = "dreaming" }, []string{`"dreaming"`}},
		{"two", "adb", func(d *devicetest.Device) { d.Others = []string{"TABLET"} },
			[]string{"choose one", "adb:PHONE1 (Pixel_7), adb:TABLET (Other)"}},
		{"hanging", "adb", func(d *devicetest.Device) { d.Hang = "devices" }, []string{"adb devices took longer", "adb kill-server"}},
		{"hanging shell", "adb", func(d *devicetest.Device) { d.Hang = "shell" }, []string{"plug it in again", "adb kill-server"}},
		{"unknown host", "ssh:nowhere", nil, []string{"ssh:nowhere", "no host of that name"}},
		{"refused", "ssh:PHONE1", func(d *devicetest.Device) { d.State = "me@PHONE1: Permission denied (publickey,password)." },
			[]string{"refuses the user or the key", "ssh-copy-id"}},
		{"host key", "ssh:PHONE1", func(d *devicetest.Device) { d.State = "Host key verification failed." }, []string{"connect once by hand"}},
		{"port", "ssh:PHONE1:1", func(d *devicetest.Device) { d.State = "ssh: connect to host PHONE1 port 1: Connection refused" },
			[]string{"no ssh server listens"}},
		{"hanging ssh", "ssh:PHONE1", func(d *devicetest.Device) { d.Hang = "ssh" }, []string{"stopped answering"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := plug(t, c.change)
			if p.Hang != "" {
				p.options.Patience = 300 * time.Millisecond
			}
			_, err := Open(t.Context(), c.target, p.options)
			if err == nil {
				t.Fatal("it opens")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		})
	}
	t.Run("programs", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		t.Setenv("HOME", t.TempDir())
		for _, v := range []string{"ANTIGRAVITY_ADB", "ANTIGRAVITY_SSH", "ANDROID_HOME", "ANDROID_SDK_ROOT"} {
			t.Setenv(v, "")
		}
		for name, want := range map[string]string{"adb": "install Android's platform-tools", "ssh:host": "install OpenSSH"} {
			if _, err := Open(t.Context(), name, Options{}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := Build(t.Context(), "linux", "arm64", "", ""); err == nil || !strings.Contains(err.Error(), "install Go") {
			t.Errorf("build: %v", err)
		}
	})
}

func TestPushesOnlyWhatChanged(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			p := plug(t, func(d *devicetest.Device) { d.Old = way.old })
			target := p.open(way.target)
			model := t.TempDir()
			write := func(name, text string) {
				if err := os.WriteFile(filepath.Join(model, name), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			write("config.json", "{}")
			write("weights 1.bin", strings.Repeat("w", 100_000))
			write(".hidden", "secret")
			if err := os.Mkdir(filepath.Join(model, "original"), 0o777); err != nil {
				t.Fatal(err)
			}
			push := func() (there string) {
				there, err := target.Push(t.Context(), model)
				if err != nil {
					t.Fatal(err)
				}
				return there
			}
			first := push()
			if p.done != 100_002 || p.total != p.done {
				t.Errorf("progress ended at %d of %d bytes", p.done, p.total)
			}
			if entries, err := os.ReadDir(first); err != nil || len(entries) != 2 {
				t.Fatalf("%v, %v", entries, err)
			}
			weights, err := filepath.EvalSymlinks(filepath.Join(first, "weights 1.bin"))
			if err != nil {
				t.Fatal(err)
			}
			before, err := os.Stat(weights)
			if err != nil {
				t.Fatal(err)
			}
			if again := push(); again != first {
				t.Errorf("the same folder went to %s, and then to %s", first, again)
			}
			write("config.json", `{"changed": true}`)
			second := push()
			text, err := os.ReadFile(filepath.Join(second, "config.json"))
			if second == first || string(text) != `{"changed": true}` || err != nil {
				t.Errorf("the changed folder is in %s: %q, %v", second, text, err)
			}
			after, err := os.Stat(filepath.Join(second, "weights 1.bin"))
			if err != nil || !os.SameFile(before, after) || !after.ModTime().Equal(before.ModTime()) {
				t.Errorf("the file that did not change was pushed again: %v", err)
			}
			freed, err := target.(Cleaner).Clean(t.Context())
			if err != nil || freed < 100_000 {
				t.Errorf("cleaning freed %d bytes, %v", freed, err)
			}
			if _, err := os.Stat(first); !os.IsNotExist(err) {
				t.Errorf("after cleaning: %v", err)
			}
			for _, bad := range []string{filepath.Join(model, "missing"), filepath.Join(model, "original"), "/dev/null"} {
				if there, err := target.Push(t.Context(), bad); err == nil || !strings.Contains(err.Error(), bad) {
					t.Errorf("%s went to %s: %v", bad, there, err)
				}
			}
		})
	}
}

func TestInterruptedPushIsNotTakenForWhole(t *testing.T) {
	p := plug(t, func(d *devicetest.Device) { d.UnplugAfter = 50_000 })
	target := p.open("adb")
	local := file(t, "model.gguf", strings.Repeat("abcdefgh", 12_500))
	there, err := target.Push(t.Context(), local)
	if err == nil || !strings.Contains(err.Error(), "plug it in again") {
		t.Fatalf("%q, %v", there, err)
	}
	p.save()
	p.UnplugAfter, p.Gone = 0, false
	p.save()
	there, err = target.Push(t.Context(), local)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(there); err != nil || len(got) != 100_000 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(there), "*")); len(left) != 1 {
		t.Errorf("beside it lie %v", left)
	}
}

func TestDiskFull(t *testing.T) {
	for _, c := range []struct {
		name   string
		before int // bytes pushed first
		hide   bool
		want   []string
	}{
		{"known beforehand", 60_000, false, []string{"no space left", "it needs 150.0 kB and there is room for", "suite -target adb:PHONE1 -clean"}},
		{"while it is pushed", 60_000, true, []string{"no space left", "it needs 150.0 kB", "suite -target adb:PHONE1 -clean"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := plug(t, func(d *devicetest.Device) { d.Quota = 200 << 10 })
			target := p.open("adb")
			if _, err := target.Push(t.Context(), file(t, "first", strings.Repeat("1", c.before))); err != nil {
				t.Fatal(err)
			}
			if c.hide { // a df that nobody can read
				if err := os.WriteFile(filepath.Join(p.Folder, "bin", "df"), []byte("#!/bin/sh\necho much\n"), 0o777); err != nil {
					t.Fatal(err)
				}
			}
			_, err := target.Push(t.Context(), file(t, "second", strings.Repeat("2", 150_000)))
			if err == nil {
				t.Fatal("it fits")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		})
	}
}

func TestKilledBySystem(t *testing.T) {
	p := plug(t, func(d *devicetest.Device) { d.KillsAll = true })
	err := p.open("adb").Run(t.Context(), "/bin/true", nil, nil, nil, nil)
	var exit *ExitError
	if !errors.As(err, &exit) || !exit.Killed || !strings.Contains(err.Error(), "memory") {
		t.Errorf("%v", err)
	}
	err = Local{}.Run(t.Context(), "/bin/sh", []string{"-c", "kill -9 $$"}, nil, nil, nil)
	if !errors.As(err, &exit) || !exit.Killed {
		t.Errorf("here: %v", err)
	}
}

func TestUnpluggedWhileAProgramRuns(t *testing.T) {
	for _, way := range ways {
		p := plug(t, nil)
		target := p.open(way.target)
		p.UnplugAfter = 1000
		p.save()
		err := target.Run(t.Context(), "/bin/sh", []string{"-c", "while echo 0123456789; do :; done"}, nil, nil, nil)
		var exit *ExitError
		if err == nil || errors.As(err, &exit) || !strings.Contains(err.Error(), "repeat the command") {
			t.Errorf("%s: %v", way.name, err)
		}
	}
}

// TestNothingIsLeftRunning ends a program's context and looks whether the program and its child are gone.
func TestNothingIsLeftRunning(t *testing.T) {
	for _, way := range append(shells(), way{name: "here"}) {
		t.Run(way.name, func(t *testing.T) {
			p := plug(t, func(d *devicetest.Device) { d.Old, d.Shell = way.old, way.shell })
			target := p.open(way.target)
			told := filepath.Join(p.Data(), "processes")
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() {
				script := fmt.Sprintf("sleep 300 & echo $$ $! >%s; mv %[1]s %s; wait", quote(told+".part"), quote(told))
				ended <- target.Run(ctx, "/bin/sh", []string{"-c", script}, strings.NewReader("x"), nil, nil)
			}()
			var parent, child int
			eventually(t, "the program starts", func() bool {
				text, err := os.ReadFile(told)
				if err != nil {
					return false
				}
				_, err = fmt.Sscan(string(text), &parent, &child)
				return err == nil
			})
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			for _, process := range []int{parent, child} {
				eventually(t, "the process ends", func() bool { return !running(process) })
			}
		})
	}
}

// A program that ends well is well, whatever it leaves behind; and that ends too.
func TestWhatAProgramLeavesBehindEnds(t *testing.T) {
	var stdout bytes.Buffer
	if err := (Local{}).Run(t.Context(), "/bin/sh", []string{"-c", "sleep 300 & echo $!"}, nil, &stdout, nil); err != nil {
		t.Fatal(err)
	}
	var child int
	if _, err := fmt.Sscan(stdout.String(), &child); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the process ends", func() bool { return !running(child) })
}

// running reports whether a process is there and no zombie that nobody waits for.
func running(process int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process))
	return err == nil && !bytes.Contains(text, []byte(") Z "))
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("in vain waited until %s", what)
		}
	}
}

func TestConditions(t *testing.T) {
	p := plug(t, nil)
	c, err := p.open("adb").(Sensor).Conditions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.MHz = 0 // this machine's, if it has any
	if want := (runs.Condition{Celsius: 41.25, Battery: 87}); c != want {
		t.Errorf("%+v, want %+v", c, want)
	}
}
