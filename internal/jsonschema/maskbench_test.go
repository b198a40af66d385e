package jsonschema_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsonexpr"
	"github.com/antigravity-go/antigravity/internal/jsonschema"
)

var (
	every    = flag.Int("every", 100, "of how many schemas of MaskBench one is tried")
	only     = flag.String("only", "", "try the schema with this id only, and say more")
	anyOrder = flag.Bool("any", true, "allow properties in any order")
	profile  = flag.String("profile", "", "write a profile of the compilations")
)

var options jsonschema.Options

// python writes a value as Python's json.dumps(ensure_ascii=False) does.
func python(dst *bytes.Buffer, d *json.Decoder) {
	t, _ := d.Token()
	switch t := t.(type) {
	case json.Delim:
		dst.WriteRune(rune(t))
		for i := 0; d.More(); i++ {
			if i > 0 {
				dst.WriteString(", ")
			}
			if t == '{' {
				name, _ := d.Token()
				dst.WriteString(jsonexpr.Quote(name.(string)))
				dst.WriteString(": ")
			}
			python(dst, d)
		}
		end, _ := d.Token()
		dst.WriteRune(rune(end.(json.Delim)))
	case string:
		dst.WriteString(jsonexpr.Quote(t))
	case json.Number:
		s := t.String()
		if !strings.ContainsAny(s, ".eE") {
			dst.WriteString(s)
			return
		}
		f, _ := strconv.ParseFloat(s, 64)
		r := strconv.FormatFloat(f, 'f', -1, 64)
		if exp := exponent(f); exp < -4 || exp >= 16 {
			r = strconv.FormatFloat(f, 'e', -1, 64)
		} else if !strings.Contains(r, ".") {
			r += ".0"
		}
		dst.WriteString(r)
	case bool:
		fmt.Fprint(dst, t)
	case nil:
		dst.WriteString("null")
	}
}

func exponent(f float64) int {
	s := strconv.FormatFloat(f, 'e', -1, 64)
	n, _ := strconv.Atoi(s[strings.IndexByte(s, 'e')+1:])
	return n
}

type task struct {
	ID     string
	Schema json.RawMessage
	Tests  []struct {
		Valid bool
		Data  json.RawMessage
	}
}

// MaskBench byte by byte.
func TestMaskBench(t *testing.T) {
	f, err := os.Open("../../../shared/fixtures/maskbench.jsonl.gz")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if *profile != "" {
		out, _ := os.Create(*profile)
		defer out.Close()
		pprof.StartCPUProfile(out)
		defer pprof.StopCPUProfile()
	}
	lines := bufio.NewReaderSize(z, 1<<20)
	var times []time.Duration
	passed, tried, accepted, refused := 0, 0, 0, 0
	why := map[string]int{}
	var slow []string
	for i := 0; ; i++ {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		if i%*every != 0 && *only == "" {
			continue
		}
		var k task
		if err := json.Unmarshal(line, &k); err != nil {
			t.Fatal(err)
		}
		if *only != "" && k.ID != *only {
			continue
		}
		tried++
		begin := time.Now()
		options.AnyOrder = *anyOrder
		l := jsonexpr.New()
		g := grammar.New(l.Arena)
		g.Start, _, err = jsonschema.Compile(k.Schema, l, g, options)
		took := time.Since(begin)
		for again := 0; again < 3 && took > 5*time.Millisecond; again++ { // others use the machine too
			l, begin := jsonexpr.New(), time.Now()
			_, _, _ = jsonschema.Compile(k.Schema, l, grammar.New(l.Arena), options)
			took = min(took, time.Since(begin))
		}
		times = append(times, took)
		if took > 8*time.Millisecond {
			slow = append(slow, fmt.Sprintf("%10.1f ms %s %v", took.Seconds()*1e3, k.ID, err))
		}
		if err != nil {
			var u *jsonschema.UnsupportedError
			key := err.Error()
			if errors.As(err, &u) {
				key = "unsupported " + u.Keyword + " " + u.Reason
			}
			if len(key) > 110 {
				key = key[:110]
			}
			why[key]++
			if testing.Verbose() {
				t.Logf("%s: %v", k.ID, err)
			}
			continue
		}
		good := true
		m := grammar.NewMachine(g)
		for n, test := range k.Tests {
			var b bytes.Buffer
			d := json.NewDecoder(bytes.NewReader(test.Data))
			d.UseNumber()
			python(&b, d)
			s, at := m.Start(), 0
			for ; at < b.Len(); at++ {
				if s = m.Next(s, b.Bytes()[at]); s == grammar.Dead {
					break
				}
			}
			if m.Err() != nil {
				good = false
				why["machine: "+m.Err().Error()]++
				t.Errorf("%s: %v", k.ID, m.Err())
				break
			}
			if ok := at == b.Len() && m.Accepts(s); ok != test.Valid {
				good = false
				if ok {
					accepted++
					t.Errorf("%s: test %d is accepted: %.300s", k.ID, n, b.String())
				} else {
					refused++
					t.Errorf("%s: test %d is refused at %d: %.200s▲%.80s", k.ID, n, at, b.String()[max(0, at-200):at], b.String()[at:])
				}
				break
			}
		}
		if good {
			passed++
		}
	}
	if tried == 0 {
		t.Fatal("nothing was tried")
	}
	slices.Sort(times)
	t.Logf("%d of %d pass (%.1f%%), %d accept, %d refuse; compiling p50 %v p99 %v max %v", passed, tried, 100*float64(passed)/float64(tried), accepted, refused,
		times[len(times)/2], times[len(times)*99/100], times[len(times)-1])
	keys := slices.SortedFunc(maps.Keys(why), func(a, b string) int { return why[b] - why[a] })
	for _, key := range keys[:min(len(keys), 60)] {
		t.Logf("%5d %s", why[key], key)
	}
	slices.Sort(slow)
	slices.Reverse(slow)
	t.Log(strings.Join(slow[:min(len(slow), 60)], "\n"))
}
