//go:build linux

// Package devicetest stands in for the programs adb and ssh and for the devices behind them, so that targets are tested without a device. A
// folder is the device's file system, this machine's shell is the device's, and faults come on demand.
package devicetest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Variable is the environment variable that names a device's file for ADB and SSH.
const Variable = "ANTIGRAVITY_TEST_DEVICE"

// Device is a device that is plugged in, with what goes wrong with it.
type Device struct {
	Folder string // its file system; programs see the paths of this machine, and may write under data
	Serial string
	Model  string
	ABI    string // of its processor, in Android's words
	Exec   string // what runs its programs: a path of qemu-aarch64-static, perhaps with options; "": this machine runs them itself

	Shell       string   // its shell; "": this machine's /bin/sh
	State       string   // of the connection, in adb's words; "": device. With ssh: what ssh says instead of connecting
	Others      []string // serials of further devices that are ready
	Gone        bool     // it is not plugged in
	Old         bool     // its shell is one of before Android 7: no statuses, one stream for all output, ends of lines changed
	Quota       int64    // bytes that fit under data; 0: what this machine has
	UnplugAfter int64    // bytes pushed or written by programs after which it is unplugged; 0: it stays
	Hang        string   // the command of adb that never ends, or "ssh"
	KillsAll    bool     // it kills every program as soon as it starts
}

// shell returns the device's shell.
func (d *Device) shell() string { return cmp.Or(d.Shell, "/bin/sh") }

// Data is the folder in which programs may write.
func (d *Device) Data() string { return filepath.Join(d.Folder, "data") }

// Save writes the device to a file, for Variable to name, and makes its file system.
func (d *Device) Save(file string) error {
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}
	bin := filepath.Join(d.Folder, "bin")
	err = errors.Join(os.MkdirAll(bin, 0o777), os.MkdirAll(filepath.Join(d.Data(), "local", "tmp"), 0o777), os.WriteFile(file, text, 0o666))
	for name, script := range d.programs() {
		err = errors.Join(err, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script), 0o777))
	}
	return err
}

// programs are those of its system that are not this machine's.
func (d *Device) programs() map[string]string {
	list := map[string]string{
		"getprop": fmt.Sprintf("case $1 in\nro.product.cpu.abi) echo '%s';;\nro.product.model) echo '%s';;\nesac\n", d.ABI, d.Model),
		"dumpsys": "case $1 in\nbattery) cat <<'-'\n" + battery + "-\n;;\nthermalservice) cat <<'-'\n" + thermal + "-\n;;\nesac\n",
	}
	if d.Quota > 0 {
		list["df"] = fmt.Sprintf("u=$(du -sk %s | cut -f1)\necho 'Filesystem 1024-blocks Used Available Capacity Mounted on'\n"+
			"echo /dev/block/dm-9 %d $u $((%[2]d - u)) 5%% /data\n", quote(d.Data()), d.Quota>>10)
	}
	switch {
	case d.KillsAll:
		list["setsid"] = "kill -9 $$\n"
	case d.Exec != "":
		list["setsid"] = "exec /usr/bin/setsid " + d.Exec + " \"$@\"\n"
	}
	return list
}

// quote writes a path as a word of a shell.
func quote(path string) string { return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" }

// load reads the device of the environment.
func load() (*Device, string, error) {
	file := os.Getenv(Variable)
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, "", fmt.Errorf("%s names no device: %w", Variable, err)
	}
	d := new(Device)
	return d, file, json.Unmarshal(text, d)
}

// holds reports whether a path is one that programs may write to.
func (d *Device) holds(path string) bool {
	return strings.HasPrefix(filepath.Clean(path), d.Data()+string(filepath.Separator))
}

// used returns how many bytes lie under data.
func (d *Device) used() (bytes int64) {
	filepath.WalkDir(d.Data(), func(_ string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			if info, err := entry.Info(); err == nil {
				bytes += info.Size()
			}
		}
		return nil
	})
	return bytes
}

const battery = `Current Battery Service state:
  AC powered: false
  USB powered: true
  Charge counter: 3412000
  status: 2
  level: 87
  scale: 100
  voltage: 4213
  temperature: 271
  technology: Li-ion
`

const thermal = `IsStatusOverride: false
Thermal Status: 0
Cached temperatures:
	Temperature{mValue=51.0, mType=0, mName=CPU7, mStatus=0}
HAL Ready: true
Current temperatures from HAL:
	Temperature{mValue=38.5, mType=0, mName=CPU0, mStatus=0}
	Temperature{mValue=41.25, mType=0, mName=CPU7, mStatus=0}
	Temperature{mValue=60.0, mType=3, mName=skin, mStatus=0}
`
