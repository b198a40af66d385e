package sysinfo

import (
	"fmt"
	"io/fs"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
)

// tree makes files of lines "path content". content may be in Go's quotes. As on a real system, each ends with a line feed.
func tree(text string) fstest.MapFS {
	files := fstest.MapFS{}
	for line := range strings.Lines(strings.TrimSpace(text)) {
		path, content, _ := strings.Cut(strings.TrimSpace(line), " ")
		var unquoted string
		if n, _ := fmt.Sscanf(content, "%q", &unquoted); n == 1 && strings.HasPrefix(content, `"`) {
			content = unquoted
		}
		files[path] = &fstest.MapFile{Data: []byte(content + "\n")}
	}
	return files
}

// hidden is a system with folders that may not be listed. Files in them may not be read.
type hidden struct {
	fs.FS
	folders []string
}

func (h hidden) Open(name string) (fs.File, error) {
	for _, folder := range h.folders {
		if strings.HasPrefix(name+"/", folder) {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
		}
	}
	return h.FS.Open(name)
}

const (
	phone = `
		proc/cpuinfo "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd05\n\nprocessor\t: 1\nCPU implementer\t: 0x41\nCPU part\t: 0xd05\n\nprocessor\t: 2\nCPU implementer\t: 0x41\nCPU part\t: 0xd44\nprocessor\t: 3\nCPU implementer\t: 0x51\nCPU part\t: 0x001\n"
		proc/meminfo "MemTotal:        7654321 kB\nMemFree:          123456 kB\n"
		sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq 1803000
		sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq 1400000
		sys/devices/system/cpu/cpu0/cpufreq/scaling_governor sched_pixel
		sys/devices/system/cpu/cpu2/cpufreq/cpuinfo_max_freq 2802000
		sys/devices/system/cpu/cpu2/cpufreq/scaling_cur_freq 2600000
		sys/devices/system/cpu/cpu2/cpufreq/scaling_governor performance
		sys/devices/system/cpu/cpu3/online 0
		sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq 1
		sys/class/thermal/thermal_zone0/type battery
		sys/class/thermal/thermal_zone0/temp 310
		sys/class/thermal/thermal_zone1/type BIG
		sys/class/thermal/thermal_zone1/temp 71000
		sys/class/thermal/thermal_zone2/type LITTLE
		sys/class/thermal/thermal_zone2/temp 65500
		sys/class/thermal/thermal_zone3/type cpu-off
		sys/class/thermal/thermal_zone3/temp -274000
		sys/class/thermal/thermal_zone4/type soc
		sys/class/thermal/thermal_zone4/temp 93
		sys/class/power_supply/battery/type Battery
		sys/class/power_supply/battery/capacity 81
		sys/class/power_supply/battery/status Discharging
		sys/class/power_supply/battery/voltage_now 4000000
		sys/class/power_supply/battery/current_now -1250000
		sys/class/power_supply/usb/type USB`
	laptop = `
		proc/cpuinfo "processor : 0\nmodel name : An x86 processor\ncpu MHz : 2100.5\n\nprocessor : 1\nmodel name : An x86 processor\ncpu MHz : 1900.5\n"
		proc/meminfo "MemTotal: 16000000 kB\n"
		sys/class/thermal/thermal_zone0/type acpitz
		sys/class/thermal/thermal_zone0/temp 40000
		sys/class/hwmon/hwmon0/name nvme
		sys/class/hwmon/hwmon0/temp1_input 90000
		sys/class/hwmon/hwmon1/name coretemp
		sys/class/hwmon/hwmon1/temp1_input 55000
		sys/class/hwmon/hwmon1/temp2_input 57000
		sys/class/power_supply/BAT0/type Battery
		sys/class/power_supply/BAT0/capacity 40
		sys/class/power_supply/BAT0/status Charging
		sys/class/power_supply/BAT0/power_now 20000000
		sys/class/power_supply/BAT1/type Battery
		sys/class/power_supply/BAT1/capacity 60
		sys/class/power_supply/BAT1/status Discharging
		sys/class/power_supply/BAT1/power_now 5000000
		sys/class/power_supply/hid-mouse/type Battery
		sys/class/power_supply/hid-mouse/scope Device
		sys/class/power_supply/hid-mouse/capacity 5`
	board = `
		proc/cpuinfo "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0b\n\nprocessor\t: 1\nCPU implementer\t: 0x41\nCPU part\t: 0xd0b\n"
		proc/device-tree/model "A Board Model 5 Rev 1.0\x00"
		sys/class/thermal/thermal_zone0/type cpu-thermal
		sys/class/thermal/thermal_zone0/temp 48`
	vague = `
		proc/cpuinfo "Processor\t: AArch64\nHardware\t: A Chip\n"
		sys/class/thermal/thermal_zone0/type acpitz
		sys/class/thermal/thermal_zone0/temp 451
		sys/class/power_supply/battery/type Battery
		sys/class/power_supply/battery/capacity 200
		sys/class/power_supply/battery/voltage_now 3900
		sys/class/power_supply/battery/current_now 800`
	nonsense = `
		proc/cpuinfo "model name\ncpu MHz : NaN\ncpu MHz : +Inf\ncpu MHz : -3\n:::\n"
		proc/meminfo "MemTotal: much kB\n"
		sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq <unknown>
		sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq 99999999999999999999
		sys/class/thermal/thermal_zone0/type cpu
		sys/class/thermal/thermal_zone0/temp hot
		sys/class/power_supply/battery/type Battery
		sys/class/power_supply/battery/capacity -1
		sys/class/power_supply/battery/voltage_now 9223372036854775807
		sys/class/power_supply/battery/current_now 9223372036854775807`
)

func TestMachines(t *testing.T) {
	properties := map[string]string{
		"ro.product.manufacturer": "Maker", "ro.product.model": "Phone 8", "ro.soc.manufacturer": "Maker", "ro.soc.model": "Maker G3",
	}
	none := map[string]string{}
	for _, c := range []struct {
		name       string
		files      fs.FS
		properties map[string]string
		machine    runs.Machine // the part of it that comes from files
		condition  runs.Condition
	}{
		{"a phone", tree(phone), properties,
			runs.Machine{Name: "Maker Phone 8", Processor: "Maker G3 (2× Cortex-A55, 1× Cortex-X1, 1× 0x51:0x001)", MHz: 2802, Governor: "sched_pixel, performance",
				Memory: 7654321 << 10},
			runs.Condition{MHz: 2000, Celsius: 71, Battery: 81, Watts: 5}},
		{"a phone that hides much", hidden{tree(phone), []string{"sys/class/thermal/", "sys/devices/system/cpu/cpu0/cpufreq/", "sys/devices/system/cpu/cpu2/cpufreq/", "proc/meminfo/"}}, none,
			runs.Machine{Processor: "2× Cortex-A55, 1× Cortex-X1, 1× 0x51:0x001"},
			runs.Condition{Battery: 81, Watts: 5}},
		{"a phone whose batteries cannot be listed", unlisted{tree(phone)}, none,
			runs.Machine{Processor: "2× Cortex-A55, 1× Cortex-X1, 1× 0x51:0x001", Memory: 7654321 << 10},
			runs.Condition{Battery: 81, Watts: 5}},
		{"a laptop", tree(laptop), none,
			runs.Machine{Processor: "An x86 processor", Memory: 16000000 << 10},
			runs.Condition{MHz: 2000.5, Celsius: 57, Battery: 50, Watts: -15}},
		{"a board", tree(board), none,
			runs.Machine{Processor: "A Board Model 5 Rev 1.0 (2× Cortex-A76)"},
			runs.Condition{Celsius: 48}},
		{"other units", tree(vague), none,
			runs.Machine{Processor: "A Chip"},
			runs.Condition{Celsius: 45.1, Watts: 3.12}},
		{"nonsense", tree(nonsense), none, runs.Machine{}, runs.Condition{}},
		{"nothing", fstest.MapFS{}, none, runs.Machine{}, runs.Condition{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &System{files: c.files, property: func(name string) string { return c.properties[name] }}
			got := s.Machine()
			want := got
			want.Processor, want.MHz, want.Governor = c.machine.Processor, c.machine.MHz, c.machine.Governor
			if totalMemory() == 0 { // otherwise the system knows what the files do not say
				want.Memory = c.machine.Memory
			}
			if c.machine.Name != "" {
				want.Name = c.machine.Name
			}
			if got != want {
				t.Errorf("%+v\nwant %+v", got, want)
			}
			condition := s.Sensors().Condition()
			condition.Celsius = math.Round(condition.Celsius*1000) / 1000
			condition.Watts = math.Round(condition.Watts*1000) / 1000
			if condition != c.condition {
				t.Errorf("%+v, want %+v", condition, c.condition)
			}
		})
	}
}

// unlisted is a system with folders that cannot be listed.
type unlisted struct{ fs.FS }

func (u unlisted) ReadDir(name string) ([]fs.DirEntry, error) {
	return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrPermission}
}

func TestTheProcessorsOwnNameComesFirst(t *testing.T) {
	s := &System{files: tree(laptop), brand: "Its own name", property: func(string) string { return "" }}
	if got := s.processor(); got != "Its own name" {
		t.Errorf("%q", got)
	}
}

// TestManyFilesAreNotAllRead describes a machine of more processors than are looked at.
func TestManyFilesAreNotAllRead(t *testing.T) {
	files := fstest.MapFS{}
	for i := range 2 * maxFiles {
		files[fmt.Sprintf("sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", i)] = &fstest.MapFile{Data: []byte("1000000\n")}
	}
	files["proc/cpuinfo"] = &fstest.MapFile{Data: make([]byte, 2*maxText)}
	s := &System{files: files, property: func(string) string { return "" }}
	sensors := s.Sensors()
	if n := len(sensors.clocks); n != maxFiles {
		t.Errorf("%d files of clocks", n)
	}
	if c := sensors.Condition(); c.MHz != 1000 {
		t.Errorf("%+v", c)
	}
	if n := len(s.text("proc/cpuinfo")); n > maxText {
		t.Errorf("%d bytes were read", n)
	}
}

func TestCommit(t *testing.T) {
	at := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		settings map[string]string
		name     string
		at       time.Time
	}{
		{map[string]string{"vcs.revision": "abc", "vcs.time": "2026-11-22T10:00:00Z", "vcs.modified": "true"}, "abc+", at},
		{map[string]string{"vcs.revision": "abc", "vcs.time": "2026-11-22T10:00:00Z", "vcs.modified": "false"}, "abc", at},
		{map[string]string{"vcs.modified": "true", "vcs.time": "soon"}, "", time.Time{}},
		{nil, "", time.Time{}},
	} {
		var info debug.BuildInfo
		for k, v := range c.settings {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: k, Value: v})
		}
		if name, at := commit(&info); name != c.name || !at.Equal(c.at) {
			t.Errorf("%v: %q of %v, want %q of %v", c.settings, name, at, c.name, c.at)
		}
	}
}

// TestHere describes the machine that the tests run on.
func TestHere(t *testing.T) {
	m := Here().Machine()
	if m.Kernels == "" || m.Processors < 1 || m.OS != runtime.GOOS+"/"+runtime.GOARCH || m.Go == "" {
		t.Errorf("%+v", m)
	}
	if name := map[string]string{"linux": "Linux ", "windows": "Windows "}[runtime.GOOS]; name != "" && (m.Memory < 1<<24 || !strings.HasPrefix(m.Kernel, name)) {
		t.Errorf("%+v", m)
	}
	t.Logf("%+v, %+v", m, Here().Sensors().Condition())
}

func TestResident(t *testing.T) {
	r := OpenResident()
	defer r.Close()
	before := r.Bytes()
	if peak := PeakResident(); peak < before {
		t.Errorf("%d bytes now, and at most %d so far", before, peak)
	}
	if runtime.GOOS != "linux" && runtime.GOOS != "windows" {
		t.Skipf("%s tells %d", runtime.GOOS, before)
	}
	const more = 32 << 20
	block := make([]byte, more)
	for i := range block {
		block[i] = byte(i)
	}
	if after := r.Bytes(); before < 1<<20 || after < before+more/2 {
		t.Errorf("%d bytes before %d more were touched, and %d after", before, more, after)
	}
	runtime.KeepAlive(block)
}

func BenchmarkResident(b *testing.B) {
	r := OpenResident()
	defer r.Close()
	for b.Loop() {
		r.Bytes()
	}
}

func BenchmarkCondition(b *testing.B) {
	s := Here().Sensors()
	for b.Loop() {
		s.Condition()
	}
}
