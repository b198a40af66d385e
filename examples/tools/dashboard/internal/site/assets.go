// Package site is the dashboard's web page: served to browsers on this machine, or written to one file that needs no server.
//
// The page is the same in both forms: the files of assets/css in one style sheet, those of assets/js in one function, and two vendored
// libraries. It loads nothing from anywhere else.
package site

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"fmt"
)

//go:embed assets
var embedded embed.FS

// The parts of the page, in the order in which they stand in it. Of our scripts only the last does anything by itself.
var (
	styleNames  = []string{"base.css", "layout.css", "controls.css", "charts.css"}
	scriptNames = []string{"dom.js", "format.js", "state.js", "data.js", "charts.js", "filters.js", "sections.js", "views.js", "table.js", "run.js", "main.js"}
)

// part is a style sheet or a script as it is sent or written.
type part struct {
	name        string // below assets/, as it is served
	contentType string
	content     []byte
}

// etag changes with the content.
func (p *part) etag() string {
	sum := sha256.Sum256(p.content)
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}

// source is the part as a policy names it.
func (p *part) source() string { return sourceOf(p.content) }

func sourceOf(content []byte) string {
	sum := sha256.Sum256(content)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// page is the parts of the page.
type page struct {
	document []byte // with places for what follows
	styles   part
	scripts  []part
}

const (
	cssType    = "text/css; charset=utf-8"
	scriptType = "text/javascript; charset=utf-8"
	htmlType   = "text/html; charset=utf-8"
)

// load puts the page's parts together.
func load() (*page, error) {
	p := &page{}
	var err error
	if p.document, err = embedded.ReadFile("assets/index.html"); err != nil {
		return nil, fmt.Errorf("read the page: %w", err)
	}
	styles, err := join("assets/css/", styleNames)
	if err != nil {
		return nil, err
	}
	p.styles = part{"dashboard.css", cssType, styles}
	for _, name := range []string{"d3/d3.min.js", "plot/plot.umd.min.js"} {
		content, err := embedded.ReadFile("assets/vendor/" + name)
		if err != nil {
			return nil, fmt.Errorf("read the page: %w", err)
		}
		p.scripts = append(p.scripts, part{name, scriptType, content})
	}
	script, err := join("assets/js/", scriptNames)
	if err != nil {
		return nil, err
	}
	p.scripts = append(p.scripts, part{"dashboard.js", scriptType, []byte("(() => {\n'use strict';\n" + string(script) + "})();\n")})
	return p, nil
}

// join appends embedded files to each other.
func join(folder string, names []string) ([]byte, error) {
	var all bytes.Buffer
	for _, name := range names {
		content, err := embedded.ReadFile(folder + name)
		if err != nil {
			return nil, fmt.Errorf("read the page: %w", err)
		}
		all.Write(content)
		all.WriteByte('\n')
	}
	return all.Bytes(), nil
}

// fillIn replaces the places of the document. Each stands in it once.
func (p *page) fillIn(policy, styles, data, scripts []byte) []byte {
	document := p.document
	for _, place := range []struct {
		name    string
		content []byte
	}{{"policy", policy}, {"styles", styles}, {"scripts", scripts}, {"data", data}} { // data last: nothing in them is taken for a place
		document = bytes.Replace(document, []byte("<!--"+place.name+"-->"), place.content, 1)
	}
	return document
}
