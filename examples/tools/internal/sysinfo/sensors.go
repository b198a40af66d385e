package sysinfo

import (
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
)

// Sensors measure how a machine fares: its clocks, its temperature, its battery. They are for one goroutine at a time.
type Sensors struct {
	system       *System
	clocks       []string // files with a processor's clock in kHz
	temperatures []string // files with a temperature
	batteries    []string // folders
}

// Sensors finds out which sensors the machine has, so that asking them later takes little. On a phone there are dozens; only those of
// processors are asked.
func (s *System) Sensors() *Sensors {
	return &Sensors{s, s.glob(cpufreq + "scaling_cur_freq"), s.thermometers(), s.batteries()}
}

// Condition asks the sensors. The Condition's time is not set.
func (s *Sensors) Condition() (c runs.Condition) {
	c.MHz = s.clock()
	for _, path := range s.temperatures {
		c.Celsius = max(c.Celsius, s.system.celsius(path))
	}
	c.Battery, c.Watts = s.battery()
	return c
}

// clock returns the mean of the processors' clocks in MHz, 0 if no processor reports one.
func (s *Sensors) clock() float64 {
	sum, n := 0.0, 0
	for _, path := range s.clocks {
		if khz, ok := s.system.number(path); ok && khz > 0 { // a processor that is off has no clock
			sum, n = sum+khz/1e3, n+1
		}
	}
	if n == 0 {
		for _, f := range s.system.fields("proc/cpuinfo") {
			if mhz, err := strconv.ParseFloat(f.value, 64); f.name == "cpu MHz" && err == nil && mhz > 0 && !math.IsInf(mhz, 0) {
				sum, n = sum+mhz, n+1
			}
		}
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

// processorSensors are patterns of the names that makers give to sensors of processors: to thermal zones, and, as drivers, in hwmon. The
// zone soc of some phones does not match: it is the battery's state of charge.
var processorSensors = [...]string{
	"*cpu*", "*cluster*", "soc[-_]*", "x86_pkg*", "*tsens*", "big", "mid", "little", "coretemp", "k10temp", "zenpower",
}

// ofProcessor reports whether a sensor with this name is a processor's.
func ofProcessor(name string) bool {
	return slices.ContainsFunc(processorSensors[:], func(pattern string) bool {
		matched, _ := path.Match(pattern, strings.ToLower(name))
		return matched
	})
}

// thermometers returns the files with processors' temperatures: of thermal zones or else of hwmon. If there are no such files, the zone of
// the computer's firmware has to do.
func (s *System) thermometers() (list []string) {
	var firmware []string
	for _, kind := range s.glob("sys/class/thermal/thermal_zone*/type") {
		name, file := s.text(kind), path.Join(path.Dir(kind), "temp")
		switch {
		case s.celsius(file) == 0: // hidden, or switched off
		case ofProcessor(name):
			list = append(list, file)
		case name == "acpitz":
			firmware = append(firmware, file)
		}
	}
	if len(list) > 0 {
		return list
	}
	for _, name := range s.glob("sys/class/hwmon/hwmon*/name") {
		if ofProcessor(s.text(name)) {
			list = append(list, s.glob(path.Join(path.Dir(name), "temp*_input"))...)
		}
	}
	if len(list) > 0 {
		return list
	}
	return firmware
}

// celsius reads a temperature; 0: the sensor reports nothing. The unit is a thousandth of a degree, but some makers' drivers count tenths,
// or whole degrees.
func (s *System) celsius(path string) float64 {
	const lowest, highest = 1, 150 // a processor is not colder, nor hotter
	t, _ := s.number(path)
	for _, unit := range [...]float64{1, 10, 1000} {
		if t/unit >= lowest && t/unit <= highest {
			return t / unit
		}
	}
	return 0
}
