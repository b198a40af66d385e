package hub

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
)

// Options say how to fetch. Nil and the zero value are the good defaults: what the environment says, as for Python's library.
type Options struct {
	// Cache is the folder of models of the hub; "": what HF_HUB_CACHE, HF_HOME and XDG_CACHE_HOME say, else ~/.cache/huggingface/hub.
	Cache string
	// Downloads is the folder of files of other servers; "": antigravity/downloads in the user's folder of caches.
	Downloads string
	// Endpoint is the hub's URL; "": what HF_ENDPOINT says, else https://huggingface.co.
	Endpoint string
	// Token says who asks, for private and gated models; "": what HF_TOKEN says, or the file that `hf auth login` writes. It is sent to the
	// endpoint alone.
	Token string
	// Offline forbids the network: models come from the cache, or not at all. HF_HUB_OFFLINE=1 forbids it, too.
	Offline bool
	// Connections is how many ranges of files are fetched at once; 0: 4.
	Connections int
	// Progress is called now and then with the bytes that have arrived and the bytes in total, of all files that were not in the cache.
	// Bytes that an earlier call left count as arrived. Calls do not overlap. If the cache has everything, Progress is not called.
	Progress func(done, total int64)
	// Logger gets a line for each file and, as warnings, for each delay: an attempt that failed, another program that fetches the same
	// file, a hub that cannot be reached. Nil: nothing is logged.
	Logger *slog.Logger
	// Transport makes the requests; nil: net/http's, with as many connections as ranges.
	Transport http.RoundTripper

	tuning tuning // for tests
}

// Get returns the path of a model for llama.Load. If name is a model's name, Get fetches the files that are not in the cache; any other
// text is a path, which Get returns as it is. The package's documentation describes names.
//
// Get may be called at any time by any number of goroutines and processes. When the context ends, Get returns an error that wraps the
// context's own; the bytes that have arrived stay for the next call. A server's refusal (a model that is missing, private or gated, too
// many requests) is a *StatusError with advice. A malformed name is a *NameError. A file that is not in the cache while offline is an error
// that wraps fs.ErrNotExist.
func Get(ctx context.Context, name string, o *Options) (path string, err error) {
	if !IsName(name) {
		return name, nil
	}
	path, err = get(ctx, name, o)
	if err != nil {
		return "", fmt.Errorf("fetch %s: %w", name, err)
	}
	return path, nil
}

func get(ctx context.Context, name string, o *Options) (string, error) {
	s, err := newSettings(o)
	if err != nil {
		return "", err
	}
	r, err := parseName(name, s.endpoint)
	if err != nil {
		return "", err
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if r.url != nil {
		return s.getURL(ctx, r)
	}
	return s.getModel(ctx, r)
}
