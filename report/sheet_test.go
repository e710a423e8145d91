package report

import (
	"bytes"
	"strings"
	"testing"
)

// A sheet has its rows in a terminal, as LaTeX and on a page, whatever the names hold, and in a terminal fits the
// width.
func TestSheets(t *testing.T) {
	for _, name := range hostile {
		list := []Sheet{*sheetOf(name)}
		if rows := checkTeX(t, string(SheetsLaTeX(list))); rows == 0 || rows%2 != 0 { // in parts, if wide
			t.Errorf("%q: %d rows of LaTeX", name, rows)
		}

		for _, columns := range []int{80, 100, 200} {
			var b bytes.Buffer
			if err := Sheets(&b, list, columns, false); err != nil {
				t.Fatal(err)
			}

			if text := b.String(); !strings.Contains(text, "-83.74") || strings.ContainsAny(text, "\x1b\x00\u202e") {
				t.Errorf("%q: %s", name, text)
			}

			for l := range strings.Lines(b.String()) {
				if width(l) > columns {
					t.Errorf("%d columns in %d: %q", width(l), columns, l)
				}
			}
		}
	}

	page := string(Page([]*Detail{airfoilOf("cl")}))
	for _, want := range []string{
		"<h3>Uncertainty of a measurement</h3>", `<caption><span>cl</span></caption>`, `<p class="note">cl = 2.0</p>`,
		`<th scope="row"><bdi>area_m2</bdi></th><td class="text"><bdi>B</bdi></td><td>0.867</td>`, "<td>−83.74</td>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
}
