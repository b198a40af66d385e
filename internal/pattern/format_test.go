package pattern_test

import (
	"encoding/json"
	"math/rand/v2"
	"net/mail"
	"net/netip"
	"net/url"
	"regexp/syntax"
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/internal/jsonexpr"
	"github.com/antigravity-go/antigravity/internal/pattern"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// Cases like those of the JSON Schema test suite (optional/format). Cases that fail on purpose are marked.
func TestFormats(t *testing.T) {
	long := strings.Repeat("a", 63)
	for _, c := range []struct {
		format   string
		yes, not []string
	}{
		{"date", []string{"1963-06-19", "2020-02-29", "2000-02-29", "0001-01-01"}, []string{"2020-02-30", "2021-02-29", "2100-02-29", "2020-13-01", "2020-04-31", "1998-1-20", "0000-01-01", "2020-01-01\n", "1963-06-1৪"}},
		{"time", []string{"08:30:06Z", "08:30:06.283185-08:00", "23:59:60Z", "23:59:60.5z", "01:29:60+01:30", "15:59:60-08:00", "23:29:60+23:30"},
			[]string{"08:30:06", "24:00:00Z", "22:59:60Z", "23:58:60Z", "23:59:60+01:00", "23:59:60-00:30", "08:30:06+24:00", "08:30:61Z", "8:30:06Z", "08:30:06.Z"}},
		{"date-time", []string{"1963-06-19T08:30:06.283185Z", "1963-06-19t08:30:06z", "1998-12-31T23:59:60Z", "1998-12-31T15:59:60.123-08:00", "1999-01-01T00:59:60+01:00"},
			[]string{"1990-02-31T15:59:59Z", "1998-12-31T23:58:60Z", "1998-12-30T23:59:60Z", "1998-12-31T00:59:60+01:00", "2013-350T01:01:01Z", "1963-06-19 08:30:06Z", "2022-01-01T12:00:00"}},
		{"duration", []string{"P4DT12H30M5S", "P1Y2M3D", "PT0S", "P2W", "P1M2D"}, []string{"P", "PT", "P1YT", "PT1D", "P2D1Y", "P1Y2D", "PT1H2S", "P1Y2W", "PT0.5S"}},
		{"email", []string{"joe.bloggs@example.com", "te~st@example.com", `"joe bloggs"@example.com`, "joe@[127.0.0.1]", "joe@[IPv6:::1]", long + "a@example.com", long + "a@" + long + "." + long + "." + long[:57] + ".de"},
			[]string{"2962", ".a@example.com", "a.@example.com", "a..b@example.com", "a@example", "a@-b.com", "a b@example.com", "@example.com", long + "ab@example.com", "a@b@example.com", "joe@[127.0.0.300]", long + "a@" + long + "." + long + "." + long[:59] + ".de"}},
		{"idn-email", []string{"실례@실례.테스트", "user@café.com", "joe@example.com"}, []string{"user＠example.com", "2962", "실례.테스트", long + "a@" + long + "." + long + "." + long[:59] + ".de"}},
		{"hostname", []string{"www.example.com", "a", "1host", "a--b.com", "ab-c--d.e", long + ".com"},
			[]string{"", "-a", "a-", "a_b", "a.", ".a", "a..b", "1.2.3.4", long + "a.com", "xn--X", "ab--c", long + "." + long + "." + long + "." + long, "\u212Aelvin.com", "localhost:80"}},
		{"idn-hostname", []string{"실례.테스트", "hostname", "παράδειγμα.com", "日本.jp"}, []string{"〮실례.테스트", "-日", "日-", "日本--語.jp", "def・abc", "0ا", "a·l", "Ａ.com", "日本語日本語日本語日本語日本語"}},
		{"ipv4", []string{"192.168.0.1", "0.0.0.0", "255.255.255.255"}, []string{"256.0.0.1", "1.2.3", "01.2.3.4", "1.2.3.4.5", "0x7f.0.0.1"}},
		{"ipv6", []string{"::", "::1", "1:2:3:4:5:6:7:8", "1::d6:192.168.0.1", "1:2:3:4:5:6:7::", "1:2:3:4:5:6:1.2.3.4"}, []string{"1:2:3:4:5:6:7", ":1:2:3:4:5:6:7:8", "1::2::3", "12345::", "1:2:3:4:5:6:7::8", "::256.1.1.1", "fe80::a%eth1", ":::"}},
		{"uri", []string{"http://foo.bar/?baz=qux#quux", "urn:a:b", "mailto:a@b.c", "ldap://[2001:db8::7]/c=GB?o", "http://[v1.a]/", "file:///a", "http://-.~_!$&'()*+,;=:%40:80%2f@e.com:8"},
			[]string{"//foo", "abc", "http://a b", "http://a/%6G", "1a:b", "http://e.com:abc/", "https://[@a/", "http://é/", "a\\b:c", "http://a/<>", "http:/[::1]", ""}},
		{"uri-reference", []string{"", "/abc", "abc", "#a", "?q", "//a:1/b", "./a:b", "http://a"}, []string{"#a#b", "\\a", "/é", "/%zz", "1:b", "//a@b@c/"}},
		{"iri", []string{"http://ƒøø.ßår/?∂éœ=πîx#πîüx", "http://a/?q=\U000F0000"}, []string{"âππ", "http://a/\U000F0000", "http://a/\n", "http://2001:0db8::1"}},
		{"iri-reference", []string{"âππ", "#ƒrägmênt"}, []string{"#ƒräg\\mênt"}},
		{"uri-template", []string{"http://a/{term:1}/{+x,y*}{?a.b}", "a%41b", "{%41}", "a😀'"}, []string{"{", "{}", "{a,,b}", "{v:0}", "{v:10000}", "a}", "a b", "{a..b}", "%4"}},
		{"uuid", []string{"2eb8aa08-AA98-11ea-B4Aa-73B441D16380"}, []string{"2eb8aa08aa9811eab4aa73b441d16380", "2eb8aa08-aa98-11ea-b4aa-73b441d1638", "2eb8aa08-aa98-11ea-b4ga-73b441d16380"}},
		{"json-pointer", []string{"", "/", "/a~0b/~1/\"\\é", "/foo//bar"}, []string{"a", "#", "/~", "/~2"}},
		{"relative-json-pointer", []string{"1", "0/foo", "2#"}, []string{"", "/a", "01/a", "-1", "0##", "1#/a"}},
		{"regex", []string{"^[a-zA-Z0-9_]{3,16}$", "^value1|value2$", `(\d+\.)*[^/]+`, ""}, []string{"*", "\\", "[", "(", "a)", "a{2,1}", "[z-a]"}},
	} {
		r := jsonexpr.New().Arena
		e, ok := pattern.Format(r, pattern.JSON, c.format)
		if !ok {
			t.Errorf("%s is unknown", c.format)
			continue
		}
		for _, text := range c.yes {
			if !r.Matches(e, jsonexpr.Body(text)) {
				t.Errorf("%s refuses %q", c.format, text)
			}
		}
		for _, text := range c.not {
			if r.Matches(e, jsonexpr.Body(text)) {
				t.Errorf("%s accepts %q", c.format, text)
			}
		}
		if r.Err() != nil {
			t.Errorf("%s: %v", c.format, r.Err())
		}
	}
	if _, ok := pattern.Format(regular.New(), pattern.JSON, "color"); ok {
		t.Error("color is a format")
	}
}

// sample returns a random string of e, or one that begins so.
func sample(r *regular.Arena, e regular.Expr, rng *rand.Rand) (text string, whole bool) {
	var out, bytes []byte
	for len(out) < 300 {
		bytes = r.First(e).Bytes(bytes[:0])
		if len(bytes) == 0 || r.Nullable(e) && rng.IntN(8) == 0 {
			return string(out), r.Nullable(e)
		}
		b := bytes[rng.IntN(len(bytes))]
		out = append(out, b)
		e = r.Next(e, b)
	}
	return string(out), r.Nullable(e)
}

// Strings that are drawn from a format are what other implementations of its RFC take.
func TestFormatsAreSound(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for format, takes := range map[string]func(string) error{
		"date-time": func(s string) error {
			s = strings.ToUpper(s)
			if s[17:19] == "60" { // package time has no leap seconds
				s = s[:17] + "59" + s[19:]
				at, err := time.Parse(time.RFC3339Nano, s)
				if u := at.UTC(); err == nil && (u.Hour() != 23 || u.Minute() != 59 || u.AddDate(0, 0, 1).Day() != 1) {
					t.Errorf("%s is no time of a leap second", s)
				}
				return err
			}
			_, err := time.Parse(time.RFC3339Nano, s)
			return err
		},
		"date":  func(s string) error { _, err := time.Parse(time.DateOnly, s); return err },
		"ipv4":  func(s string) error { _, err := netip.ParseAddr(s); return err },
		"ipv6":  func(s string) error { _, err := netip.ParseAddr(s); return err },
		"email": func(s string) error { _, err := mail.ParseAddress(s); return err },
		"uri-reference": func(s string) error {
			if strings.Contains(s, "[") || strings.Contains(s, "%") { // which package url has its own mind about in hosts
				return nil
			}
			_, err := url.Parse(strings.NewReplacer("//:", "//").Replace(s))
			if err != nil && (strings.Contains(err.Error(), "invalid port") || strings.Contains(err.Error(), "userinfo")) {
				return nil
			}
			return err
		},
		"regex": func(s string) error {
			_, err := syntax.Parse(strings.ReplaceAll(s, `\u`, `\x00`), syntax.Perl)
			if err != nil && strings.Contains(err.Error(), "repeat") || strings.Contains(s, `\/`) {
				return nil
			}
			return err
		},
	} {
		r := jsonexpr.New().Arena
		e, _ := pattern.Format(r, pattern.JSON, format)
		took := 0
		for range 400 {
			body, whole := sample(r, e, rng)
			var text string
			if err := json.Unmarshal([]byte(`"`+body+`"`), &text); !whole || err != nil {
				continue
			}
			took++
			if err := takes(text); err != nil {
				t.Errorf("%s %q: %v", format, text, err)
			}
		}
		if took < 50 {
			t.Errorf("%s: only %d strings were drawn", format, took)
		}
	}
}

// A longest string of a format has as many characters as Longest says, and with one more it is not of the format.
func TestLongest(t *testing.T) {
	label := strings.Repeat("a", 63)
	domain := label + "." + label + "." + label[:61]
	for format, longest := range map[string]string{
		"email": label + "b@" + domain, "idn-email": label + "b@" + domain, "hostname": domain + "." + label, "idn-hostname": domain + "." + label,
		"ipv4": "255.255.255.255", "ipv6": strings.Repeat("ffff:", 6) + "255.255.255.255", "uuid": "01234567-89ab-cdef-0123-456789abcdef",
		"date": "2024-02-29", "time": "23:59:59.123456789+23:59", "date-time": "2024-02-29T23:59:59.123456789+23:59",
	} {
		r := regular.New()
		e, _ := pattern.Format(r, pattern.Raw, format)
		if len(longest) != pattern.Longest(format) || !r.Matches(e, longest) {
			t.Errorf("%s: %s has %d characters, the longest string %d", format, longest, len(longest), pattern.Longest(format))
		}
		for at := range len(longest) + 1 {
			for _, c := range ".-0fZ" {
				if more := longest[:at] + string(c) + longest[at:]; r.Matches(e, more) {
					t.Errorf("%s: %s", format, more)
				}
			}
		}
		if r.Err() != nil {
			t.Errorf("%s: %v", format, r.Err())
		}
	}
}
