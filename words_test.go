package antigravity

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// tics are turns of phrase that make comments hard to read, and how often the tree's Go comments may have them. A ceiling only goes down: whoever
// rewrites comments lowers it to what is left.
var tics = []struct {
	phrase  *regexp.Regexp
	instead string
	ceiling int
}{
	{regexp.MustCompile(`(?i)\btells?\b`), "returns, reports, says", 2},
	{regexp.MustCompile(`(?i)\b(of which|of whom|whose)\b`), "two sentences", 3},
	{regexp.MustCompile(`(?i)\bwhere (it|there|they|that|this|a|an|the|no|its|nothing|one)\b`), "if", 0},
	{regexp.MustCompile(`(?i)\bwhat (is|are|was|were)\b`), "the noun", 1},
	{regexp.MustCompile(`\bnone\b`), "nil, 0, empty, no …", 8},
	{regexp.MustCompile(`(?i)\bbeside\b`), "besides, with, next to", 3},
	{regexp.MustCompile(`(?i)\bso (many|much)\b`), "the parameter's name", 0},
}

// TestTics counts them.
func TestTics(t *testing.T) {
	counts := make([]int, len(tics))
	eachGoFile(t, func(file string, parsed *ast.File) {
		for _, group := range parsed.Comments {
			text := group.Text()
			for i, tic := range tics {
				counts[i] += len(tic.phrase.FindAllString(text, -1))
			}
		}
	})
	for i, tic := range tics {
		if counts[i] > tic.ceiling {
			t.Errorf("comments have %q %d times, the ceiling is %d: write %s", tic.phrase, counts[i], tic.ceiling, tic.instead)
		}
	}
}

// mostWords bounds the sentences of README.md and of the packages' pages.
const mostWords = 40

// longSentences is how many sentences of the packages' pages are longer. It only goes down.
const longSentences = 0

// TestSentences finds sentences that are too long to be understood at once.
func TestSentences(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var prose strings.Builder
	code := false
	for line := range strings.Lines(string(page)) {
		switch {
		case strings.HasPrefix(line, "```"):
			code = !code
		case code || strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "#"):
			prose.WriteString("\n\n")
		default:
			prose.WriteString(line)
		}
	}
	for _, s := range sentences(prose.String()) {
		t.Errorf("README.md has a sentence of more than %d words: %q", mostWords, s)
	}
	long := 0
	eachGoFile(t, func(file string, parsed *ast.File) {
		if parsed.Doc == nil || strings.HasSuffix(file, "_test.go") {
			return
		}
		for _, s := range sentences(parsed.Doc.Text()) {
			long++
			t.Logf("%s: %q", file, s)
		}
	})
	if long != longSentences {
		t.Errorf("the packages' pages have %d sentences of more than %d words, not %d", long, mostWords, longSentences)
	}
}

// sentences returns those sentences of a text that have more than mostWords words. Lists, code and headings are no sentences.
func sentences(text string) (long []string) {
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if strings.HasPrefix(paragraph, "\t") || strings.HasPrefix(paragraph, " ") {
			continue
		}
		for _, s := range regexp.MustCompile(`[.!?:;]["')*]*\s|\n[*-] `).Split(paragraph+" ", -1) {
			if len(strings.Fields(s)) > mostWords {
				long = append(long, strings.Join(strings.Fields(s), " "))
			}
		}
	}
	return long
}

// eachGoFile calls f for each Go file of the repository that somebody wrote. f must not change it: the files are parsed once for all tests.
func eachGoFile(t *testing.T, f func(file string, parsed *ast.File)) {
	t.Helper()
	files, err := goFiles()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		f(file.name, file.parsed)
	}
}

// goFile is a file of the repository.
type goFile struct {
	name   string
	parsed *ast.File
}

var goFiles = sync.OnceValues(func() (files []goFile, err error) {
	err = filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && file != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(file, ".go") || file == "words_test.go":
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err == nil && !ast.IsGenerated(parsed) {
			files = append(files, goFile{filepath.ToSlash(file), parsed})
		}
		return err
	})
	return files, err
})
