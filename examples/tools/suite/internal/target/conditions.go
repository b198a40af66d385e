package target

import (
	"strconv"
	"strings"

	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
)

// conditionsScript asks Android for what parseConditions reads. A service that a device lacks says so in a line that is no value.
const conditionsScript = `cat /sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq 2>/dev/null
echo battery
dumpsys battery
echo thermal
dumpsys thermalservice
:`

// typeCPU is what Android's thermal service calls the sensors of processors.
const typeCPU = "0"

// parseConditions reads clocks in kHz, the battery's service, and the service of temperatures. Whatever else is there is passed over.
func parseConditions(text string) (c runs.Condition) {
	section, now := "clock", false
	clocks, level, scale, cached := []float64(nil), 0.0, 100.0, 0.0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "battery" || line == "thermal" {
			section = line
			continue
		}
		switch section {
		case "clock":
			if kHz, ok := within(line, 1, 1e8); ok {
				clocks = append(clocks, kHz)
			}
		case "battery":
			key, value, _ := strings.Cut(line, ":")
			if v, ok := within(value, 1, 1e6); ok && key == "level" {
				level = v
			} else if ok && key == "scale" {
				scale = v
			}
		case "thermal":
			if strings.HasPrefix(line, "Current temperatures") {
				now = true
				continue
			}
			celsius, ok := processorTemperature(line)
			switch {
			case ok && now:
				c.Celsius = max(c.Celsius, celsius)
			case ok:
				cached = max(cached, celsius)
			}
		}
	}
	for _, kHz := range clocks {
		c.MHz += kHz / 1e3 / float64(len(clocks))
	}
	c.Battery = min(100*level/scale, 100)
	if c.Celsius == 0 {
		c.Celsius = cached
	}
	return c
}

// processorTemperature reads a line such as Temperature{mValue=38.2, mType=0, mName=CPU0, mStatus=0}.
func processorTemperature(line string) (celsius float64, ok bool) {
	inside, ok := strings.CutPrefix(line, "Temperature{")
	if !ok {
		return 0, false
	}
	values := map[string]string{}
	for field := range strings.SplitSeq(strings.TrimSuffix(inside, "}"), ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		values[key] = value
	}
	celsius, ok = within(values["mValue"], 0.1, 200)
	return celsius, ok && values["mType"] == typeCPU
}

// within reads a number that makes sense only between two others.
func within(text string, low, high float64) (float64, bool) {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return v, err == nil && v >= low && v <= high
}
