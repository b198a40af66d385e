package target

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
)

func TestParseDevices(t *testing.T) {
	text := "* daemon not running; starting now at tcp:5037\n* daemon started successfully\nList of devices attached\n" +
		"0A1B2C                 device usb:1-2 product:panther model:Pixel_7 device:panther transport_id:1\r\n" +
		"192.168.1.5:5555       unauthorized transport_id:2\n" +
		"????????????           no permissions (missing udev rules? user is in the plugdev group); see [http://developer.android.com] usb:1-3\n" +
		"emulator-5554\toffline\n\nalone\n"
	want := []device{{"0A1B2C", "device", "Pixel_7"}, {"192.168.1.5:5555", "unauthorized", ""}, {"????????????", "no permissions", ""},
		{"emulator-5554", "offline", ""}}
	if got := parseDevices(text); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	d, err := choose(want, "")
	if err != nil || d != want[0] {
		t.Errorf("the one that is ready is %v, %v", d, err)
	}
	if _, err := choose(want[1:], ""); err == nil || !strings.Contains(err.Error(), "(unauthorized)") {
		t.Errorf("none is ready: %v", err)
	}
}

func TestParseConditions(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       runs.Condition
	}{
		{"nothing", "", runs.Condition{}},
		{"no services", "battery\nCan't find service: battery\nthermal\nCan't find service: thermalservice\n", runs.Condition{}},
		{"clocks", "1800000\n2400000\nbattery\n  level: 50\n  scale: 200\n", runs.Condition{MHz: 2100, Battery: 25}},
		{"only cached", "battery\nthermal\nCached temperatures:\nTemperature{mValue=25.6, mType=0, mName=AP, mStatus=0}\n", runs.Condition{Celsius: 25.6}},
		{"no processor's", "thermal\nTemperature{mValue=25.6, mType=2, mName=BAT, mStatus=0}\n", runs.Condition{}},
		{"nonsense", "NaN\n-5\n1e300\nbattery\nlevel: -1\nscale: 0\nthermal\nTemperature{mValue=NaN, mType=0}\nTemperature{mType=0\nTemperature{\n",
			runs.Condition{}},
	} {
		if got := parseConditions(c.text); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestMarks cuts a stream at every place and looks whether the same comes through.
func TestMarks(t *testing.T) {
	const prefix = "[AAB:"
	stream := "some[text\n[AAB:started]\nmore [AA[AAB [AAB" + prefix + "7]\r\nend [AAB"
	want := "some[text\nmore [AA[AAB [AABend [AAB"
	for at := range len(stream) + 1 {
		var out bytes.Buffer
		var words []string
		m := &markedStream{out: &out, prefix: prefix, told: func(word string) { words = append(words, word) }}
		m.Write([]byte(stream[:at]))
		m.Write([]byte(stream[at:]))
		m.flush()
		if out.String() != want || !slices.Equal(words, []string{"started", "7"}) {
			t.Fatalf("cut at %d: %q and %q", at, &out, words)
		}
	}
	var out bytes.Buffer
	m := &markedStream{out: &out, prefix: prefix, told: func(word string) { t.Error(word) }}
	long := prefix + strings.Repeat("x", 1000)
	for _, b := range []byte(long) {
		m.Write([]byte{b})
	}
	if out.String() != long || len(m.held) > 0 {
		t.Errorf("a mark without an end holds %d bytes back", len(m.held))
	}
}

func TestQuote(t *testing.T) {
	for from, want := range map[string]string{"": "''", "/a/b-c.d": "/a/b-c.d", "a b": "'a b'", "it's": `'it'\''s'`, "~": "'~'", "日": "'日'"} {
		if got := quote(from); got != want {
			t.Errorf("%q is quoted %s, want %s", from, got, want)
		}
	}
}
