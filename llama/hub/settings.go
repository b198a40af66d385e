package hub

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// settings are the options, completed from environment variables.
type settings struct {
	cache, downloads string
	endpoint         *url.URL
	token, tokenFrom string // tokenFrom names the token's source, in words
	offline          bool
	links            bool // make symbolic links
	connections      int
	progress         func(done, total int64) // may be nil
	log              *slog.Logger
	transport        http.RoundTripper
	tuning           tuning
}

// tuning are sizes and times that tests make smaller.
type tuning struct {
	piece int64                             // bytes that one request asks for, of a file that is larger
	stall time.Duration                     // after which a connection that delivers nothing counts as cut
	wait  time.Duration                     // before the second attempt; each further one waits twice as long
	tell  time.Duration                     // between two calls of Progress
	free  func(folder string) (int64, bool) // free bytes on the disk of a folder
}

// The defaults.
const (
	defaultEndpoint    = "https://huggingface.co"
	defaultConnections = 4
	maxConnections     = 64
	defaultPiece       = 16 << 20
	defaultStall       = 30 * time.Second
	defaultWait        = 500 * time.Millisecond
	defaultTell        = 100 * time.Millisecond
)

// newSettings reads the environment for what the options leave open.
func newSettings(o *Options) (*settings, error) {
	if o == nil {
		o = &Options{}
	}
	s := &settings{
		cache: o.Cache, downloads: o.Downloads, token: o.Token, tokenFrom: "Options.Token", offline: o.Offline || isTrue("HF_HUB_OFFLINE"),
		links: !isTrue("HF_HUB_DISABLE_SYMLINKS"), connections: cmp.Or(o.Connections, defaultConnections), progress: o.Progress,
		log: o.Logger, transport: o.Transport, tuning: o.tuning,
	}
	if s.connections < 1 || s.connections > maxConnections {
		return nil, fmt.Errorf("Options.Connections is %d: it must be 1 to %d, or 0 for the default", o.Connections, maxConnections)
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.tuning.piece = cmp.Or(s.tuning.piece, defaultPiece)
	s.tuning.stall = cmp.Or(s.tuning.stall, defaultStall)
	s.tuning.wait = cmp.Or(s.tuning.wait, defaultWait)
	s.tuning.tell = cmp.Or(s.tuning.tell, defaultTell)
	if s.tuning.free == nil {
		s.tuning.free = freeBytes
	}
	text := cmp.Or(o.Endpoint, os.Getenv("HF_ENDPOINT"), defaultEndpoint)
	var err error
	s.endpoint, err = url.Parse(strings.TrimRight(text, "/"))
	if err != nil || s.endpoint.Host == "" || s.endpoint.Scheme != "https" && s.endpoint.Scheme != "http" {
		return nil, fmt.Errorf("the hub's endpoint %q, from Options.Endpoint or HF_ENDPOINT, is not the URL of a server", text)
	}
	return s, s.readHome()
}

// readHome finds the folders and the token.
func (s *settings) readHome() error {
	home := folder("HF_HOME")
	if home == "" {
		caches := folder("XDG_CACHE_HOME")
		if caches == "" {
			user, err := os.UserHomeDir()
			if err != nil {
				return fmt.Errorf("find the folder to keep models in: %w; HF_HOME can name it", err)
			}
			caches = filepath.Join(user, ".cache")
		}
		home = filepath.Join(caches, "huggingface")
	}
	s.cache = cmp.Or(s.cache, folder("HF_HUB_CACHE"), folder("HUGGINGFACE_HUB_CACHE"), filepath.Join(home, "hub"))
	if s.downloads == "" {
		caches, err := os.UserCacheDir()
		if err != nil {
			caches = filepath.Dir(home)
		}
		s.downloads = filepath.Join(caches, "antigravity", "downloads")
	}
	if s.token != "" || isTrue("HF_HUB_DISABLE_IMPLICIT_TOKEN") {
		return nil
	}
	for _, variable := range []string{"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"} {
		if s.token = strings.TrimSpace(os.Getenv(variable)); s.token != "" {
			s.tokenFrom = variable
			return nil
		}
	}
	file := cmp.Or(folder("HF_TOKEN_PATH"), filepath.Join(home, "token"))
	if text, err := os.ReadFile(file); err == nil {
		s.token, s.tokenFrom = strings.TrimSpace(string(text)), "the file "+file
	}
	return nil
}

// whyOffline names the possible reasons of settings.offline.
const whyOffline = "HF_HUB_OFFLINE or Options.Offline forbids the network"

// isTrue reports whether a variable has a value that Python's library takes for yes.
func isTrue(variable string) bool {
	switch strings.ToUpper(os.Getenv(variable)) {
	case "1", "ON", "YES", "TRUE":
		return true
	}
	return false
}

// folder returns the path in a variable, in which ~ and other variables may stand; "" if it is not set.
func folder(variable string) string {
	text := os.ExpandEnv(os.Getenv(variable))
	if text == "~" || strings.HasPrefix(text, "~/") {
		if home, err := os.UserHomeDir(); err == nil {
			text = home + text[1:]
		}
	}
	return text
}
