package target

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A pushed file lies under its own name in a folder named by the first digits of its SHA-256. It comes as a file named part, and is renamed
// when its length and its hash over there are right: a file with its own name is whole. A pushed folder is a folder of links to such files,
// named by the hash of their names and hashes, so that only files that changed are pushed. For example, a folder m with the files
// model.safetensors and config.json becomes
//
//	FOLDER/1111111111111111/model.safetensors
//	FOLDER/2222222222222222/config.json
//	FOLDER/3333333333333333/m/model.safetensors -> FOLDER/1111111111111111/model.safetensors
//	FOLDER/3333333333333333/m/config.json       -> FOLDER/2222222222222222/config.json
//
// If config.json changes, it goes to a new folder, and the links go to another one. model.safetensors is not pushed again.

// item is a local file that is to be there.
type item struct {
	local string
	name  string // the last part of its path
	size  int64
	sum   string // SHA-256, in hexadecimal
}

// hashed is how many digits of a hash name a folder.
const hashed = 16

func (r *remote) place(sum, name string) string { return path.Join(r.folder, sum[:hashed], name) }

// Push copies a file or a folder, as Target says.
func (r *remote) Push(ctx context.Context, local string) (string, error) {
	remote, err := r.push(ctx, local)
	if err != nil && ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", fmt.Errorf("push %s to %s: %w", local, r.name(), err)
	}
	return remote, nil
}

func (r *remote) push(ctx context.Context, local string) (string, error) {
	local, err := filepath.Abs(local)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(local)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		file, err := r.item(ctx, local, info)
		if err != nil {
			return "", err
		}
		return r.place(file.sum, file.name), r.pushFiles(ctx, []item{file}, "")
	}
	files, err := r.items(ctx, local)
	if err != nil {
		return "", err
	}
	// The folder's own hash is one of names and hashes.
	list := sha256.New()
	for _, f := range files {
		fmt.Fprintf(list, "%s %q\n", f.sum, f.name)
	}
	there := r.place(hex.EncodeToString(list.Sum(nil)), filepath.Base(local))
	var links strings.Builder
	fmt.Fprintf(&links, "mkdir -p %s", quote(there))
	for _, f := range files {
		fmt.Fprintf(&links, " && ln -sf %s %s", quote(r.place(f.sum, f.name)), quote(path.Join(there, f.name)))
	}
	return there, r.pushFiles(ctx, files, links.String())
}

// maxFiles bounds how many files a pushed folder has: nobody's model has more, and a home folder given by mistake does.
const maxFiles = 1000

// items lists the files in a folder. Hidden ones are left out, and links are followed: folders of downloaded models hold links.
func (r *remote) items(ctx context.Context, folder string) ([]item, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	if len(entries) > maxFiles {
		return nil, fmt.Errorf("it holds %d files, and the folder of a model no more than %d", len(entries), maxFiles)
	}
	var list []item
	for _, entry := range entries {
		file := filepath.Join(folder, entry.Name())
		info, err := os.Stat(file)
		if err != nil {
			return nil, err
		}
		if info.IsDir() || strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		f, err := r.item(ctx, file, info)
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no files lie in it")
	}
	return list, nil
}

// item reads a file for its hash, once as long as it does not change.
func (r *remote) item(ctx context.Context, file string, info os.FileInfo) (item, error) {
	if !info.Mode().IsRegular() {
		return item{}, fmt.Errorf("%s is neither a file nor a folder", file)
	}
	key := fmt.Sprint(file, info.Size(), info.ModTime().UnixNano())
	sum, ok := r.sums[key]
	if !ok {
		var err error
		if sum, err = hashFile(ctx, file); err != nil {
			return item{}, err
		}
		r.sums[key] = sum
	}
	return item{local: file, name: filepath.Base(file), size: info.Size(), sum: sum}, nil
}

func hashFile(ctx context.Context, file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, contextReader{ctx, f}); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// contextReader is a reader that fails when its context ends.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (s contextReader) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.r.Read(p)
}

// pushFiles brings those files that are not there, if there is room for them, and runs a last script.
func (r *remote) pushFiles(ctx context.Context, files []item, last string) error {
	missing, err := r.missing(ctx, files)
	if err != nil {
		return err
	}
	total := int64(0)
	for _, f := range missing {
		total += f.size
	}
	if total > 0 {
		if err := r.checkRoom(ctx, total); err != nil {
			return err
		}
	}
	before := int64(0) // bytes of the files that have come
	for _, f := range missing {
		if err := r.pushFile(ctx, f, func(done int64) { r.o.Progress(before+done, total) }); err != nil {
			return err
		}
		before += f.size
		r.o.Progress(before, total)
	}
	if last == "" {
		return nil
	}
	return withOutput(r.ask(ctx, last, r.o.Patience))
}

// missing asks which files are not there.
func (r *remote) missing(ctx context.Context, files []item) ([]item, error) {
	var script strings.Builder
	for i, f := range files {
		fmt.Fprintf(&script, "[ -f %s ] || echo missing %d\n", quote(r.place(f.sum, f.name)), i)
	}
	answer, err := r.ask(ctx, script.String()+":", r.o.Patience)
	if err != nil {
		return nil, err
	}
	var list []item
	for i, f := range files {
		if slices.Contains(strings.Split(answer, "\n"), fmt.Sprint("missing ", i)) {
			list = append(list, f)
		}
	}
	return slices.CompactFunc(slices.SortedFunc(slices.Values(list), func(a, b item) int {
		return cmp.Or(cmp.Compare(a.sum, b.sum), cmp.Compare(a.name, b.name))
	}), func(a, b item) bool { return a.sum == b.sum && a.name == b.name }), nil
}

// checkRoom fails if the system over there reports less room than bytes bytes.
func (r *remote) checkRoom(ctx context.Context, bytes int64) error {
	free, ok, err := r.freeBytes(ctx)
	if err != nil || !ok || free >= bytes {
		return err
	}
	return r.fullError(ctx, fmt.Sprintf("it needs %s and there is room for %s", size(bytes), size(free)))
}

// freeBytes returns how many bytes there is room for in the folder of pushed files.
func (r *remote) freeBytes(ctx context.Context) (bytes int64, ok bool, err error) {
	answer, err := r.ask(ctx, "mkdir -p "+quote(r.folder)+" && df -Pk "+quote(r.folder), r.o.Patience)
	if err != nil {
		return 0, false, withOutput(answer, err)
	}
	lines := strings.Split(strings.TrimSpace(answer), "\n")
	fields := strings.Fields(lines[len(lines)-1]) // device, size, used, free, percent, path
	if len(fields) < 6 {
		return 0, false, nil
	}
	blocks, err := strconv.ParseInt(fields[len(fields)-3], 10, 53)
	return blocks << 10, err == nil, nil
}

// fullError is the error of a target that has no room. It says what would make room.
func (r *remote) fullError(ctx context.Context, why string) error {
	if taken, err := r.usedBytes(ctx); err == nil && taken > 0 {
		why += fmt.Sprintf("; what was pushed before takes %s, which suite -target %s -clean frees", size(taken), r.name())
	}
	return fmt.Errorf("no space left in %s: %s", r.folder, why)
}

// usedBytes returns how many bytes all that was pushed takes.
func (r *remote) usedBytes(ctx context.Context) (int64, error) {
	answer, err := r.ask(ctx, "[ ! -e "+quote(r.folder)+" ] || du -sk "+quote(r.folder), r.o.Patience)
	if err != nil || answer == "" {
		return 0, withOutput(answer, err)
	}
	blocks, err := strconv.ParseInt(strings.Fields(answer + " 0")[0], 10, 53)
	if err != nil {
		return 0, fmt.Errorf("du answered %q, and not with a number", answer)
	}
	return blocks << 10, nil
}

// Clean removes all that was pushed, as Cleaner says.
func (r *remote) Clean(ctx context.Context) (int64, error) {
	taken, err := r.usedBytes(ctx)
	if err == nil {
		err = withOutput(r.ask(ctx, "rm -rf "+quote(r.folder), r.o.Patience))
	}
	if err != nil {
		return 0, fmt.Errorf("clean %s: %w", r.name(), err)
	}
	return taken, nil
}

// pushFile brings a file, makes sure that it came whole, and gives it its name.
func (r *remote) pushFile(ctx context.Context, f item, progress func(done int64)) error {
	there := r.place(f.sum, f.name)
	part := path.Join(path.Dir(there), "part")
	if err := withOutput(r.ask(ctx, "mkdir -p "+quote(path.Dir(there)), r.o.Patience)); err != nil {
		return r.noRoomError(ctx, f, err)
	}
	if err := r.upload(ctx, f.local, part, f.size, progress); err != nil {
		return r.noRoomError(ctx, f, err)
	}
	// A device may read its storage at no more than this.
	const slowest = 20e6 // bytes/s
	reading := r.o.Patience + time.Duration(float64(f.size)/slowest*float64(time.Second))
	answer, err := r.ask(ctx, fmt.Sprintf("wc -c <%[1]s; { sha256sum %[1]s || shasum -a 256 %[1]s; } 2>/dev/null; :", quote(part)), reading)
	if err != nil {
		return err
	}
	words := strings.Fields(answer + " - -")
	if words[0] != strconv.FormatInt(f.size, 10) || len(words[1]) == len(f.sum) && words[1] != f.sum {
		return fmt.Errorf("what came there is not the file: %s bytes of %d, SHA-256 %s; try again", words[0], f.size, words[1])
	}
	return withOutput(r.ask(ctx, fmt.Sprintf("chmod 755 %[1]s && mv -f %[1]s %[2]s", quote(part), quote(there)), r.o.Patience))
}

// noRoomError makes the error of a push clearer if the target has no room, and removes the part that came.
func (r *remote) noRoomError(ctx context.Context, f item, err error) error {
	if !strings.Contains(strings.ToLower(err.Error()), "no space left") {
		return err
	}
	r.ask(ctx, "rm -rf "+quote(path.Dir(r.place(f.sum, f.name))), r.o.Patience)
	return r.fullError(ctx, "it needs "+size(f.size))
}

// withOutput adds to the error of a script what the script said.
func withOutput(answer string, err error) error {
	if answer = strings.TrimSpace(answer); err == nil || answer == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, lastLine(answer))
}

// lastLine is the last line with something in it, of no more than 300 bytes.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	text = strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
	return strings.ToValidUTF8(text[:min(len(text), 300)], "?")
}

// size is a number of bytes for people.
func size(bytes int64) string {
	switch {
	case bytes >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(bytes)/1e9)
	case bytes >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
	}
	return fmt.Sprintf("%.1f kB", float64(bytes)/1e3)
}
