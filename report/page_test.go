package report

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/longtest"
)

// TestPageBounds: the page of 780 recordings, five seeds and four splits is no
// larger than 3 MB, figures and all; with more conditions than it can hold it selects,
// stays as small and states the selection.
func TestPageBounds(t *testing.T) {
	const limit = 3_000_000
	d := campaign(4, 15, 13, 4, 5)
	page := Page([]*Detail{d})
	t.Logf("%d bytes", len(page))

	assert.LessOrEqual(t, len(page), limit, "the page has %d bytes, more than %d", len(page), limit)
	assert.False(t, strings.Contains(string(page), "an even selection was made"),
		"a selection is spoken of where everything is shown")

	shown := 780
	if longtest.IsLong() {
		d = campaign(4, 58, 13, 4, 5)
		shown = 3016
	}

	d.AllRows = 78_000
	d.AllConditions = 78_000
	page = Page([]*Detail{d})
	t.Logf("%d of 78000 conditions: %d bytes", shown, len(page))

	assert.LessOrEqual(t, len(page), limit, "the page of a large campaign has %d bytes, more than %d", len(page), limit)
	assert.Contains(t, string(page), fmt.Sprintf("an even selection: %d of 78000 triplets", shown))
	assert.Contains(t, string(page), "of 78000 conditions, evenly selected")
}

// TestSameBytes: the same details give the same page and figures.
func TestSameBytes(t *testing.T) {
	a := Page([]*Detail{campaign(2, 3, 5, 2, 2), airfoilOf("x")})
	b := Page([]*Detail{campaign(2, 3, 5, 2, 2), airfoilOf("x")})
	assert.Equal(t, b, a, "two pages of the same details differ")

	x := Figures(campaign(2, 3, 5, 2, 2))
	y := Figures(campaign(2, 3, 5, 2, 2))
	for i := range x {
		require.Equal(t, y[i].File, x[i].File, "figure %s differs", x[i].File)
		require.Equal(t, y[i].SVG, x[i].SVG, "figure %s differs", x[i].File)
		assert.Equal(t, y[i].CSV, x[i].CSV, "figure %s differs", x[i].File)
	}
}

// TestFigureFiles: every figure of two experiments is well-formed, has a name
// any file system accepts, is marked as simulated, and its CSV has as many
// columns in every line.
func TestFigureFiles(t *testing.T) {
	for _, d := range []*Detail{
		campaign(2, 3, 5, 2, 2), airfoilOf("../../etc/passwd"),
		airfoilOf(strings.Repeat("é", 300)), airfoilOf("CON.svg "),
	} {
		seen := map[string]bool{}
		for _, f := range Figures(d) {
			assert.False(t, seen[f.File], "file name %q", f.File)
			assert.Equal(t, filepath.Base(f.File), f.File, "file name %q", f.File)
			assert.False(t, strings.HasPrefix(f.File, "."), "file name %q", f.File)
			assert.LessOrEqual(t, len(f.File), 120, "file name %q", f.File)
			assert.False(t, strings.ContainsAny(f.File, `<>:"/\|?* `), "file name %q", f.File)

			seen[f.File] = true
			dec := xml.NewDecoder(bytes.NewReader(f.SVG))
			for {
				tok, err := dec.Token()
				if err == io.EOF {
					break
				} else if err != nil {
					t.Fatalf("%s: %v", f.File, err)
				}

				// The measured error is e's name: pairs measure it, simulated ones too.
				if text, ok := tok.(xml.CharData); ok && d.Experiment.Data == "simulated" &&
					!bytes.Contains(text, []byte(".dtf")) && strings.Contains(strings.ReplaceAll(string(text), "measured error", ""),
					"measured") {
					t.Errorf("%s calls simulated data measured: %s", f.File, text)
				}
			}

			if d.Experiment.Data == "simulated" && (!bytes.Contains(f.SVG, []byte("<title id=")) ||
				!bytes.Contains(f.SVG, []byte("Simulated data, "))) {
				t.Errorf("%s is not marked as simulated", f.File)
			}

			rows, err := csv.NewReader(bytes.NewReader(f.CSV)).ReadAll() // fails when lines differ in length
			require.NoError(t, err, "%s.csv", f.File)
			assert.GreaterOrEqual(t, len(rows), 2, "lines of %s.csv", f.File)
		}

		assert.GreaterOrEqual(t, len(seen), 3, "%d figures", len(seen))
	}
}

// TestOutcomesAreNamed: legends and axes name the kind of the outcomes.
func TestOutcomesAreNamed(t *testing.T) {
	for _, c := range []struct{ data, not string }{{"simulated", "measured"}, {"measured", "simulated"}} {
		d := airfoilOf("x")
		d.Experiment.Data = c.data

		var all []byte
		for _, f := range Figures(d) {
			all = append(all, f.SVG...)
		}

		for _, l := range []string{
			"%s mean", "share of %s values inside", "predicted and %s outcome",
		} {
			assert.Contains(t, string(all), string(fmt.Appendf(nil, l, c.data)))
			assert.NotContains(t, string(all), string(fmt.Appendf(nil, l, c.not)))
		}
	}
}

// TestDirectivityNumbers reads the pairs and the mean of a directivity figure
// from its CSV and compares them with the details it was drawn from.
func TestDirectivityNumbers(t *testing.T) {
	d := campaign(4, 15, 13, 2, 3)
	i := slices.IndexFunc(Figures(d), func(f FigureFile) bool { return f.File == "3-blades-directivity-bpf2_db-rpm-5500" })
	require.GreaterOrEqual(t, i, 0, "no such figure")

	rows, err := csv.NewReader(bytes.NewReader(Figures(d)[i].CSV)).ReadAll()
	require.NoError(t, err)

	// 5500 1/min is the eighth of fifteen speeds, the one in the middle.
	pairs := 0
	means := 0
	for _, r := range rows[1:] {
		b := strings.Index("2345", r[0][:1])
		x, _ := strconv.ParseFloat(r[4], 64)
		y, _ := strconv.ParseFloat(r[5], 64)

		c := (b*15+7)*13 + int(math.Round((x+60)/10))
		switch r[1] {
		case "pairs, trained on", "pairs, held out":
			pairs++

			if y != d.Y1[c*5+1] && y != d.Y2[c*5+1] {
				t.Errorf("%v: %v is none of the pair %v, %v", r[:5], y, d.Y1[c*5+1], d.Y2[c*5+1])
			}

			assert.Equal(t, b == 1, r[1] == "pairs, held out", "%v: held out", r[:2])

		case "mean μ":
			means++

			want := 0.0
			for _, s := range d.Splits[1].Seeds {
				want += s.Mu[c*5+1] / 3
			}

			assert.Equal(t, want, y, "%v: mean", r[:5])
		}
	}

	require.Equal(t, 4*13*2, pairs, "%d values of pairs, %d of means", pairs, means)
	assert.Equal(t, 4*13, means, "%d values of pairs, %d of means", pairs, means)
}

// TestDirectivityOfEveryPlace: there is a figure for every speed and harmonic of
// every split, with a panel for every blade count, and the page shows one of
// them a split; of very many places an even selection is drawn, and stated.
func TestDirectivityOfEveryPlace(t *testing.T) {
	d := campaign(4, 15, 13, 2, 1)

	have := map[string]string{}
	for _, f := range Figures(d) {
		have[f.File] = string(f.SVG)
	}

	for _, split := range []string{"2-blades", "3-blades"} {
		for s := range 15 {
			for m := 1; m <= 5; m++ {
				name := fmt.Sprintf("%s-directivity-bpf%d_db-rpm-%d", split, m, 2000+500*s)
				svg := have[name]
				for b := 2; b <= 5; b++ {
					assert.Contains(t, svg, fmt.Sprintf(`data-panel="%d blades`, b))
				}
			}
		}
	}

	page := string(Page([]*Detail{d}))
	headings := regexp.MustCompile(`<h[34]>[^<]*: directivity, `).FindAllString(page, -1)
	assert.Len(t, headings, 2, "the page shows directivities of two splits")

	// Two splits: 75 figures each.
	assert.Contains(t, page, "The files have 75 such figures")
	assert.Contains(t, page, "3-blades-directivity-bpf1_db-rpm-5500.csv")

	d = campaign(2, 100, 3, 1, 1)

	n := 0
	for _, f := range Figures(d) {
		if strings.Contains(f.File, "directivity-bpf3_db") {
			n++
		}
	}

	assert.Equal(t, directivityPlaces, n, "figures of a hundred speeds")
	assert.Contains(t, string(Page([]*Detail{d})), "of 60 of 100 places")
}

// No name brings a control character into the page, in text or attributes, and no invisible one but the isolates of
// isolate and the joiners that clean keeps.
func TestPagePrintable(t *testing.T) {
	for _, name := range hostileNames {
		page := string(Page([]*Detail{airfoilOf(name)}))
		i := strings.IndexFunc(page, func(r rune) bool {
			isHidden := unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
			return isHidden && !strings.ContainsRune("\n\t\u2068\u2069\u200c\u200d", r)
		})
		if i >= 0 {
			t.Errorf("%q: %q", name, page[max(0, i-60):min(len(page), i+20)])
		}
	}
}

// TestMetricsCSV reads two numbers back, one of them undefined.
func TestMetricsCSV(t *testing.T) {
	e := rotor()
	e.Name = "=1+1"
	data, err := MetricsCSV([]Experiment{e})
	require.NoError(t, err)
	rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	require.NoError(t, err)

	found := 0
	for _, r := range rows[1:] {
		require.Equal(t, "'=1+1", r[0], "name could be a formula")

		if r[2] == "2-blades" && r[4] == "train" && r[5] == "all" && r[7] == "r2" {
			found++
			if v, _ := strconv.ParseFloat(r[8], 64); v != e.Splits[0].Train.Get("r2").Mean {
				t.Errorf("R² %q", r[8])
			}
		}

		if r[2] == "2-blades" && r[4] == "train" && r[5] == "all" && r[7] == "e" {
			found++
			require.Empty(t, r[8], "undefined e: %q, %q", r[8], r[11])
			assert.Equal(t, biased, r[11], "undefined e: %q, %q", r[8], r[11])
		}
	}

	assert.Equal(t, 2, found, "found %d of two numbers", found)
}
