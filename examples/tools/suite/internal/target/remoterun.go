package target

import (
	"fmt"
	"strings"
)

// quote writes a string as one word of a POSIX shell, whatever bytes are in it. A byte 0 cannot be in any argument of a program, so
// it is not a case here: the shell drops it, and exec on this side refuses the command before.
func quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+,:@%", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func quoteAll(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return strings.Join(quoted, " ")
}

// remoteRun is one run of a program over there.
type remoteRun struct {
	mark    string // what begins the lines that the script itself writes on stderr
	folder  string // of this run alone: input, and the program's process
	command string // the program and its arguments, quoted
	input   int    // bytes of stdin
	plain   bool   // the link is plain: see link
}

// script returns the program of the shell over there for a remoteRun.
//
// The connection ends with the program, and the program with the connection. The host sends the input and then keeps the connection's stdin
// open as long as it lives: when that ends, so does the program. A hang-up, which adb sends, ends it as well. If there is setsid, the
// program gets a group of processes, so that its children end with it; otherwise they have to look after that themselves.
//
// The status comes in a line of the script's own, because adb's and ssh's are the same for a program that failed and a connection that
// broke. Input goes through a file, since stdin shows whether the host is there.
func (e *remoteRun) script() string {
	input, output, watch, remove := fmt.Sprintf(`head -c %d <&3 >"$d/in" || exit 1`, e.input), "", watchHost, `rm -rf "$d"`
	if e.input == 0 {
		input = `: >"$d/in"`
	}
	if e.plain { // the input has been put there, and the output is fetched afterwards
		input, output, watch, remove = "", `>"$d/out" 2>"$d/err"`, "w=", ""
	}
	return strings.NewReplacer("@FOLDER", quote(e.folder), "@MARK", e.mark, "@INPUT", input, "@COMMAND", e.command, "@OUTPUT", output,
		"@WATCH", watch, "@REMOVE", remove).Replace(errandScript)
}

const errandScript = `d=@FOLDER
p=
stop() { [ -z "$p" ] || kill -9 -$p || kill -9 $p; } 2>/dev/null
mkdir -p "$d" || exit 1
exec 3<&0
@INPUT
echo '@MARKstarted]' >&2
s=setsid; command -v setsid >/dev/null 2>&1 || s=
$s @COMMAND <"$d/in" 3<&- @OUTPUT &
p=$!
echo $p >"$d/process"
@WATCH
trap 'stop; rm -rf "$d"; exit 129' HUP INT TERM
wait $p
s=$?
[ -z "$w" ] || kill $w 2>/dev/null
@REMOVE
echo "@MARK$s]" >&2
`

// watchHost waits for the end of the host's stdin, on which nothing comes any more. It starts before there is a trap: Android's shell may
// otherwise keep the trap's signal, which ends the watch, from it. Nor does it keep the outputs open, since the host waits for their end.
const watchHost = `( exec >/dev/null 2>&1; read -r gone <&3; stop ) &
w=$!`

// stopScript ends what a remoteRun started, if the script itself has not noticed that the host is gone.
func (e *remoteRun) stopScript() string {
	return strings.ReplaceAll(`d=@FOLDER
p=$(cat "$d/process" 2>/dev/null) && { kill -9 -$p || kill -9 $p; } 2>/dev/null
rm -rf "$d"`, "@FOLDER", quote(e.folder))
}
