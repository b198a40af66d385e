package main

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/internal/atomicfile"
)

// formats are the kinds of files that results can be drawn to.
var formats = map[string]func(w io.Writer, rows []row) error{
	".svg":  drawSVG,
	".png":  drawPNG,
	".html": drawHTML,
}

// checkPlot refuses a file that results cannot be drawn to. It is called before hours of measuring.
func checkPlot(path string) error {
	if path != "" && formats[filepath.Ext(path)] == nil {
		return cli.Usagef("-plot %s: the name must end with one of %s", path, strings.Join(slices.Sorted(maps.Keys(formats)), ", "))
	}
	return nil
}

// drawFile draws results to a file of the kind that its name says.
func drawFile(path string, rows []row) error {
	return atomicfile.Write(path, func(w io.Writer) error { return formats[filepath.Ext(path)](w, rows) })
}

// The size of the drawing of one group, and of the column with the names of the lines to the right of all groups.
const (
	panelWidth  = 12 * vg.Centimeter
	panelHeight = 8 * vg.Centimeter
	legendWidth = 3.8 * vg.Centimeter
)

// panel draws a group, accuracy against budget, a line a policy; and the names of the lines.
func (g *group) panel() (*plot.Plot, plot.Legend, error) {
	p, legend := plot.New(), plot.NewLegend()
	legend.Top, legend.ThumbnailWidth = true, vg.Centimeter
	p.Title.Text = g.name + ", " + g.kv + " cache"
	p.X.Label.Text, p.Y.Label.Text = "part of the prompt that stays", "accuracy"
	p.Y.Min, p.Y.Max = -0.02, 1.02
	p.Y.Tick.Marker = plot.ConstantTicks(ticks([]float64{0, 0.25, 0.5, 0.75, 1}))
	p.X.Max, p.X.Scale = 1, plot.LogScale{}
	p.X.Tick.Marker = plot.ConstantTicks(ticks(g.budgets()))
	p.Add(plotter.NewGrid())
	for i, policy := range g.policies() {
		var points plotter.XYs
		for _, b := range g.budgets() {
			if s, ok := g.score(policy, b); ok {
				points = append(points, plotter.XY{X: b, Y: s.Accuracy})
			}
		}
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, legend, fmt.Errorf("%s: %w", policy, err)
		}
		line.Color, line.Dashes, line.Width = plotutil.Color(i), plotutil.Dashes(i/7), vg.Points(1.5)
		dots.Color, dots.Shape = line.Color, plotutil.Shape(i)
		p.Add(line, dots)
		legend.Add(policy, line, dots)
	}
	return p, legend, nil
}

// ticks labels an axis.
func ticks(values []float64) (list []plot.Tick) {
	for _, v := range values {
		list = append(list, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', -1, 64)})
	}
	return list
}

// drawPanels draws the groups: those of one type of cache in a row, and a row for each type.
func drawPanels(rows []row, canvas func(w, h vg.Length) vg.CanvasSizer) error {
	var panels [][]*plot.Plot
	var legend plot.Legend // the same for all panels
	last := ""
	for _, g := range groups(rows) {
		p, names, err := g.panel()
		if err != nil {
			return err
		}
		legend = names
		if len(panels) == 0 || g.kv != last {
			panels = append(panels, nil)
			last = g.kv
		}
		panels[len(panels)-1] = append(panels[len(panels)-1], p)
	}
	columns := len(panels[0])
	width := vg.Length(columns) * panelWidth
	c := draw.New(canvas(width+legendWidth, vg.Length(len(panels))*panelHeight))
	legend.Draw(draw.Crop(c, width, -vg.Centimeter/4, 0, -vg.Centimeter))
	tiles := draw.Tiles{Rows: len(panels), Cols: columns, PadX: vg.Centimeter / 2, PadY: vg.Centimeter / 2}
	for i, line := range plot.Align(panels, tiles, draw.Crop(c, 0, -legendWidth, 0, 0)) {
		for j := range line {
			panels[i][j].Draw(line[j])
		}
	}
	return nil
}

func drawSVG(w io.Writer, rows []row) error {
	var c *vgsvg.Canvas
	err := drawPanels(rows, func(w, h vg.Length) vg.CanvasSizer {
		c = vgsvg.New(w, h)
		return c
	})
	if err != nil {
		return err
	}
	_, err = c.WriteTo(w)
	return err
}

func drawPNG(w io.Writer, rows []row) error {
	var c *vgimg.Canvas
	err := drawPanels(rows, func(w, h vg.Length) vg.CanvasSizer {
		c = vgimg.New(w, h)
		return c
	})
	if err != nil {
		return err
	}
	_, err = vgimg.PngCanvas{Canvas: c}.WriteTo(w)
	return err
}

// page is a drawing with the figures below it.
var page = template.Must(template.New("page").Parse(`<!doctype html>
<meta charset="utf-8">
<title>Accuracy against cache budget</title>
<style>body { font: 15px sans-serif; margin: 2em } svg { max-width: 100%; height: auto }</style>
<h1>Accuracy against cache budget</h1>
{{.Drawing}}
{{range .Tables}}<pre>{{.}}</pre>
{{end}}`))

func drawHTML(w io.Writer, rows []row) error {
	var svg bytes.Buffer
	if err := drawSVG(&svg, rows); err != nil {
		return err
	}
	_, drawing, ok := strings.Cut(svg.String(), "<svg") // without the prologue of a file
	if !ok {
		return fmt.Errorf("the drawing has no <svg>")
	}
	var tables []string
	for _, g := range groups(rows) {
		var b strings.Builder
		if _, err := g.table().WriteTo(&b); err != nil {
			return err
		}
		tables = append(tables, b.String())
	}
	return page.Execute(w, struct {
		Drawing template.HTML
		Tables  []string
	}{template.HTML("<svg" + drawing), tables})
}
