// Dashboard shows results of the suite in a browser, or writes them as one HTML file.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/dashboard/internal/results"
	"github.com/antigravity-go/antigravity/examples/tools/dashboard/internal/site"
	"github.com/antigravity-go/antigravity/internal/atomicfile"
)

const about = `
dashboard shows the results of the suite: throughput, latency, memory and accuracy against the budget, policies side by side,
single runs over time, and what changed between commits.

  go run ./examples/tools/dashboard results
  go run ./examples/tools/dashboard -export results.html before after

The arguments are folders of results, or folders of such folders, which must exist; without any it is results. Served, the page shows new runs as they
come. Exported, it is one file that opens from disk, without a server or a network. What is looked at (filters, axes, the chosen run) is
all in the page's address: a link shows the same.`

func main() { cli.Main("dashboard", run) }

// options are the command line's.
type options struct {
	folders []string
	named   bool // the folders are those of the command line, and must exist
	addr    string
	export  string
}

func parse(args []string, stdout io.Writer) (*options, error) {
	o := &options{}
	f := cli.NewFlags("dashboard", about)
	f.Group("Results", func() {
		f.Strings(&o.folders, "results", "`folder` of results, like an argument; may be repeated")
		f.StringVar(&o.addr, "addr", "localhost:8090", "`address` to serve at, on this machine; with port 0 any port that is free")
		f.StringVar(&o.export, "export", "", "`path` of an HTML file to write in place of serving")
	})
	arguments, err := f.ParseMixed(args, stdout)
	if err != nil {
		return nil, err
	}
	o.named = true
	if o.folders = append(arguments, o.folders...); len(o.folders) == 0 {
		o.folders, o.named = []string{"results"}, false
	}
	for _, folder := range o.folders {
		if info, err := os.Stat(folder); err == nil && !info.IsDir() {
			return nil, cli.Usagef("%s is a file; results are in a folder, as the suite's -out names it", folder)
		}
	}
	host, _, err := net.SplitHostPort(o.addr)
	if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, cli.Usagef("-addr %s: results are served on this machine only: localhost:PORT (to show them elsewhere, send what -export writes)", o.addr)
	}
	return o, nil
}

func run(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
	o, err := parse(args, stdout)
	if err != nil {
		return err
	}
	for _, folder := range o.folders {
		if _, err := os.Stat(folder); err != nil && o.named {
			return fmt.Errorf("results: %w; go run ./examples/tools/suite -out %s makes some", err, folder)
		}
	}
	store, err := results.NewStore(o.folders...)
	if err != nil {
		return err
	}
	if o.export != "" {
		return export(store, o, stdout)
	}
	return serve(ctx, store, o, stdout, stderr)
}

// export writes the page to a file, whole or not at all.
func export(store *results.Store, o *options, stdout io.Writer) (err error) {
	if overview, err := store.Overview(); err != nil {
		return err
	} else if overview.Runs == 0 {
		return fmt.Errorf("there are no runs in %s to export: go run ./examples/tools/suite makes some", strings.Join(o.folders, ", "))
	}
	var done site.Exported
	err = atomicfile.Write(o.export, func(w io.Writer) (err error) {
		done, err = site.Export(w, store, time.Now())
		return err
	})
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	_, err = fmt.Fprintf(stdout, "%s: %d runs, %.1f MB; timelines have at most %d points\n", o.export, done.Runs, float64(done.Bytes)/1e6, done.Points)
	return err
}

// serve serves the page until the context ends.
func serve(ctx context.Context, store *results.Store, o *options, stdout, stderr io.Writer) error {
	handler, err := site.Handler(store)
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.addr)
	if err != nil {
		return fmt.Errorf("serve the page: %w (-addr localhost:0 takes any port that is free)", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	fmt.Fprintf(stdout, "http://%s/\n", listener.Addr())
	if overview, err := store.Overview(); err == nil { // read already, so that the first visitor need not wait
		fmt.Fprintf(stderr, "%d runs in %s; Ctrl-C ends the dashboard\n", overview.Runs, strings.Join(o.folders, ", "))
	}
	select {
	case err := <-failed:
		return fmt.Errorf("serve the page: %w", err)
	case <-ctx.Done():
		return server.Close()
	}
}
