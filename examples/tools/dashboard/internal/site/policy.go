package site

// plotStyle is the style sheet that Observable Plot puts into each picture, for the class "plot". The policies name it by its hash; a browser
// would otherwise leave it out.
const plotStyle = `:where(.plot) {
  --plot-background: white;
  display: block;
  height: auto;
  height: intrinsic;
  max-width: 100%;
}
:where(.plot text),
:where(.plot tspan) {
  white-space: pre;
}`

// Nothing turns text into HTML or scripts; a browser that knows of trusted types would refuse to.
const everywhere = "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'; "

// servedPolicy lets the page run its own scripts and ask its own server, and nothing else.
var servedPolicy = everywhere + "script-src 'self'; style-src 'self' " + sourceOf([]byte(plotStyle)) + "; connect-src 'self'; frame-ancestors 'none'"

// exportedPolicy lets the page run the scripts that are in it, and ask nobody.
func (p *page) exportedPolicy() string {
	scripts := ""
	for i := range p.scripts {
		scripts += " " + p.scripts[i].source()
	}
	return everywhere + "script-src" + scripts + "; style-src " + p.styles.source() + " " + sourceOf([]byte(plotStyle))
}
