package page

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestFormulas holds the MathML of formulas, written down by hand from what LaTeX's books and MathML's specification say. The elements'
// letters m and attributes are left out.
func TestFormulas(t *testing.T) {
	f := start(t, says("x"))
	b := open(t, f.URL)
	for text, want := range map[string]string{
		`$E=mc^2$`:                                 `i:E o:= i:m sup(i:c n:2)`,
		`\(x_{i}^{2}\)`:                            `subsup(i:x i:i n:2)`,
		`$$\frac{a+1}{2}$$`:                        `frac(row(i:a o:+ n:1) n:2)`,
		`$\sqrt[3]{x}-\sqrt y$`:                    `root(i:x n:3) o:− sqrt(i:y)`,
		`$\alpha\leq\Omega$`:                       `i:α o:≤ i:Ω`,
		`$$\sum_{i=1}^n i$$`:                       `underover(o:∑ row(i:i o:= n:1) i:n) i:i`,
		`$\int_0^1 f'(x)\,dx$`:                     `subsup(o:∫ n:0 n:1) sup(i:f o:′) o:( i:x o:) space i:d i:x`,
		`$\lim_{x\to0}$`:                           `under(o:lim row(i:x o:→ n:0))`,
		`$\left(\frac12\right]$`:                   `row(o:( frac(n:1 n:2) o:])`,
		`$\mathbb{R}\mathbf{v}\mathcal F$`:         `i:ℝ i:𝐯 i:ℱ`,
		`$\hat{x}\overline{ab}$`:                   `over(i:x o:^) over(row(i:a i:b) o:‾)`,
		`$\text{if } x$`:                           "text:if\u00a0 i:x",
		`\[\begin{pmatrix}1&0\\0&1\end{pmatrix}\]`: `row(o:( table(tr(td(n:1) td(n:0)) tr(td(n:0) td(n:1))) o:))`,
		`$$a\\b$$`:                                 `table(tr(td(i:a)) tr(td(i:b)))`,
		`$\unknown{x}$`:                            `text:\unknown i:x`,
		`$\binom nk\neq\{a\}$`:                     `row(o:( frac(i:n i:k) o:)) o:≠ o:{ i:a o:}`,
		`$\operatorname{softmax}(z)_i$`:            `o:softmax o:( i:z sub(o:) i:i)`,
		`$50\%$`:                                   `n:50 i:%`,
		`$\frac{a$`:                                `error`,
		`$a}$`:                                     `error`,
		`$\begin{x}\end{x}$`:                       `error`,
		`$x^$`:                                     `error`,
	} {
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		got := js[string](b, fmt.Sprintf(`import('/page/js/formula.js').then(({ formula }) => {
			const said = (e) => e.children.length ? e.localName.slice(1) + '(' + [...e.children].map(said).join(' ') + ')'
				: e.localName === 'mspace' ? 'space' : e.localName.slice(1) + ':' + e.textContent;
			try { return [...formula(%s).children].map(said).join(' '); } catch { return 'error'; }
		})`, quoted))
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// Whatever stands between the signs of a formula, it is drawn or stays a text, soon.
func TestFormulasOfAnything(t *testing.T) {
	f := start(t, says("x"))
	b := open(t, f.URL)
	wrong := js[string](b, `import('/page/js/formula.js').then(({ formula }) => {
		const pieces = ['{', '}', '^', '_', '&', '\\\\', "'", '\\left(', '\\right)', '\\frac', '\\sqrt[', ']', '\\begin{cases}', '\\end{cases}', '\\begin{array}{lcr}', '\\end{array}',
			'\\hat', '\\not', '\\text{', '\\mathbf', '\\sum', '\\limits', '\\substack{', '\\displaystyle', '\\middle|', '\\color{red}', '\\', ' ', 'x', '1', '𝕏', '\u0000', '\ud800', '%', '\n', '$'];
		let seed = 1;
		const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
		for (let i = 0; i < 20000; i++) {
			const text = '$' + Array.from({ length: 1 + random(12) }, () => pieces[random(pieces.length)]).join('') + '$';
			try { formula(text); } catch (error) { if (!(error instanceof Error) || error instanceof TypeError || error instanceof RangeError) return text + ': ' + error; }
		}
		for (const piece of pieces) {
			const start = performance.now();
			try { formula('$' + piece.repeat(5000) + '$'); } catch (error) { if (error instanceof TypeError || error instanceof RangeError) return piece + ': ' + error; }
			if (performance.now() - start > 5000) return piece + ' takes long';
		}
		return '';
	})`)
	if wrong != "" {
		t.Error(wrong)
	}
}

// Formulas in Markdown are shown as formulas, and money as money.
func TestFormulasInText(t *testing.T) {
	f := start(t, func(r request, a *answer) {
		for _, letter := range r.last() {
			a.say(string(letter))
		}
		a.end("stop")
	})
	b := open(t, f.URL)
	for text, want := range map[string]int{
		"It is $E=mc^2$, as \\(a_1*b*c\\) is.":            2,
		"It costs $5 and then $10, or $5-$10.":            0,
		"It costs 5$ and 10$ a day":                       0,
		"As code: `$x$`":                                  0,
		"Block:\n\n$$\n\\frac{a}{b}\n= c\n$$\n\nand more": 1,
		"At once:\n\\[\nx = 1\n\\]\ngoes on":              1,
		"Escaped \\$5 and \\$6":                           0,
		"| a | b |\n|---|---|\n| $x^2$ | $y_1$ |":         2,
		"* $a$\n* **bold $b$**":                           2,
		"$\\frac{never$ closed":                           0,
	} {
		b.button("New conversation")
		js[chromedp.Void](b, fmt.Sprintf(`{ const field = document.querySelector('#prompt'); field.value = %q; field.dispatchEvent(new Event('input')); }`, text))
		b.do(chromedp.Focus(chromedp.CSS("#prompt")))
		b.press("Enter", "Enter", 13, chromedp.ModifierNone)
		b.answered()
		if want > 0 {
			b.until("document.querySelector('.prose math')")
		}
		equal(t, text, js[int](b, "document.querySelectorAll('.prose math').length"), want)
	}
	b.button("New conversation")
	b.ask("Hence $x^2$.")
	b.until("document.querySelector('.prose math')")
	b.until(`document.querySelector('#announcer').textContent === 'Hence x^2.'`)
}
