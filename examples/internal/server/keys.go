package server

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/llama/serve"
)

// clients are who may use the server, and how much.
type clients struct {
	keys     []serve.Key
	accounts map[string]serve.Account // of the clients that the file says something of
}

// clients reads the file of keys, if there is one, and warns if others than its owner can read it.
func (c *command) clients(stderr io.Writer) (read clients, err error) {
	if c.keyFile == "" {
		return read, nil
	}
	f, err := os.Open(c.keyFile)
	if err != nil {
		return read, fmt.Errorf("-key-file: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		fmt.Fprintf(stderr, "warning: others than its owner can use %s: chmod 600 keeps the keys secret\n", c.keyFile)
	}
	if read, err = readClients(f); err != nil {
		return read, fmt.Errorf("-key-file %s: %w", c.keyFile, err)
	}
	return read, nil
}

// readClients reads keys: each line is a secret, or a name and a secret, and after them what its owner may use (see setTerm):
//
//	ann 4f1c… requests/minute=60 tokens/day=200000
//	bob 8e07… cache=team
//
// Empty lines count for nothing, nor does what follows # at the beginning of a line or after a space. A key without a name has one made of its
// secret (see keyName), which stays the same wherever the line stands. Of several keys of one name the last that says how much is used counts
// for all.
func readClients(r io.Reader) (read clients, err error) {
	read.accounts = map[string]serve.Account{}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if n == 1 {
			line = strings.TrimPrefix(line, "\ufeff") // which some editors begin a file with
		}
		if !utf8.ValidString(line) || strings.ContainsRune(line, 0) {
			return read, fmt.Errorf("line %d is not text: the file must be UTF-8", n)
		}
		if err := read.add(wordsOf(line)); err != nil {
			return read, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return read, err
	}
	if len(read.keys) == 0 {
		return read, errors.New("there is no key in it, and without one nobody could be let in")
	}
	return read, nil
}

// wordsOf returns the words of a line, up to a comment.
func wordsOf(line string) []string {
	words := strings.Fields(line)
	for i, word := range words {
		if word[0] == '#' {
			return words[:i]
		}
	}
	return words
}

// leastSecret is how many bytes a secret has at least.
const leastSecret = 16

// keyName returns the name of a key without one in the file: "key 2c26b46b68", of the secret's hash, since logs show it. Clients keep their
// caches and what they have used by name. The number of a line would give them to another client when a line is put in above.
func keyName(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return fmt.Sprintf("key %x", sum[:5])
}

// add adds the key in the words of a line, and the account of its owner.
func (c *clients) add(words []string) error {
	end := len(words)
	for end > 0 && isTerm(words[end-1]) {
		end--
	}
	var key serve.Key
	switch end {
	case 0:
		if len(words) > 0 {
			return errors.New("it has no secret before what its owner may use")
		}
		return nil
	case 1:
		key = serve.Key{Name: keyName(words[0]), Secret: words[0]}
	case 2:
		key.Name, key.Secret = words[0], words[1]
	default:
		return fmt.Errorf("it has %d words: it must be a secret, or a name and a secret, and then any of %s", len(words), termForms)
	}
	var account serve.Account
	for _, word := range words[end:] {
		if err := setTerm(&account, word); err != nil {
			return err
		}
	}
	if n := len(key.Secret); n < leastSecret {
		return fmt.Errorf("its secret has %d characters, and must have %d or more, since it could be guessed: openssl rand -hex 16 prints one", n, leastSecret)
	}
	c.keys = append(c.keys, key)
	if end < len(words) {
		c.accounts[key.Name] = account
	}
	return nil
}

const termForms = "requests/minute=N, tokens/day=N, cache=NAME"

// termForm is the form of words that say what a client may use, known ones and misspelt ones. A secret of this form is refused rather than
// a limit taken for a secret.
var termForm = regexp.MustCompile(`^(?:[a-z]+/[a-z]+|cache)=`)

func isTerm(word string) bool { return termForm.MatchString(word) }

// setTerm reads one word of what a client may use.
func setTerm(a *serve.Account, word string) error {
	name, value, _ := strings.Cut(word, "=")
	n, err := strconv.ParseInt(value, 10, 64)
	number := err == nil && n > 0
	switch {
	case name == "requests/minute" && number && n <= math.MaxInt32:
		a.RequestsPerMinute = int(n)
	case name == "tokens/day" && number:
		a.TokensPerDay = n
	case name == "cache" && value != "":
		a.Cache = value
	default:
		return fmt.Errorf("%q must be one of %s, where N is a whole number, 1 or more", word, termForms)
	}
	return nil
}
