package server

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/llama/serve"
	"github.com/antigravity-go/antigravity/tensor"
)

// command is the command line.
type command struct {
	options serve.Options // what flags say directly

	paths       []string // -model: NAME=PATH or PATH
	aliases     []string // -alias: NAME=OTHER, or NAME
	adapters    []string // -adapter: NAME=PATH[:SCALE]
	templates   []string // -chat-template: [NAME=]FILE
	preload     bool
	recommended *bool     // what models' authors recommend counts
	computing   cli.Model // how models are run; its path is not used
	draft       cli.Draft
	memory      cli.Memory

	addr             string
	tlsCert, tlsKey  string
	keyFile          string
	grace            time.Duration
	logForm          string
	metrics          bool
	connections      int
	requestsMB       int64
	cacheMB, modelMB int64
	flags            *cli.Flags
}

// parse reads the command line. The text name is what starts the program.
func (c *command) parse(name string, args []string, stdout io.Writer) error {
	f := cli.NewFlags("serve", strings.ReplaceAll(about, "COMMAND", name))
	o := &c.options
	f.Group("Models", func() {
		f.Strings(&c.paths, "model", "`[NAME=]PATH`: "+cli.Models+"; or pebble, flint or opal, which are embedded; without a name it is the "+
			"file's; may be repeated: requests choose by the name; none: pebble, flint and opal")
		f.Strings(&c.aliases, "alias", "`NAME[=OTHER]`: lets requests call the model OTHER, or the only one, by NAME, too; *: by any name that no model has; may be repeated")
		f.Strings(&c.adapters, "adapter", "`NAME=PATH[:SCALE]`: "+cli.Adapters+" for the only -model, which requests then call MODEL:NAME; may be repeated")
		f.Strings(&c.templates, "chat-template", "`[NAME=]FILE`: a chat template in Jinja, in place of the own one of the model NAME, or of the only one; for files that have none or a wrong one; may be repeated")
		c.recommended = cli.RecommendedFlag(f)
		f.BoolVar(&c.preload, "preload", false, "load all models at the start; a single one always is, several only when a request asks for them")
		f.Int64Var(&c.modelMB, "models-mb", 0, "`MB` of memory that models may take together, caches included: the least recently used are given back; 0: no bound")
		c.computing.ComputeFlags(f)
	})
	f.Group("Network", func() {
		f.StringVar(&c.addr, "addr", "127.0.0.1:8080", "`host:port` to listen at; without a host: on all addresses; port 0: any free one")
		f.StringVar(&c.tlsCert, "tls-cert", "", "`file` of the certificate, for HTTPS")
		f.StringVar(&c.tlsKey, "tls-key", "", "`file` of the certificate's private key")
		f.StringVar(&c.keyFile, "key-file", "", "`file` of the keys that let clients in: each line is a secret of at least 16 characters, or a client's name and a secret, and then "+
			"what the client may use, any of requests/minute=N, tokens/day=N, and cache=NAME, a cache that clients of the same NAME share; # begins a comment; "+
			"it is read again when it changes, and at SIGHUP")
		f.Strings(&o.Origins, "cors", "`origin` of web pages that may use the server, as in https://example.org, or *; a * may also be the host (moz-extension://*), a part before it (https://*.example.org) or the port (http://localhost:*); may be repeated; none: its own page alone")
		f.Strings(&o.Hosts, "host", "`name` that requests may call the server by; may be repeated; none: on loopback addresses localhost, 127.0.0.1 and ::1, on others any")
		f.IntVar(&c.connections, "connections", 0, "`number` of connections at once, beyond which the one that was used least recently is closed; 0: as many as the process may have files open, at most 4096")
		f.BoolVar(&o.NoPage, "no-page", false, "leave out the page to talk on")
	})
	f.Group("Load", func() {
		f.IntVar(&o.Pool.MaxSessions, "max-sessions", 0, "`number` of answers of a model that are computed at once; 0: 32")
		f.IntVar(&o.MaxQueue, "queue", 0, "`number` of answers of a model that may wait for that; 0: eight times as many, at least 64")
		f.IntVar(&o.MaxTokens, "n", 0, "`number` of tokens that bounds answers, whatever requests say; 0: as many as the context holds")
		f.Int64Var(&c.cacheMB, "cache-mb", 0, "`MB` of memory that the conversations of a model may take, so that the next turn need not compute them again; "+
			"0: as much as its weights, at least 256, and at most a quarter of what is available")
		f.BoolVar(&o.ShareCache, "share-cache", false, "let clients with different keys use what was computed of each other's prompts, from which they can guess these")
		f.Int64Var(&c.requestsMB, "requests-mb", 0, "`MB` of memory that all requests may hold together, beyond which they are refused; 0: 512, otherwise at least 128, and less than 256 makes the largest request smaller than 16 MB")
		f.BoolVar(&o.ImageURLs, "image-urls", false, "fetch images from http and https URLs that requests name, from public addresses alone; otherwise images come with the requests")
		f.BoolVar(&o.Strict, "strict", false, "refuse requests that offer tools of other kinds than functions, or ask for other things that can be left out, which are otherwise left out with a warning")
		f.DurationVar(&o.PingInterval, "ping", 0, "`time` without anything in a stream after which the client is sent a sign of life; 0: 15s; negative: never")
		f.BoolVar(&o.DropTurns, "drop-turns", false, "leave out the oldest turns of conversations that do not fit, unless the request's truncation says otherwise")
		f.DurationVar(&o.Timeout, "timeout", 10*time.Minute, "`time` after which a request ends, waiting included; 0: never")
		f.Sets(map[string]string{"serve: Options.MaxTokens": "n", "serve: Options.MaxQueue": "queue",
			"serve: Options.Pool.MaxSessions": "max-sessions"})
		f.DurationVar(&c.grace, "grace", 30*time.Second, "`time` that requests have to end after Ctrl-C or SIGTERM")
	})
	c.memory.Flags(f, tensor.F16)
	c.draft.Always = true
	c.draft.Flags(f)
	f.Group("Logs and figures", func() {
		f.StringVar(&c.logForm, "log", "text", "`form` of the log: text or json")
		f.BoolVar(&o.LogPrompts, "log-prompts", false, "log what is said, too")
		f.BoolVar(&c.metrics, "metrics", false, "report figures at /metrics, for Prometheus; with -key-file it needs a key")
	})
	c.flags = f
	if err := f.Parse(args, stdout); err != nil {
		return err
	}
	if (c.tlsCert == "") != (c.tlsKey == "") {
		return cli.Usagef("-tls-cert and -tls-key stand together or not at all")
	}
	for flag, mb := range map[string]int64{"cache-mb": c.cacheMB, "models-mb": c.modelMB, "requests-mb": c.requestsMB} {
		if mb < 0 || mb > maxMB {
			return cli.Usagef("-%s %d: it must be 0 to %d", flag, mb, int64(maxMB))
		}
	}
	if c.requestsMB > 0 && c.requestsMB < leastRequestsMB {
		return cli.Usagef("-requests-mb %d: it must be 0, or at least %d", c.requestsMB, leastRequestsMB)
	}
	if c.connections < 0 {
		return cli.Usagef("-connections %d: it must be 0 or more", c.connections)
	}
	o.PlainSampling = !*c.recommended
	if o.Timeout == 0 {
		o.Timeout = -1 // in serve.Options 0 means the default
	}
	o.Pool.MaxBytes, o.ModelBytes, o.RequestBytes = c.cacheMB<<20, c.modelMB<<20, c.requestsMB<<20
	return nil
}

// maxMB bounds megabytes, so that they are a number of bytes.
const maxMB = 1 << 40

// leastRequestsMB is the least -requests-mb: serve.Options.RequestBytes for bodies of 8 MiB.
const leastRequestsMB = 128

// logger returns the log of requests.
func (c *command) logger(stderr io.Writer) (*slog.Logger, error) {
	switch c.logForm {
	case "text":
		return slog.New(slog.NewTextHandler(stderr, nil)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(stderr, nil)), nil
	}
	return nil, cli.Usagef("-log %s: it must be text or json", c.logForm)
}

// printStats prints how much memory requests may take. How much the conversations of a model may take stands in the log.
func printStats(stderr io.Writer, s serve.Stats) {
	fmt.Fprintf(stderr, "requests may hold %d MB together (-requests-mb)\n", s.Memory.MaxBytes>>20)
}

// warn warns of settings that the user may not have meant.
func (c *command) warn(stderr io.Writer, l *listener) {
	if !l.loopback && c.keyFile == "" {
		fmt.Fprintf(stderr, "warning: whoever reaches %s can use the server: -key-file lets in only who has a key\n", l.Addr())
	}
	if !l.loopback && c.keyFile != "" && c.tlsCert == "" {
		fmt.Fprintln(stderr, "warning: without -tls-cert and -tls-key, keys and conversations cross the network as plain text")
	}
}
