package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

// ssh is the link to another machine through the program ssh.
type ssh struct {
	program string
	host    string // as it was given, with the port
	args    []string
	o       Options
}

// withPort matches HOST:PORT. The host may be an address of IPv6 in brackets.
var withPort = regexp.MustCompile(`^(.*@)?(?:\[([^\]]*)\]|([^:@]*)):([0-9]{1,5})$`)

func openSSH(ctx context.Context, host string, o Options) (Target, error) {
	// A name with a dash in front would be an option of ssh.
	if strings.HasPrefix(host, "-") || strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' }) {
		return nil, fmt.Errorf("ssh:%s: that is no host: it is HOST, USER@HOST or an alias of ssh's configuration, perhaps with :PORT behind it", host)
	}
	program := environment(o.SSH, "ANTIGRAVITY_SSH")
	if program == "" {
		program = "ssh"
	}
	program, err := exec.LookPath(program)
	if err != nil {
		return nil, fmt.Errorf("find the program ssh: %w: install OpenSSH's client, or name it in ANTIGRAVITY_SSH", err)
	}
	l := &ssh{program: program, host: host, o: o, args: []string{
		"-T", "-o", "BatchMode=yes", // it never asks: nobody may be there
		"-o", "ConnectTimeout=15", "-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=4"}} // a machine that is gone is noticed in a minute
	if m := withPort.FindStringSubmatch(host); m != nil {
		l.args = append(l.args, "-p", m[4])
		host = m[1] + m[2] + m[3]
	}
	l.args = append(l.args, "--", host)
	r := &remote{link: l, o: o, folder: o.Folder, sums: map[string]string{}}
	if o.Folder == "" {
		answer, err := r.ask(ctx, `cd && echo "${XDG_CACHE_HOME:-$PWD/.cache}/antigravity"`, o.Patience)
		if err != nil {
			return nil, err
		}
		r.folder = lastLine(answer)
	}
	return r, nil
}

func (l *ssh) name() string { return "ssh:" + l.host }

func (l *ssh) plain() bool { return false }

func (l *ssh) command(ctx context.Context, script string) *exec.Cmd {
	// The user's shell over there may be any, so all that it gets to do is to start the one that scripts are written for.
	return exec.CommandContext(ctx, l.program, append(l.args[:len(l.args):len(l.args)], "exec sh -c "+quote(script))...)
}

func (l *ssh) upload(ctx context.Context, local, remote string, size int64, progress func(done int64)) error {
	f, err := os.Open(local)
	if err != nil {
		return err
	}
	defer f.Close()
	cmd := l.command(ctx, "cat >"+quote(remote))
	var said limited
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &counted{r: f, progress: progress}, &said, &said
	cmd.WaitDelay = waitDelay
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &exit), err != nil && said.Len() > 0:
		return l.explain(ctx, said.String())
	}
	return err
}

// counted is a reader that says how much has been read.
type counted struct {
	r        io.Reader
	done     int64
	progress func(done int64)
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.done += int64(n)
	c.progress(c.done)
	return n, err
}

func (l *ssh) download(context.Context, string, io.Writer) error {
	return errors.ErrUnsupported // no ssh is plain
}

// refusals are what ssh says when it does not come through, and what a person can do.
var refusals = []struct{ said, advice string }{
	{"could not resolve hostname", "there is no host of that name: look for a slip in it, or for the alias in ~/.ssh/config"},
	{"remote host identification has changed", "its key is another one than before: if that is known to be right, ssh-keygen -R removes the old one"},
	{"host key verification failed", "its key is not known here: connect once by hand with ssh, and compare the key"},
	{"permission denied (", "it refuses the user or the key: make ssh come through without a password (ssh-copy-id, ssh-agent), and name the user as ssh:USER@HOST"},
	{"too many authentication failures", "ssh offered it too many keys: name the right one in ~/.ssh/config (IdentityFile, IdentitiesOnly)"},
	{"connection refused", "no ssh server listens there: start one, or give the port as ssh:HOST:PORT"},
	{"timed out", "it does not answer: look whether it is on, and on this network"},
	{"no route to host", "it does not answer: look whether it is on, and on this network"},
	{"network is unreachable", "it does not answer: look whether it is on, and on this network"},
	{"broken pipe", "the connection broke: repeat the command"},
	{"closed by remote host", "the connection broke: repeat the command"},
	{"connection reset", "the connection broke: repeat the command"},
}

func (l *ssh) explain(_ context.Context, said string) error {
	small := strings.ToLower(said)
	for _, r := range refusals {
		if strings.Contains(small, r.said) {
			return errors.New(r.advice)
		}
	}
	if said = lastLine(said); said == "" {
		return errors.New("it stopped answering: look whether it is on, and repeat the command")
	}
	return errors.New(said)
}

// systems and machines are Go's words for what uname says.
var (
	systems  = map[string]string{"Linux": "linux", "Darwin": "darwin", "FreeBSD": "freebsd", "NetBSD": "netbsd", "OpenBSD": "openbsd"}
	machines = map[string]string{
		"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64", "i386": "386", "i686": "386",
		"armv6l": "arm", "armv7l": "arm", "riscv64": "riscv64", "ppc64le": "ppc64le", "s390x": "s390x", "loongarch64": "loong64",
	}
)

func (l *ssh) platform(ctx context.Context, r *remote) (goos, goarch string, err error) {
	answer, err := r.ask(ctx, "uname -s; uname -m", l.o.Patience)
	if err != nil {
		return "", "", err
	}
	words := strings.Fields(answer + " - -")
	goos, goarch = systems[words[0]], machines[words[1]]
	if goos == "" || goarch == "" {
		return "", "", fmt.Errorf("%s calls itself %s %s, for which there is no program", l.name(), words[0], words[1])
	}
	return goos, goarch, nil
}
