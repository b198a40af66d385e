//go:build opencl && (amd64 || arm64)

package opencl

import (
	"bytes"
	"encoding/json"
	flags "flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/tensor"
)

var updateKnown = flags.Bool("update-known", false, "tune the shapes of usual models on the device, and write known.json anew")

// TestKnownDevices reads known.json; with -update-known it first tunes the device and adds its results.
func TestKnownDevices(t *testing.T) {
	text, err := os.ReadFile("known.json")
	must(t, err)
	var devices map[string][]tuned
	must(t, json.Unmarshal(text, &devices))
	if *updateKnown {
		b := openTest(t, Options{Cache: t.TempDir()})
		if !b.tuning.tunes() {
			t.Fatalf("%v is not tuned", b.device)
		}
		clear(b.tuning.shipped) // all is tuned anew
		for i := range usualModels {
			for _, d := range []tensor.DType{tensor.Q4_0, tensor.Q8_0, tensor.Q4_K, tensor.F16} {
				t.Run(fmt.Sprint(usualModels[i].name, " ", d), func(t *testing.T) { tuneModel(t, b, i, d) })
			}
		}
		if t.Failed() {
			return
		}
		devices[b.device.Name] = entriesOf(b.tuning.best)
		text = knownText(t, devices)
		must(t, os.WriteFile("known.json", text, 0o666))
	}
	if want := knownText(t, devices); !bytes.Equal(text, want) {
		t.Errorf("known.json is not in the form in which -update-known writes it: %s", want)
	}
	for name, entries := range devices {
		for _, e := range entries {
			if !e.valid() {
				t.Errorf("%s: %+v has a division that no kernel has", name, e)
			}
			if _, ok := resultsOf(entries)[e.shape()]; !ok || e.N*e.K < tunedFrom {
				t.Errorf("%s: %+v is a shape that is not looked up", name, e)
			}
		}
	}
}

// knownText writes results as known.json has them: a line for each.
func knownText(t *testing.T, devices map[string][]tuned) []byte {
	if len(devices) == 0 {
		return []byte("{}\n")
	}
	var names []string
	for name := range devices {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		var lines []string
		for _, e := range devices[name] {
			line, err := json.Marshal(e)
			must(t, err)
			lines = append(lines, "\t\t"+string(line))
		}
		key, err := json.Marshal(name)
		must(t, err)
		names[i] = fmt.Sprintf("\t%s: [\n%s\n\t]", key, strings.Join(lines, ",\n"))
	}
	return []byte("{\n" + strings.Join(names, ",\n") + "\n}\n")
}
