package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A page is a picture, and its text a file of the same name with .md at the end, next to it or in another folder. The text exists if the page is done: it is
// written to a temporary file first, which takes the name when it is complete.

// page is a page to read.
type page struct{ picture, text string }

// pictures end the names of files that are pages.
var pictures = []string{".png", ".jpg", ".jpeg", ".gif", ".webp"}

// findPages returns the pages that paths name, in the order of their names: files, and all pictures in folders but those with names that begin with a point.
// Their texts lie in the folder out, if it is not "".
func findPages(paths []string, out string) (list []page, err error) {
	from := map[string]string{} // the picture of a text
	add := func(picture, name string) error {
		p := page{picture, picture + ".md"}
		if out != "" {
			p.text = filepath.Join(out, name+".md")
		}
		if other, ok := from[p.text]; ok && other != picture {
			return fmt.Errorf("%s and %s would both become %s: name their folders one at a time", other, picture, p.text)
		} else if !ok {
			from[p.text] = picture
			list = append(list, p)
		}
		return nil
	}
	for _, root := range paths {
		info, err := os.Stat(root)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			if err := add(root, filepath.Base(root)); err != nil {
				return nil, err
			}
			continue
		}
		err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case path != root && strings.HasPrefix(e.Name(), "."):
				if e.IsDir() {
					return fs.SkipDir
				}
				return nil
			case e.IsDir() || !slices.Contains(pictures, strings.ToLower(filepath.Ext(path))):
				return nil
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			return add(path, name)
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// undone returns the pages without a text that is as new as the picture.
func undone(pages []page) (list []page) {
	for _, p := range pages {
		text, err := os.Stat(p.text)
		picture, other := os.Stat(p.picture)
		if err != nil || other != nil || text.ModTime().Before(picture.ModTime()) {
			list = append(list, p)
		}
	}
	return list
}

// write writes the text of a page, all of it or nothing.
func (p *page) write(text string) (err error) {
	dir := filepath.Dir(p.text)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".ocr-*")
	if err != nil {
		return err
	}
	defer func() {
		f.Close()
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	if _, err := f.WriteString(strings.TrimSpace(text) + "\n"); err != nil {
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), p.text)
}
