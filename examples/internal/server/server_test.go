package server

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"maps"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/llama/serve"
)

// notes is a standard error that a program writes to while a test reads it.
type notes struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (n *notes) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(p)
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.String()
}

// start runs the program on a free port. The function that it returns interrupts the program and returns its error.
func start(t *testing.T, args ...string) (url string, stderr *notes, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	stderr = &notes{}
	over := make(chan error, 1)
	go func() {
		err := Program("serve")(ctx, append([]string{"-addr", "127.0.0.1:0"}, args...), nil, writer, stderr)
		writer.CloseWithError(io.EOF)
		over <- err
	}()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-over
	})
	t.Cleanup(func() { stop() })
	line, err := bufio.NewReader(reader).ReadString('\n')
	if err != nil {
		t.Fatalf("no first line: %v, %s", stop(), stderr)
	}
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok {
		t.Fatalf("the first line is %q", line)
	}
	return url, stderr, stop
}

const question = `"messages":[{"role":"user","content":"What is the capital of Japan?"}],"temperature":0`

// ask asks a model a question.
func ask(t *testing.T, url, key, model string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), "POST", url+"/v1/chat/completions", strings.NewReader(`{"model":"`+model+`",`+question+`}`))
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// content returns what a model said.
func content(t *testing.T, body string) string {
	t.Helper()
	var answer struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Choices) != 1 {
		t.Fatalf("%v: %s", err, body)
	}
	return answer.Choices[0].Message.Content
}

func TestAnswersUntilItIsInterrupted(t *testing.T) {
	url, stderr, stop := start(t)
	status, body := ask(t, url, "", "flint")
	if status != 200 || content(t, body) == "" {
		t.Errorf("status %d: %s", status, body)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if log := stderr.String(); !strings.Contains(log, "status=200") || strings.Contains(log, "Japan") || strings.Contains(log, "warning") {
		t.Errorf("the log says %s", log)
	}
	if _, err := http.Get(url + "/health"); err == nil {
		t.Error("it still answers")
	}
}

func TestModelsByName(t *testing.T) {
	url, _, _ := start(t, "-model", "pebble", "-model", "editor=flint", "-alias", "gpt-4o=pebble", "-draft", "lookup", "-kv-type", "q8_0", "-log", "json")
	for model, want := range map[string]int{"pebble": 200, "editor": 200, "gpt-4o": 200, "flint": 404} {
		if status, body := ask(t, url, "", model); status != want {
			t.Errorf("%s: status %d, want %d: %s", model, status, want, body)
		}
	}
}

// TestAdaptersByName asks one model with two adapters and without one, at once.
func TestAdaptersByName(t *testing.T) {
	const path = "../../../llama/testdata/adapter"
	url, _, _ := start(t, "-model", "pebble", "-adapter", "mixed="+path, "-adapter", "little="+path+":0.3", "-alias", "odd=pebble:mixed")
	var all sync.WaitGroup
	for model, want := range map[string]string{"pebble": "The capital of Japan is Tokyo.", "pebble:mixed": "The capital of Serbia is Belgrade.",
		"odd": "The capital of Serbia is Belgrade.", "pebble:little": "The capital of Japan is Tokyo."} {
		all.Go(func() {
			if status, body := ask(t, url, "", model); status != 200 || content(t, body) != want {
				t.Errorf("%s: status %d, %s; want %q", model, status, body, want)
			}
		})
	}
	all.Wait()
}

func TestTellsFigures(t *testing.T) {
	url, _, _ := start(t, "-metrics")
	for _, path := range []string{"/metrics", "/", "/v1/models"} {
		answer, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != 200 {
			t.Errorf("%s: status %d", path, answer.StatusCode)
		}
	}
}

func TestKeyFileLetsInWhoHasAKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte("# who may\nalice s3cret-0123456789abcdef # her laptop\n\nother-0123456789abcdef\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	url, stderr, stop := start(t, "-model", "pebble", "-key-file", file)
	for key, want := range map[string]int{"": 401, "wrong": 401, "alice": 401, "s3cret": 401, "s3cret-0123456789abcdef": 200, "other-0123456789abcdef": 200} {
		if status, body := ask(t, url, key, "pebble"); status != want {
			t.Errorf("key %q: status %d, want %d: %s", key, status, want, body)
		}
	}
	stop()
	log := stderr.String()
	if !strings.Contains(log, "client=alice") || strings.Contains(log, "s3cret") || !strings.Contains(log, "chmod 600") {
		t.Errorf("the log says %s", log)
	}
}

func TestDrafts(t *testing.T) {
	plain, _, stop := start(t, "-model", "pebble")
	_, want := ask(t, plain, "", "pebble")
	stop()
	url, _, _ := start(t, "-model", "pebble", "-draft", "pebble")
	if status, body := ask(t, url, "", "pebble"); status != 200 || content(t, body) != content(t, want) {
		t.Errorf("status %d: %s, want %s", status, body, want)
	}
}

func TestOtherNamesOfTheServer(t *testing.T) {
	url, _, _ := start(t, "-model", "pebble")
	for host, want := range map[string]int{"localhost:80": 200, "evil.example": 403} {
		request, err := http.NewRequestWithContext(t.Context(), "GET", url+"/health", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = host
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: status %d, want %d", host, answer.StatusCode, want)
		}
	}
}

func TestTLS(t *testing.T) {
	certificate, key := selfSigned(t)
	url, _, _ := start(t, "-model", "pebble", "-tls-cert", certificate, "-tls-key", key)
	text, err := os.ReadFile(certificate)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	answer, err := client.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"pebble","stream":true,`+question+`}`))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err = io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != 200 || answer.ProtoMajor != 2 || !strings.HasSuffix(string(text), "data: [DONE]\n\n") {
		t.Errorf("%v, status %d, %s: %s", err, answer.StatusCode, answer.Proto, text)
	}
}

// selfSigned writes a certificate for 127.0.0.1 and its key into files.
func selfSigned(t *testing.T) (certificate, key string) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, content []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert.pem", "CERTIFICATE", signed), write("key.pem", "PRIVATE KEY", secret)
}

func TestReadsKeys(t *testing.T) {
	for text, want := range map[string]int{
		"a\n": 1, "x a\n#c\nb": 2, "x a c": -1, "": -1, "# a\n": -1, "a#b": 1, "\ufeffa\r\nb\r\n": 2, "\xff\xfea\x00\n\x00": -1, "a\x00": -1, "short": -1,
	} {
		text = strings.NewReplacer("a", long("a"), "b", long("b")).Replace(text)
		read, err := readClients(strings.NewReader(text))
		keys := read.keys
		if err != nil && want >= 0 || err == nil && len(keys) != want || len(keys) > 0 && strings.Contains(keys[0].Secret, "\ufeff") {
			t.Errorf("%q: %v, %v", text, keys, err)
		}
	}
}

// FuzzClients reads any file of keys: each client in it can be let in, and each account is a client's.
func FuzzClients(f *testing.F) {
	for _, text := range []string{"ann abc requests/minute=60 tokens/day=5 cache=x # y", "abc", "\ufeffa abc\n# c\n\nabc2 tokens/day=1", "a b c", "abc\x00", "x/y=1"} {
		f.Add(strings.ReplaceAll(text, "abc", long("abc")))
	}
	f.Fuzz(func(t *testing.T, text string) {
		read, err := readClients(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, k := range read.keys {
			if k.Name == "" || k.Secret == "" || strings.TrimSpace(k.Secret) != k.Secret || isTerm(k.Secret) {
				t.Errorf("%q has the key %+v", text, k)
			}
		}
		for name, a := range read.accounts {
			if a == (serve.Account{}) || a.RequestsPerMinute < 0 || a.TokensPerDay < 0 || !slices.ContainsFunc(read.keys, func(k serve.Key) bool { return k.Name == name }) {
				t.Errorf("%q has the account %q: %+v", text, name, a)
			}
		}
	})
}

func TestReadsWhatClientsMayUse(t *testing.T) {
	abc := long("abc")
	read, err := readClients(strings.NewReader("ann " + abc + "= requests/minute=60 tokens/day=200000 # a comment\nann def" + abc + "\nghi" + abc +
		" tokens/day=5\nbob jkl" + abc + " cache=team\nmno" + abc + "\n"))
	want := map[string]serve.Account{"ann": {RequestsPerMinute: 60, TokensPerDay: 200000}, keyName("ghi" + abc): {TokensPerDay: 5}, "bob": {Cache: "team"}}
	if err != nil || len(read.keys) != 5 || read.keys[0] != (serve.Key{Name: "ann", Secret: abc + "="}) || !maps.Equal(read.accounts, want) {
		t.Errorf("%v, %v", read, err)
	}
	for text, says := range map[string]string{
		"ann abc requests/minute=0":             "1 or more",
		"ann abc requests/minute=99999999999":   "1 or more",
		"ann abc tokens/day=many":               `"tokens/day=many"`,
		"ann abc tokens/week=5":                 `"tokens/week=5" must be one of requests/minute=N, tokens/day=N, cache=NAME`,
		"ann request/minute=5":                  "request/minute=5",
		"ann abc cache=":                        "cache=",
		"tokens/day=5":                          "no secret",
		"ann abc def tokens/day=5":              "4 words",
		"ann tokens/day=5 abc":                  "3 words",
		"abc\nann abc requests/minute=5 tokens": "line 2",
	} {
		if _, err := readClients(strings.NewReader(strings.ReplaceAll(text, "abc", abc))); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: error %v, which does not say %s", text, err, says)
		}
	}
}

func TestNamesOfModels(t *testing.T) {
	for text, want := range map[string][2]string{
		"flint": {"", "flint"}, "a=b": {"a", "b"}, "a=b=c": {"a", "b=c"}, "/models/x=1/m.gguf": {"", "/models/x=1/m.gguf"},
	} {
		if name, path := named(text); name != want[0] || path != want[1] {
			t.Errorf("%s: %q, %q", text, name, path)
		}
	}
}

func TestWarnsOfAnOpenAddress(t *testing.T) {
	for _, c := range []struct {
		c    command
		l    listener
		want string
	}{
		{command{}, listener{loopback: true}, ""},
		{command{keyFile: "keys"}, listener{}, "plain text"},
		{command{keyFile: "keys", tlsCert: "cert"}, listener{}, ""},
	} {
		var stderr strings.Builder
		if c.c.warn(&stderr, &c.l); !strings.Contains(stderr.String(), c.want) || c.want == "" && stderr.Len() > 0 {
			t.Errorf("%+v: %q", c, stderr.String())
		}
	}
}

func TestWrongCommandLines(t *testing.T) {
	for _, args := range [][]string{
		{"hello"}, {"-unknown"}, {"-log", "xml"}, {"-tls-cert", "cert.pem"}, {"-alias", "a=b"}, {"-cache-mb", "-1"}, {"-kv-type", "q2"},
		{"-model", "pebble", "-model", "flint", "-draft", "pebble"}, {"-model", "pebble", "-model", "flint", "-adapter", "a=b"}, {"-adapter", "b"},
	} {
		err := Program("serve")(t.Context(), append(args, "-addr", "127.0.0.1:0"), nil, io.Discard, io.Discard)
		if _, ok := err.(*cli.UsageError); !ok {
			t.Errorf("%v: error %v, want a usage error", args, err)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-model", "nowhere.gguf"}, "nowhere.gguf"},
		{[]string{"-key-file", "nowhere"}, "-key-file"},
		{[]string{"-tls-cert", "nowhere", "-tls-key", "nowhere"}, "-tls-cert"},
	} {
		err := Program("serve")(t.Context(), append(c.args, "-addr", "127.0.0.1:0"), nil, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want one that names %s", c.args, err, c.want)
		}
	}
}
