package sysinfo

import (
	"fmt"
	"slices"
	"strings"
)

// processor returns the processor's name: as it calls itself, or else as Linux calls it. Processors of ARM have no name. There it is the
// system on a chip or the board that Android or the device tree names, and which kinds of cores it has.
func (s *System) processor() string {
	if s.brand != "" {
		return s.brand
	}
	info := s.fields("proc/cpuinfo")
	for _, f := range info {
		if f.name == "model name" {
			return f.value
		}
	}
	chip, cores := s.chip(info), coreNames(info)
	switch {
	case chip == "":
		return cores
	case cores == "":
		return chip
	}
	return chip + " (" + cores + ")"
}

// chip names the system on a chip, or the board that it is soldered to.
func (s *System) chip(info []field) string {
	if model := s.property("ro.soc.model"); model != "" {
		return joined(s.property("ro.soc.manufacturer"), model)
	}
	for _, path := range []string{"proc/device-tree/model", "sys/firmware/devicetree/base/model"} {
		if model := s.text(path); model != "" {
			return model
		}
	}
	if i := slices.IndexFunc(info, func(f field) bool { return f.name == "Hardware" }); i >= 0 { // of older Android kernels
		return info[i].value
	}
	return s.text("sys/devices/soc0/machine")
}

// coreNames counts the cores of each kind: "4× Cortex-A55, 3× Cortex-A78, 1× Cortex-X1".
func coreNames(info []field) string {
	type kind struct {
		name  string
		cores int
	}
	var kinds []kind
	implementer := ""
	for _, f := range info {
		switch f.name {
		case "CPU implementer":
			implementer = strings.ToLower(f.value)
		case "CPU part":
			name := coreName(implementer, strings.ToLower(f.value))
			i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
			if i < 0 {
				i, kinds = len(kinds), append(kinds, kind{name, 0})
			}
			kinds[i].cores++
		}
	}
	var list []string
	for _, k := range kinds {
		list = append(list, fmt.Sprintf("%d× %s", k.cores, k.name))
	}
	return strings.Join(list, ", ")
}

// coreName names a core by what its identification register says.
func coreName(implementer, part string) string {
	if implementer == "0x41" {
		for _, c := range armCores() {
			if c.part == part {
				return c.name
			}
		}
	}
	return implementer + ":" + part
}

type armCore struct{ part, name string }

// armCores lists the part numbers of cores that ARM designed, as the technical reference manuals give them.
func armCores() []armCore {
	return []armCore{
		{"0xd03", "Cortex-A53"}, {"0xd04", "Cortex-A35"}, {"0xd05", "Cortex-A55"}, {"0xd07", "Cortex-A57"}, {"0xd08", "Cortex-A72"},
		{"0xd09", "Cortex-A73"}, {"0xd0a", "Cortex-A75"}, {"0xd0b", "Cortex-A76"}, {"0xd0c", "Neoverse-N1"}, {"0xd0d", "Cortex-A77"},
		{"0xd40", "Neoverse-V1"}, {"0xd41", "Cortex-A78"}, {"0xd44", "Cortex-X1"}, {"0xd46", "Cortex-A510"}, {"0xd47", "Cortex-A710"},
		{"0xd48", "Cortex-X2"}, {"0xd49", "Neoverse-N2"}, {"0xd4b", "Cortex-A78C"}, {"0xd4d", "Cortex-A715"}, {"0xd4e", "Cortex-X3"},
		{"0xd4f", "Neoverse-V2"}, {"0xd80", "Cortex-A520"}, {"0xd81", "Cortex-A720"}, {"0xd82", "Cortex-X4"}, {"0xd85", "Cortex-X925"},
		{"0xd87", "Cortex-A725"},
	}
}
