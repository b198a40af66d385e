// Browser makes a page of static files in which Flint chats, calls functions and fills a form, in the visitor's browser, and serves it.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/examples/browser/internal/answers"
	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/llama/flint"
)

func main() { cli.Main("browser", run) }

const about = `
browser makes a page in which Flint, the embedded model, chats, calls functions and fills a form in the visitor's browser: the library compiled to
WebAssembly, the model, and a little JavaScript. It serves the page, or writes its files, which any server of static files can serve:

  browser                                              serves the page
  browser -out site                                    writes the files
  browser -ask chat:"What is the capital of Japan?"    prints this machine's answer and its digest: the page shows the same

It needs Go and this repository, since it compiles the program of the page.`

//go:embed page
var page embed.FS

// run makes the page, or answers.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	f := cli.NewFlags("browser", about)
	var addr, out, ask string
	f.StringVar(&addr, "addr", "127.0.0.1:8081", "`address` to serve the page on")
	f.StringVar(&out, "out", "", "`folder` to write the page's files to, instead of serving them")
	f.StringVar(&ask, "ask", "", "`TASK:TEXT` to answer on this machine, without a page: chat, calls or form")
	if err := f.Parse(args, stdout); err != nil {
		return err
	}
	if ask != "" {
		return answer(ctx, ask, stdout)
	}
	folder := out
	if folder == "" {
		if folder, err = os.MkdirTemp("", "flint-page-"); err != nil {
			return err
		}
		defer os.RemoveAll(folder)
	}
	fmt.Fprintln(stderr, "compiling")
	if err := build(ctx, folder); err != nil {
		return err
	}
	if err := sizes(folder, stdout); err != nil || out != "" {
		return err
	}
	return serve(ctx, folder, addr, stdout)
}

// answer prints the answer that this machine gives.
func answer(ctx context.Context, ask string, stdout io.Writer) error {
	task, text, ok := strings.Cut(ask, ":")
	if !ok {
		return cli.Usagef("-ask %s: it must be TASK:TEXT, such as chat:Hello", ask)
	}
	loaded, err := flint.LoadContext(ctx, nil)
	if err != nil {
		return err
	}
	defer loaded.Close()
	model, err := answers.New(loaded)
	if err != nil {
		return err
	}
	a, err := model.Ask(ctx, task, text, func(string) bool { return true })
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s\n%d tokens; digest %s\n", strings.TrimSpace(a.Text), a.Tokens, a.Digest)
	return err
}

// program is the package that runs in the browser.
const program = "github.com/antigravity-go/antigravity/examples/browser/program"

// build writes the page's files to a folder.
func build(ctx context.Context, folder string) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "flint-build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	wasm := filepath.Join(scratch, "program.wasm")
	compile := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", wasm, program)
	compile.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	if said, err := compile.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", program, err, said)
	}
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env GOROOT: %w", err)
	}
	files := map[string]func() ([]byte, error){
		"wasm_exec.js": func() ([]byte, error) {
			return os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js"))
		},
		"program.wasm.gz": func() ([]byte, error) { return packed(os.ReadFile(wasm)) },
		"model.gguf.gz":   func() ([]byte, error) { return packed(flint.FS.ReadFile(flint.Name)) },
	}
	static, err := fs.Sub(page, "page")
	if err != nil {
		return err
	}
	names, err := fs.Glob(static, "*")
	if err != nil {
		return err
	}
	for _, name := range names {
		files[name] = func() ([]byte, error) { return fs.ReadFile(static, name) }
	}
	for name, read := range files {
		content, err := read()
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), content, 0o666)
		}
		if err != nil {
			return fmt.Errorf("write the page: %w", err)
		}
	}
	return nil
}

// packed returns a file as gzip.
func packed(content []byte, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	return b.Bytes(), err
}

// sizes prints how large the page's files are.
func sizes(folder string, stdout io.Writer) error {
	list, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range list {
		info, err := entry.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(stdout, "%10d %s\n", info.Size(), filepath.Join(folder, entry.Name()))
	}
	return nil
}

// serve serves the folder until the context ends.
func serve(ctx context.Context, folder, addr string, stdout io.Writer) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "open http://%s\n", l.Addr())
	server := &http.Server{Handler: http.FileServer(http.Dir(folder)), ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
