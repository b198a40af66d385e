package sysinfo

import (
	"math"
	"path"
	"slices"
)

// supplies is the folder in which Linux lists batteries and chargers.
const supplies = "sys/class/power_supply/"

// batteries returns the folders of the batteries that the machine runs on. An Android that does not let the folders be listed may still let
// the usual one be read.
func (s *System) batteries() (list []string) {
	kinds := append(s.glob(supplies+"*/type"), supplies+"battery/type")
	for _, kind := range kinds {
		folder := path.Dir(kind)
		if s.text(kind) != "Battery" || s.text(path.Join(folder, "scope")) == "Device" { // a mouse's
			continue
		}
		if !slices.Contains(list, folder) {
			list = append(list, folder)
		}
	}
	return list
}

// battery returns how full the batteries are, in percent, and the power that they give, in watts.
func (s *Sensors) battery() (percent, watts float64) {
	told := 0
	for _, folder := range s.batteries {
		if p, ok := s.system.number(path.Join(folder, "capacity")); ok && p >= 0 && p <= 100 {
			percent, told = percent+p, told+1
		}
		watts += s.system.power(folder)
	}
	return percent / float64(max(told, 1)), watts
}

// power returns the power that a battery gives, in watts; below 0 if it takes some. Files are in millionths of a volt, an ampere and a
// watt. Which sign discharging has differs from maker to maker, so the battery's status decides.
func (s *System) power(folder string) float64 {
	watts, ok := s.number(path.Join(folder, "power_now"))
	watts /= 1e6
	if !ok {
		volts, hasVolts := s.number(path.Join(folder, "voltage_now"))
		amperes, hasAmperes := s.number(path.Join(folder, "current_now"))
		if !hasVolts || !hasAmperes {
			return 0
		}
		watts = inMillionths(volts, 100_000) * inMillionths(amperes, 10_000)
	}
	const most = 1000 // no battery here gives more: the driver's number is nonsense
	switch watts = math.Abs(watts); {
	case watts > most:
		return 0
	case s.text(path.Join(folder, "status")) == "Charging":
		return -watts
	}
	return watts
}

// inMillionths returns what a file gives in millionths. Below least it gives thousandths, as some drivers do: no battery that a device
// runs on has a tenth of a volt, and hardly one gives a hundredth of an ampere while the device computes.
func inMillionths(value, least float64) float64 {
	if math.Abs(value) < least {
		return value / 1e3
	}
	return value / 1e6
}
