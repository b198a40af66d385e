package hub

import (
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// parseName takes a name apart into a reference: a repository of the hub with a revision, and a file or a type of file; or a URL of
// another server. Addresses of the hub's pages are names of models, too. For example:
//
//	hf:owner/name                                        revision main
//	hf:owner/name@v1:Q4_K_M                              revision v1, kind Q4_K_M
//	hf:owner/name/a/b.gguf@v1                            revision v1, file a/b.gguf
//	https://huggingface.co/owner/name/blob/main/b.gguf   revision main, file b.gguf
//	https://host/b.gguf#sha256=…                         url https://host/b.gguf, sha256

// scheme begins the names of models on the hub; two slashes may follow, as in the URIs of Python's library.
const scheme = "hf:"

// IsName reports whether a text is a name that Get fetches, and not a path. To mean a file with such a name, put ./ before it.
func IsName(text string) bool {
	for _, prefix := range []string{scheme, "https://", "http://"} {
		if len(text) >= len(prefix) && strings.EqualFold(text[:len(prefix)], prefix) {
			return true
		}
	}
	return false
}

// Base returns what to call a model for short: the last element of a path or of a name, without folder, revision and query.
func Base(name string) string {
	if !IsName(name) {
		return filepath.Base(name)
	}
	r, err := parseName(name, nil)
	switch {
	case err != nil:
		return name
	case r.url != nil:
		return path.Base(r.url.Path)
	case r.file != "":
		return path.Base(r.file)
	case r.kind != "":
		return r.name + ":" + r.kind
	}
	return r.name
}

// NameError is a malformed name, and the reason.
type NameError struct{ Name, Reason string }

// Error has the remedy, too.
func (e *NameError) Error() string {
	return e.Reason + " (names are hf:owner/name, hf:owner/name:Q4_K_M, hf:owner/name/file.gguf, each with @revision or without, " +
		"and https://host/file.gguf)"
}

// reference is what a name says. Either url is set, or owner and name are.
type reference struct {
	owner, name string
	revision    string // a branch, a tag or a commit; "": the main branch
	file        string // a path in the repository; "": not said
	kind        string // of GGUF file, as in Q4_K_M; "": not given. At most one of kind and file is given
	url         *url.URL
	sha256      string // of the file at url; "": not said
}

// The bounds on names, in bytes. Those on repositories and revisions are the hub's and Git's.
const (
	maxName       = 4096
	maxRepository = 96
	maxRevision   = 255
	maxKind       = 64
)

var (
	repositoryPart = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_])?`)
	kindText       = regexp.MustCompile(`^[A-Za-z0-9_]+([.-][A-Za-z0-9_]+)*$`)
	commitText     = regexp.MustCompile(`^[0-9a-f]{40}$`)
	// specialRef is a reference of the hub's own that has slashes wherever it stands.
	specialRef = regexp.MustCompile(`^refs/(pr|convert)/[A-Za-z0-9_.-]+`)
)

// parseName takes a name apart. endpoint, if not nil, is a further hub: addresses on it are names of models, too.
func parseName(text string, endpoint *url.URL) (*reference, error) {
	wrong := func(format string, a ...any) (*reference, error) {
		return nil, &NameError{text, fmt.Sprintf(format, a...)}
	}
	if len(text) > maxName {
		return wrong("the name has %d bytes, more than %d", len(text), maxName)
	}
	if !strings.EqualFold(text[:min(len(text), len(scheme))], scheme) {
		return parseURL(text, endpoint)
	}
	rest := strings.TrimPrefix(text[len(scheme):], "//")
	r := &reference{}
	var ok bool
	if r.owner, rest, ok = strings.Cut(rest, "/"); !ok || r.owner == "" || repositoryPart.FindString(r.owner) != r.owner {
		return wrong("%q is not the name of an owner, a slash and the name of a repository", text[len(scheme):])
	}
	r.name = repositoryPart.FindString(rest)
	rest = rest[len(r.name):]
	if err := checkRepository(r.owner, r.name); err != nil {
		return wrong("%v", err)
	}
	if after, ok := strings.CutPrefix(rest, "@"); ok {
		end := strings.IndexAny(after, "/:")
		if special := specialRef.FindString(after); special != "" {
			end = len(special)
		}
		if end < 0 {
			end = len(after)
		}
		revision, err := url.PathUnescape(after[:end])
		if err != nil {
			return wrong("%v", err)
		}
		r.revision, rest = revision, after[end:]
	} else if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		r.revision, rest = rest[i+1:], rest[:i]
	} else {
		r.revision = mainBranch
	}
	if !validRevision(r.revision) {
		return wrong("%q is not the name of a branch, a tag or a commit", r.revision)
	}
	switch {
	case rest == "" || rest == "/":
	case rest[0] == '/':
		if r.file = rest[1:]; !validPath(r.file) {
			return wrong("%q is not the path of a file in a repository", r.file)
		}
	case rest[0] == ':':
		if r.kind = rest[1:]; len(r.kind) > maxKind || !kindText.MatchString(r.kind) {
			return wrong("%q is not the type of a GGUF file, such as Q4_K_M or F16", r.kind)
		}
	default:
		return wrong("a repository's name cannot go on with %q", rest)
	}
	return r, nil
}

// mainBranch is the branch of names that give no branch.
const mainBranch = "main"

// String returns the repository's name, and the revision unless it is the main branch.
func (r *reference) String() string {
	if r.revision == mainBranch {
		return r.id()
	}
	return r.id() + "@" + r.revision
}

// id returns the repository's name as the hub writes it.
func (r *reference) id() string { return r.owner + "/" + r.name }

// checkRepository returns an error if a repository's name is malformed.
func checkRepository(owner, name string) error {
	id := owner + "/" + name
	switch {
	case name == "":
		return fmt.Errorf("the name of a repository is missing after %q", owner+"/")
	case len(id) > maxRepository:
		return fmt.Errorf("%q is longer than %d bytes", id, maxRepository)
	case strings.Contains(id, "--"), strings.Contains(id, ".."):
		return fmt.Errorf("%q has -- or .., which no repository has", id)
	case strings.HasSuffix(name, ".git"):
		return fmt.Errorf("%q ends in .git, as no repository does", id)
	}
	return nil
}

// validRevision reports whether a text can be the name of a branch or a tag, or a commit. It is also used as a path below the cache's
// folder of references.
func validRevision(text string) bool {
	if len(text) > maxRevision || strings.ContainsAny(text, "~^?*[@{ ") || strings.Contains(text, "..") {
		return false
	}
	for part := range strings.SplitSeq(text, "/") {
		if strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return validPath(text)
}

// maxPath bounds paths in repositories, in bytes.
const maxPath = 1024

// validPath reports whether a text is a path in a repository that stays below any folder that it is joined to, on every system.
func validPath(text string) bool {
	bad := func(r rune) bool { return r < ' ' || r == 0x7f || strings.ContainsRune(`\:*?"<>|`, r) }
	return len(text) <= maxPath && text != "." && fs.ValidPath(text) && !strings.ContainsFunc(text, bad) && filepath.IsLocal(filepath.FromSlash(text))
}

// publicHost reports whether a host is the public hub's.
func publicHost(host string) bool {
	return strings.EqualFold(host, "huggingface.co") || strings.EqualFold(host, "www.huggingface.co") || strings.EqualFold(host, "hf.co")
}

// parseURL takes a URL apart.
func parseURL(text string, endpoint *url.URL) (*reference, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Opaque != "" {
		return nil, &NameError{text, "the URL cannot be read"}
	}
	if r := hubAddress(u, endpoint); r != nil {
		return r, nil
	}
	if publicHost(u.Hostname()) {
		return nil, &NameError{text, "the address is neither of a model nor of a file of one"}
	}
	r := &reference{url: u}
	if sum, ok := strings.CutPrefix(u.Fragment, "sha256="); ok {
		r.sha256 = strings.ToLower(sum)
		if b, err := hex.DecodeString(sum); err != nil || len(b) != 32 {
			return nil, &NameError{text, "after #sha256= there must be 64 hexadecimal digits"}
		}
	}
	u.Fragment, u.RawFragment = "", ""
	if name := path.Base(u.Path); strings.HasSuffix(u.Path, "/") || !validPath(name) {
		return nil, &NameError{text, "the URL does not end in the name of a file"}
	}
	return r, nil
}

// hubAddress returns the model or file that an address on the hub shows, or nil: https://huggingface.co/owner/name, and the same
// followed by blob, resolve or raw, a revision and a file, or tree and a revision.
func hubAddress(u, endpoint *url.URL) *reference {
	escaped := u.EscapedPath()
	public := publicHost(u.Hostname())
	if !public {
		if endpoint == nil || !sameOrigin(u, endpoint) {
			return nil
		}
		below, ok := strings.CutPrefix(escaped, strings.TrimSuffix(endpoint.EscapedPath(), "/"))
		if !ok {
			return nil
		}
		escaped = below
	}
	parts := strings.Split(strings.Trim(escaped, "/"), "/")
	switch {
	case len(parts) == 2 && public:
		parts = append(parts, "tree", mainBranch)
	case len(parts) < 4:
		return nil
	}
	after := strings.Join(parts[3:], "/")
	if special := specialRef.FindString(after); special != "" {
		parts = append(parts[:3:3], append([]string{special}, strings.Split(strings.Trim(after[len(special):], "/"), "/")...)...)
	}
	for i, part := range parts {
		var err error
		if parts[i], err = url.PathUnescape(part); err != nil {
			return nil
		}
	}
	r := &reference{owner: parts[0], name: parts[1], revision: parts[3], file: strings.Join(parts[4:], "/")}
	switch parts[2] {
	case "blob", "resolve", "raw":
		if !validPath(r.file) {
			return nil
		}
	case "tree":
		if r.file != "" {
			return nil
		}
	default:
		return nil
	}
	if r.owner == "" || repositoryPart.FindString(r.owner) != r.owner || repositoryPart.FindString(r.name) != r.name ||
		checkRepository(r.owner, r.name) != nil || !validRevision(r.revision) {
		return nil
	}
	return r
}

// sameOrigin reports whether two URLs have the same scheme, host and port.
func sameOrigin(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

// port returns a URL's port, or that of its scheme.
func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if strings.EqualFold(u.Scheme, "https") {
		return "443"
	}
	return "80"
}
