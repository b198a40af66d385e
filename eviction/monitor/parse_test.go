package monitor

import (
	"math"
	"path"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"0":                       0,
		"max":                     math.MaxInt64,
		"536870912":               536870912,
		"9223372036854771712":     9223372036854771712,
		"9223372036854775807":     math.MaxInt64,
		"9223372036854775808":     math.MaxInt64,
		"18446744073709551615":    math.MaxInt64,
		"99999999999999999999990": math.MaxInt64,
		"":                        -1,
		"-1":                      -1,
		"1 ":                      -1,
		"0x10":                    -1,
		"maximum":                 -1,
	} {
		n, ok := parseSize([]byte(text))
		if ok != (want >= 0) || ok && n != want {
			t.Errorf("%q: %d, %v; want %d", text, n, ok, want)
		}
	}
}

func TestMountDirs(t *testing.T) {
	for _, c := range []struct {
		name, root, point, group string
		want                     []string
	}{
		{"whole hierarchy", "/", "/c", "/a/b", []string{"/c/a/b", "/c/a", "/c"}},
		{"the group itself is mounted", "/a/b", "/c", "/a/b", []string{"/c"}},
		{"a group below the mounted one", "/a", "/c", "/a/b", []string{"/c/b", "/c"}},
		{"root of the hierarchy", "/", "/c", "/", []string{"/c"}},
		{"namesake", "/a", "/c", "/ab", []string{"/c"}},
		{"other branch", "/x", "/c", "/a/b", []string{"/c"}},
		{"outside of the namespace", "/", "/c", "/../a", []string{"/c"}},
		{"mounted by the parent of the namespace", "/../..", "/c", "/a", []string{"/c"}},
		{"no way out", "/", "/c", "/a/../../../etc", []string{"/c/etc", "/c"}},
		{"mounted at the root", "/", "/", "/a", []string{"/a", "/"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := (mount{cgroup2, c.root, c.point}).dirs(c.group); !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// The first mount that shows the group is taken, whatever is mounted elsewhere.
func TestMountOf(t *testing.T) {
	mounts := []mount{{cgroup1, "/", "/v1"}, {cgroup2, "/other", "/bind"}, {cgroup2, "/", "/all"}}
	for _, c := range []struct {
		member membership
		want   string
	}{
		{membership{cgroup2, "/a"}, "/all"},
		{membership{cgroup2, "/other/a"}, "/bind"},
		{membership{cgroup2, "/../a"}, "/bind"},
		{membership{cgroup1, "/a"}, "/v1"},
	} {
		if m, ok := mountOf(c.member, mounts); !ok || m.point != c.want {
			t.Errorf("%s: %q, %v; want %q", c.member.path, m.point, ok, c.want)
		}
	}
	if m, ok := mountOf(membership{cgroup1, "/a"}, mounts[1:]); ok {
		t.Errorf("version 1 is not mounted, got %q", m.point)
	}
}

func FuzzParseMemAvailable(f *testing.F) {
	f.Add([]byte("MemTotal: 10 kB\nMemAvailable:    9437184 kB\n"))
	f.Add([]byte("MemAvailable: 99999999999999999999 kB\n"))
	f.Add([]byte("MemAvailable: 12"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if n, err := parseMemAvailable(b); n < 0 || err != nil && n != 0 {
			t.Errorf("%d, %v", n, err)
		}
	})
}

func FuzzParseStall(f *testing.F) {
	f.Add([]byte("some avg10=0.12 avg60=0.05 avg300=0.00 total=4250172\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n"))
	f.Add([]byte("some total=18446744073709551615\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := parseStall(b)
		if d < 0 || err != nil && d != 0 {
			t.Errorf("%v, %v", d, err)
		}
		var g stallGauge
		g.update(time.Now(), d)
	})
}

func FuzzSizeIn(f *testing.F) {
	f.Add([]byte("anon 1\ninactive_file 4096\n"), cgroup2.inactive)
	f.Add([]byte("total_inactive_file max\n"), cgroup1.inactive)
	f.Add([]byte("\n\n"), "")
	f.Fuzz(func(t *testing.T, b []byte, word string) {
		if n, err := sizeIn(b, word); n < 0 || err != nil && n != 0 {
			t.Errorf("%d, %v", n, err)
		}
	})
}

// Whatever /proc says, the directories lie at or under the mount point.
func FuzzMemberships(f *testing.F) {
	f.Add("0::/a/b", "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw")
	f.Add("4:cpu,memory:/docker/1f2e", `35 31 0:32 /docker/1f2e /mnt/a\040b rw - cgroup cgroup rw,memory`)
	f.Add("0::/../../x", `1 2 0:1 /.. /c\134\777\0 rw - cgroup2 c rw`)
	f.Fuzz(func(t *testing.T, member, mounted string) {
		m, ok := parseMembership(member)
		mt, mounts := parseMount(mounted)
		if !ok || !mounts || len(m.path) > 4096 {
			return
		}
		for _, dir := range mt.dirs(m.path) {
			if path.Clean(dir) != dir || dir != mt.point && !strings.HasPrefix(dir, strings.TrimSuffix(mt.point, "/")+"/") {
				t.Errorf("group %q of mount %q at %q: %q", m.path, mt.root, mt.point, dir)
			}
		}
	})
}
