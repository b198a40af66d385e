package pattern

import (
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/antigravity-go/antigravity/internal/regular"
)

// A format is a pattern that follows its RFC. The pattern is put together from constants of its parts, is parsed when the format is first
// used, and is compiled for each arena. For example,
//
//	format      has                            has not
//	ipv4        192.168.0.1                    256.1.1.1, 01.2.3.4
//	date        2024-02-29                     2023-02-29, 0000-01-01
//	time        23:59:60Z, 00:59:60+01:00      22:59:60Z: leap seconds are at the end of a day of UTC
//	hostname    a-b.example                    -a.example, 1.2.3.4

// Format returns the strings of a format of JSON Schema, in an alphabet. The bool reports whether the format is known.
//
// The format's RFC allows all of these strings. Some strings that it allows are missing, because the whole would not be regular or is of
// little use: each format's comment names them. No number in a format has more than nine digits, so that a model ends it.
func Format(r *regular.Arena, a Alphabet, name string) (regular.Expr, bool) {
	parse, ok := formats()[name]
	if !ok {
		return regular.None, false
	}
	f := parse()
	e, err := newCompiler(r, a, f.source, f.tree).whole(f.tree)
	if err != nil { // the arena is full, as its Err says
		return regular.None, true
	}
	return e, true
}

// Longest returns how many characters the longest strings of a format have; math.MaxInt for a format without longest strings, or one that
// is not known. A greatest length that is no smaller says nothing, but would multiply the states of the format's automaton.
func Longest(name string) int {
	switch name {
	case "email", "idn-email":
		return 254
	case "hostname", "idn-hostname":
		return 253
	case "ipv4":
		return 15
	case "ipv6":
		return 45
	case "uuid":
		return 36
	case "date":
		return 10
	case "time":
		return 24
	case "date-time":
		return 35
	}
	return math.MaxInt
}

// format is a pattern and its tree.
type format struct {
	source string
	tree   *node
}

// formats are the formats by name. Each is parsed once, when it is asked for.
var formats = sync.OnceValue(func() map[string]func() format {
	all := map[string]func() format{}
	for name, source := range formatPatterns() {
		all[name] = sync.OnceValue(func() format {
			tree, err := (&ecma{source: source}).parse()
			if err != nil {
				tree = choice(nil) // a test makes sure that there is no error
			}
			return format{source, tree}
		})
	}
	return all
})

// formatPatterns returns patterns that must match as a whole.
func formatPatterns() map[string]string {
	return map[string]string{
		// RFC 3339, without the year 0000. A leap second is one at the end of June or December, UTC; its offset is one of whole
		// hours, or 30 minutes more.
		"date": date,
		"time": clock + offset + `|` + leapSeconds('-') + `|` + leapSeconds('+'),
		"date-time": date + `[Tt]` + clock + offset +
			`|` + year + `-(?:06-30|12-31)[Tt](?:` + leapSeconds('-') + `)` +
			`|` + year + `-(?:07-01|01-01)[Tt](?:` + leapSeconds('+') + `)`,
		// RFC 3339, appendix A.
		"duration": `P(?:` + count + `W|(?:` + count + `Y(?:` + count + `M(?:` + count + `D)?)?|` + count + `M(?:` + count + `D)?|` + count + `D)(?:` +
			durationTime + `)?|` + durationTime + `)`,

		// RFC 5321, with two labels or more in a domain and no backslashes in a quoted local part. An address has at most 254 characters,
		// 64 of them before the @: 189 are left for the domain.
		"email": `(?:` + localPart + `)@(?:(?=[-.0-9A-Za-z]{1,189}$)(?:` + label + `\.)+` + lastLabel + `|\[` + ipv4 + `\]|\[IPv6:` + ipv6 + `\])`,
		// RFC 6531, as far as email and idn-hostname go.
		"idn-email": `(?:` + localPart + `|(?=[^@]{1,16}@)` + idnAtom + `(?:\.` + idnAtom + `)*|"[^"\\\0-\x1f\x7f]{0,15}")@(?:(?=[-.0-9A-Za-z]{1,189}$)(?:` + label + `\.)+` +
			lastLabel + `|(?:` + idnLabel + `\.){1,2}` + idnLabel + `)`,

		// RFC 1123, without labels that have hyphens in their third and fourth places (those that begin with xn-- are encoded, and not all
		// are valid), and without names with a number as their last label.
		"hostname": `(?=[-.0-9A-Za-z]{1,253}$)(?:` + label + `\.)*` + lastLabel,
		// RFC 5890, with letters of Latin, Greek, Cyrillic, Hangul, kana and Han scripts that need no context; labels with
		// characters beyond ASCII are of at most 11 characters, so that they are encoded in at most 63, and at most three.
		"idn-hostname": `(?=[-.0-9A-Za-z]{1,253}$)(?:` + label + `\.)*` + lastLabel + `|(?:` + idnLabel + `\.){0,2}` + idnLabel,

		"ipv4": ipv4, // RFC 2673, section 3.2
		"ipv6": ipv6, // RFC 4291, section 2.2

		// RFC 3986 and 3987.
		"uri":           uri(scheme, asciiURI),
		"uri-reference": uri(scheme, asciiURI) + `|` + uri("", asciiURI),
		"iri":           uri(scheme, unicodeURI),
		"iri-reference": uri(scheme, unicodeURI) + `|` + uri("", unicodeURI),
		// RFC 6570, without the operators that it reserves.
		"uri-template": `(?:[!#$&-;=?-\[\]_a-z~` + ucs + private + `]|` + percent + `|\{[+#./;?&]?` + variable + `(?:,` + variable + `)*\})*`,

		"uuid": `[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}`, // RFC 4122

		"json-pointer":          pointer,                                   // RFC 6901
		"relative-json-pointer": `(?:0|[1-9]\d{0,8})(?:#|` + pointer + `)`, // draft-handrews-relative-json-pointer-01

		// ECMA-262, with groups at most three deep, and with those escapes, ranges and quantifiers only that are right anywhere.
		"regex": regexes(3),
	}
}

const (
	year  = `(?:[1-9]\d{3}|0(?:[1-9]\d\d|0(?:[1-9]\d|0[1-9])))`
	fours = `(?:0[48]|[2468][048]|[13579][26])` // from 04 on, what four divides
	date  = `(?:` + year + `-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8]))|` +
		`(?:\d\d` + fours + `|` + fours + `00)-02-29)`
	clock    = `(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d`
	fraction = `(?:\.\d{1,9})?`
	offset   = fraction + `(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)`

	count        = `\d{1,9}`
	durationTime = `T(?:` + count + `H(?:` + count + `M(?:` + count + `S)?)?|` + count + `M(?:` + count + `S)?|` + count + `S)`

	label     = `[0-9A-Za-z](?:[0-9A-Za-z]|[0-9A-Za-z-](?:[0-9A-Za-z]|[0-9A-Za-z]{2}|-[0-9A-Za-z]|(?:[0-9A-Za-z][0-9A-Za-z-]|-[0-9A-Za-z])[0-9A-Za-z-]{0,58}[0-9A-Za-z]))?`
	lastLabel = `(?!\d+$)` + label
	idnChar   = `0-9a-zß-öø-ÿāăąćĉċčďđēĕėęěĝğġģĥħĩīĭįıĵķĸĺļľłńņňŋōŏőœŕŗřśŝşšţťŧũūŭůűųŵŷźżžά-ώа-џ\u3041-\u3094\u30A1-\u30FA\u4E00-\u9FEF\uAC00-\uD7A3`
	idnLabel  = `[` + idnChar + `](?:[` + idnChar + `]|[` + idnChar + `-](?:[` + idnChar + `]|[` + idnChar + `]{2}|-[` + idnChar + `]|(?:[` + idnChar + `][` + idnChar + `-]|-[` + idnChar + `])[` + idnChar + `-]{0,6}[` + idnChar + `]))?`

	atom      = "[0-9A-Za-z!#$%&'*+/=?^_`{|}~-]+"
	localPart = "(?=[!#-'*+./0-9=?A-Z^-~-]{1,64}@)" + atom + `(?:\.` + atom + `)*|"[ !#-\[\]-~]{0,62}"`
	idnAtom   = "[0-9A-Za-z!#$%&'*+/=?^_`{|}~\\x80-\\u{10FFFF}-]+"

	octet = `(?:\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])`
	ipv4  = octet + `(?:\.` + octet + `){3}`
	h16   = `[0-9A-Fa-f]{1,4}`
	ls32  = `(?:` + h16 + `:` + h16 + `|` + ipv4 + `)`
	ipv6  = `(?:(?:` + h16 + `:){6}` + ls32 +
		`|::(?:` + h16 + `:){5}` + ls32 +
		`|(?:` + h16 + `)?::(?:` + h16 + `:){4}` + ls32 +
		`|(?:(?:` + h16 + `:){0,1}` + h16 + `)?::(?:` + h16 + `:){3}` + ls32 +
		`|(?:(?:` + h16 + `:){0,2}` + h16 + `)?::(?:` + h16 + `:){2}` + ls32 +
		`|(?:(?:` + h16 + `:){0,3}` + h16 + `)?::` + h16 + `:` + ls32 +
		`|(?:(?:` + h16 + `:){0,4}` + h16 + `)?::` + ls32 +
		`|(?:(?:` + h16 + `:){0,5}` + h16 + `)?::` + h16 +
		`|(?:(?:` + h16 + `:){0,6}` + h16 + `)?::)`

	scheme     = `[A-Za-z][0-9A-Za-z+.-]*:`
	percent    = `%[0-9A-Fa-f]{2}`
	unreserved = `0-9A-Za-z\-._~`
	delimiters = `!$&'()*+,;=`
	ucs        = `\u00A0-\uD7FF\uF900-\uFDCF\uFDF0-\uFFEF\u{10000}-\u{1FFFD}\u{20000}-\u{2FFFD}\u{30000}-\u{3FFFD}\u{40000}-\u{4FFFD}\u{50000}-\u{5FFFD}` +
		`\u{60000}-\u{6FFFD}\u{70000}-\u{7FFFD}\u{80000}-\u{8FFFD}\u{90000}-\u{9FFFD}\u{A0000}-\u{AFFFD}\u{B0000}-\u{BFFFD}\u{C0000}-\u{CFFFD}` +
		`\u{D0000}-\u{DFFFD}\u{E1000}-\u{EFFFD}`
	private = `\uE000-\uF8FF\u{F0000}-\u{FFFFD}\u{100000}-\u{10FFFD}`

	variable = `(?:[0-9A-Za-z_]|` + percent + `)+(?:\.(?:[0-9A-Za-z_]|` + percent + `)+)*(?::[1-9]\d{0,3}|\*)?`
	pointer  = `(?:/(?:[^~/]|~[01])*)*`
)

// leapSeconds returns a pattern of the times of leap seconds with an offset of the given sign. Local times behind UTC, or equal to it, are
// on UTC's day; those ahead of it are on the next day.
func leapSeconds(sign byte) string {
	var b strings.Builder
	if sign == '-' {
		b.WriteString(`23:59:60` + fraction + `(?:[Zz]|[+-]00:00)`)
	}
	for hours := range 24 {
		for _, minutes := range []int{0, 30} {
			behind := hours*60 + minutes
			if sign == '-' {
				behind = -behind
			}
			if behind == 0 {
				continue
			}
			local := (23*60 + 59 + behind + 24*60) % (24 * 60)
			if b.Len() > 0 {
				b.WriteByte('|')
			}
			fmt.Fprintf(&b, `%02d:%02d:60%s\%c%02d:%02d`, local/60, local%60, fraction, sign, hours, minutes)
		}
	}
	return b.String()
}

// extra are the characters of IRIs beyond those of URIs.
type extra struct{ anywhere, query string }

var (
	asciiURI   = extra{}
	unicodeURI = extra{ucs, ucs + private}
)

// uri returns a pattern for URIs or IRIs that begin with scheme. If scheme is empty, it returns one for references without a scheme.
func uri(scheme string, more extra) string {
	char := func(others string) string {
		return `(?:[` + unreserved + delimiters + others + more.anywhere + `]|` + percent + `)`
	}
	segment := char(":@")
	rootless := segment
	if scheme == "" {
		rootless = char("@")
	}
	authority := `(?:` + char(":") + `*@)?(?:\[(?:` + ipv6 + `|[Vv][0-9A-Fa-f]{1,4}\.[` + unreserved + delimiters + `:]+)\]|` + char("") + `*)(?::\d{0,5})?`
	path := `(?://` + authority + `(?:/` + segment + `*)*|/(?:` + segment + `+(?:/` + segment + `*)*)?|` + rootless + `+(?:/` + segment + `*)*)?`
	tail := func(others string) string {
		return `(?:[` + unreserved + delimiters + `:@/?` + others + `]|` + percent + `)*`
	}
	return scheme + path + `(?:\?` + tail(more.query) + `)?(?:#` + tail(more.anywhere) + `)?`
}

// regexes returns a pattern of patterns with groups inside of each other at most so deep.
func regexes(depth int) string {
	const (
		safe   = "[^\\0-\\x1f\\x7f\\\\^$.*+?()[\\]{}|]"
		escape = `\\(?:[dDwWsSfnrtv\\^$.*+?()[\]{}|/]|x[0-9A-Fa-f]{2}|u(?:[0-9A-CE-Fa-ce-f][0-9A-Fa-f]{3}|[Dd][0-7][0-9A-Fa-f]{2}))`
		item   = `(?:0-9|a-z|A-Z|a-f|A-F|[^\0-\x1f\x7f\\\[\]\-&^~]|` + escape + `)`
		atoms  = safe + `|\.|` + escape + `|\[\^?-?` + item + `+-?\]`
		many   = `(?:[*+?]|\{(?:\d{1,3},?|\d,[1-9]\d{1,2}|0,\d|1,[1-9]|2,[2-9]|3,[3-9]|4,[4-9]|5,[5-9]|6,[6-9])\})\??`
	)
	pattern := ``
	for range depth {
		group := ``
		if pattern != `` {
			group = `|\((?:\?:)?` + pattern + `\)`
		}
		branch := `\^?(?:(?:` + atoms + group + `)(?:` + many + `)?)*\$?`
		pattern = branch + `(?:\|` + branch + `)*`
	}
	return pattern
}
