package sysinfo

import (
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
)

// cpufreq is the folder in which Linux shows a processor's clock, in kHz, and what chooses it.
const cpufreq = "sys/devices/system/cpu/cpu[0-9]*/cpufreq/"

// Machine describes the machine, and the program that runs on it. Its Device is left empty.
func (s *System) Machine() runs.Machine {
	m := runs.Machine{
		Name: s.name(), Processor: s.processor(), Kernels: asm.Tier(), Processors: runtime.GOMAXPROCS(0),
		MHz: s.highestClock(), Governor: s.governor(), Memory: s.memory(),
		OS: runtime.GOOS + "/" + runtime.GOARCH, Kernel: kernelRelease(), Go: runtime.Version(),
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		m.Commit, m.Committed = commit(info)
	}
	return m
}

// name returns the maker and the model of an Android device, or else the host's name.
func (s *System) name() string {
	maker, model := s.property("ro.product.manufacturer"), s.property("ro.product.model")
	if model == "" {
		host, _ := os.Hostname()
		return host
	}
	return joined(maker, model)
}

// joined puts a maker's name before a thing's, unless that begins with it.
func joined(maker, thing string) string {
	if len(thing) >= len(maker) && strings.EqualFold(thing[:len(maker)], maker) {
		return thing
	}
	return strings.TrimSpace(maker + " " + thing)
}

// highestClock is the highest clock of any processor, in MHz.
func (s *System) highestClock() (mhz float64) {
	for _, path := range s.glob(cpufreq + "cpuinfo_max_freq") {
		khz, _ := s.number(path)
		mhz = max(mhz, khz/1e3)
	}
	return mhz
}

// governor returns what chooses the clocks; several names if the processors differ.
func (s *System) governor() string {
	var list []string
	for _, path := range s.glob(cpufreq + "scaling_governor") {
		if g := s.text(path); g != "" && !slices.Contains(list, g) {
			list = append(list, g)
		}
	}
	return strings.Join(list, ", ")
}

// memory returns the machine's memory in bytes.
func (s *System) memory() int64 {
	for _, f := range s.fields("proc/meminfo") {
		if f.name == "MemTotal" {
			kilobytes, err := strconv.ParseUint(strings.TrimSuffix(f.value, " kB"), 10, 52)
			if err != nil {
				return 0
			}
			return int64(kilobytes << 10)
		}
	}
	return totalMemory()
}

// commit returns the commit that a program was built from, with + at its end if there were changes, and its time.
func commit(info *debug.BuildInfo) (name string, at time.Time) {
	changed := false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			name = s.Value
		case "vcs.time":
			at, _ = time.Parse(time.RFC3339, s.Value)
		case "vcs.modified":
			changed = s.Value == "true"
		}
	}
	if name != "" && changed {
		name += "+"
	}
	return name, at
}
