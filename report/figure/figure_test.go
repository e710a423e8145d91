package figure

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// every is a figure with a mark of each kind.
func every() *Figure {
	x := []float64{-60, -30, 0, 30, 60}
	y := []float64{52, 55.5, 58.25, 54, 50}

	return &Figure{
		ID: "every", Title: "Every kind of mark", Desc: "Made for a test.", Note: "Invented data.", Columns: 2,
		Panels: []Panel{
			{
				Title: "Cartesian", X: Axis{Label: "angle (deg)"}, Y: Axis{Label: "level (dB)"},
				Marks: []Mark{
					{Kind: Span, Name: "range", Class: "span", Lo: []float64{-30}, Hi: []float64{30}},
					{
						Kind: Band, Name: "band", Class: "total", X: x, Lo: []float64{50, 53, math.NaN(), 52, 48},
						Hi: []float64{54, 58, math.NaN(), 56, 52},
					},
					{Kind: Line, Name: "line", Class: "mean", X: x, Y: y},
					{Kind: Points, Name: "points", Class: "test", Shape: "diamond", X: x, Y: y},
					{
						Kind: Bars, Name: "bars", Class: "epi", X: x, Y: y, Lo: []float64{51, 54, 57, 53, 49},
						Hi: []float64{53, 57, 60, 55, 51},
					},
					{Kind: Rule, Class: "grey", Y: []float64{55}, Dashed: true},

					{Kind: Labels, Name: "labels", Quiet: true, Class: "test", X: x[2:3], Y: y[2:3], Text: []string{"top"}},
				},
			},
			{
				Title: "Logarithmic", X: Axis{Label: "f (Hz)", Log: true}, Y: Axis{Label: "p", Log: true},
				Marks: []Mark{{
					Kind: Steps, Name: "steps", Class: "floor", X: []float64{10, 100}, Lo: []float64{5, 50},
					Hi: []float64{50, 500}, Y: []float64{1e-3, 10},
				}},
			},
		},
	}
}

// Every panel, mark, label and legend of the figure is drawn, alone and in a page; every
// class has a rule in both style sheets, and every clip that is used is there.
func TestEveryKindIsDrawn(t *testing.T) {
	f := every()
	for name, svg := range map[string][]byte{
		"file": Draw(f, Options{}), "page": Draw(f, Options{Inline: true, Digits: 5}),
	} {
		sheet := Style()
		if name == "file" {
			sheet = Light()
		}

		series := map[string]bool{}
		texts := map[string]bool{}
		clips := map[string]bool{}
		used := map[string]bool{}
		parse(t, svg).walk(func(e *element) {
			if s := e.attr("data-series"); s != "" {
				series[s] = true
			}

			texts[strings.TrimSpace(e.Text)] = true
			if e.XMLName.Local == "clipPath" {
				clips["url(#"+e.attr("id")+")"] = true
			}

			used[e.attr("clip-path")] = true
			for _, class := range strings.Fields(e.attr("class")) {
				structural := slices.Contains([]string{"dtf", "panel", "mark", "legend", "label"}, class)
				if !structural && !strings.Contains(sheet, "."+class) {
					t.Errorf("%s: no rule for class %s", name, class)
				}
			}
		})

		for _, p := range f.Panels {
			for _, text := range []string{p.Title, p.X.Label, p.Y.Label} {
				if text != "" && !texts[text] {
					t.Errorf("%s: no text %q", name, text)
				}
			}

			for _, m := range p.Marks {
				if m.Name != "" && !series[m.Name] {
					t.Errorf("%s: no series %q", name, m.Name)
				}

				if !m.Quiet && m.Kind != Labels && m.Name != "" && !texts[m.Name] {
					t.Errorf("%s: %q is not in the legend", name, m.Name)
				}
			}
		}

		delete(used, "")

		for c := range used {
			if !clips[c] {
				t.Errorf("%s: no %s", name, c)
			}
		}
	}

	dark := Style()
	assert.Contains(t, dark, "prefers-color-scheme:dark")
	assert.Contains(t, dark, "var(--")
	assert.NotContains(t, Light(), "var(--")
}

// element is what a reader of SVG sees.
type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Text     string     `xml:",chardata"`
	Children []element  `xml:",any"`
}

func (e *element) attr(name string) string {
	for _, a := range e.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}

	return ""
}

func (e *element) walk(f func(*element)) {
	f(e)
	for i := range e.Children {
		e.Children[i].walk(f)
	}
}

func parse(t interface{ Fatal(...any) }, svg []byte) *element {
	e := &element{}
	d := xml.NewDecoder(bytes.NewReader(svg))
	d.Strict = true
	if err := d.Decode(e); err != nil {
		t.Fatal(err, string(svg))
	}

	return e
}

// TestDataAttributes reads the numbers back from the picture: every one must
// have the bits it was drawn from. The CSV holds the same.
func TestDataAttributes(t *testing.T) {
	f := every()
	f.Panels[0].Marks[2].Y[1] = 1.0 / 3 // no short decimal
	f.Panels[0].Marks[2].Y[2] = math.Nextafter(58, 59)
	got := map[string][]string{}
	panel := ""
	parse(t, Draw(f, Options{})).walk(func(e *element) {
		if strings.HasPrefix(e.attr("class"), "panel") {
			panel = e.attr("data-panel")
		}

		if e.attr("class") == "mark" {
			for _, q := range []string{"x", "y", "lo", "hi"} {
				got[panel+"|"+e.attr("data-series")+"|"+q] = strings.Fields(e.attr("data-" + q))
			}
		}
	})

	rows, err := csv.NewReader(bytes.NewReader(f.CSV())).ReadAll()
	require.NoError(t, err)

	column := map[string]int{}
	for i, h := range rows[0] {
		column[h] = i
	}

	table := map[string][]string{}
	for _, r := range rows[1:] {
		for _, q := range []string{"x", "y", "lo", "hi"} {
			k := r[0] + "|" + r[1] + "|" + q
			table[k] = append(table[k], r[column[q]])
		}
	}

	for _, p := range f.Panels {
		for _, m := range p.Marks {
			for q, v := range map[string][]float64{"x": m.X, "y": m.Y, "lo": m.Lo, "hi": m.Hi} {
				key := p.Title + "|" + m.Name + "|" + q
				if len(got[key]) != len(v) {
					t.Errorf("%s: %d numbers, drawn from %d", key, len(got[key]), len(v))
					continue
				}

				for i := range v {
					back, err := strconv.ParseFloat(got[key][i], 64)

					if math.IsNaN(v[i]) {
						assert.Equal(t, "-", got[key][i], "%s[%d]", key, i)
						assert.Empty(t, table[key][i], "%s[%d] in the CSV", key, i)
						continue
					}

					require.NoError(t, err, "%s[%d]", key, i)
					assert.Equal(t, v[i], back, "%s[%d]", key, i)

					again, err := strconv.ParseFloat(table[key][i], 64)
					require.NoError(t, err, "%s[%d] in the CSV", key, i)
					assert.Equal(t, v[i], again, "%s[%d] in the CSV", key, i)
				}
			}
		}
	}
}

// TestPlaces checks where marks are drawn against positions worked out by hand:
// a panel of known range, its corners and its middle.
func TestPlaces(t *testing.T) {
	f := &Figure{ID: "p", Width: 400, Panels: []Panel{{
		X: Axis{Min: 0, Max: 10},
		Y: Axis{Min: 0, Max: 4, Ticks: []float64{}}, Height: 100,
		Marks: []Mark{{Kind: Line, Name: "l", Quiet: true, Class: "mean", X: []float64{0, 5, 10}, Y: []float64{0, 2, 4}}},
	}}}

	// Without labels the plotting area begins 10 px from the left (no tick is
	// drawn), ends 8 px from the right, and begins 8 px from the top.
	want := "M10 108L201 58L392 8"
	found := ""
	parse(t, Draw(f, Options{})).walk(func(e *element) {
		if e.attr("class") == "line mean" {
			found = e.attr("d")
		}
	})

	assert.Equal(t, want, found, "drawn")
}

// TestFit: at half the width four shared panels stand two by two.
func TestFit(t *testing.T) {
	f := &Figure{Columns: 4, Shared: true, Panels: make([]Panel, 6)}
	g := f.Fit(327)
	assert.Equal(t, 2, g.Columns)
	require.Len(t, g.Panels, 6)
	assert.Equal(t, 327.0, g.Width)

	require.Equal(t, 4, f.Fit(720).Columns, "columns")
}

// TestNice holds for any range: ticks lie inside, ascend in equal steps of 1,
// 2, 2.5 or 5 times a power of ten, and are no more than asked for and one.
func TestNice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Float64Range(-1e3, 1e3).Draw(t, "lo")
		w := math.Pow(10, rapid.Float64Range(-3, 6).Draw(t, "width"))
		n := rapid.IntRange(2, 12).Draw(t, "n")
		ticks := roundTicks(lo, lo+w, n)
		require.NotEmpty(t, ticks, "%d ticks between %v and %v, asked for %d", len(ticks), lo, lo+w, n)
		require.LessOrEqual(t, len(ticks), n+1, "%d ticks between %v and %v, asked for %d", len(ticks), lo, lo+w, n)

		for i, v := range ticks {
			require.GreaterOrEqual(t, v, lo-1e-6*w, "%v is outside %v, %v", v, lo, lo+w)
			require.LessOrEqual(t, v, lo+w+1e-6*w, "%v is outside %v, %v", v, lo, lo+w)
			require.False(t, i > 0 && math.Abs((v-ticks[i-1])-(ticks[1]-ticks[0])) > 1e-6*w, "steps differ: %v", ticks)
		}

		if len(ticks) > 1 {
			s := ticks[1] - ticks[0]
			m := s / math.Pow(10, math.Floor(math.Log10(s)+1e-9))

			ok := false
			for _, k := range []float64{1, 2, 2.5, 5, 10} {
				ok = ok || math.Abs(m-k) < 1e-3
			}

			require.True(t, ok, "step %v", s)
		}
	})

	for _, bad := range [][2]float64{{1, 1}, {2, 1}, {math.NaN(), 1}, {0, math.Inf(1)}} {
		if v := roundTicks(bad[0], bad[1], 5); v != nil {
			t.Errorf("roundTicks(%v) = %v", bad, v)
		}
	}
}

// TestNumber writes ticks as a reader expects them; the strings were written by
// hand.
func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1: "1", -2.5: "−2.5", 1000: "1000", 0.001: "0.001", 1e6: "10⁶",
		2e6: "2·10⁶", -5e-5: "−5·10⁻⁵", 0.1 + 0.2: "0.3", 123456: "123456",
	} {
		assert.Equal(t, want, tickNumber(v), "number(%v)", v)
	}
}

// FuzzHostile draws names and numbers of any kind: the SVG stays well-formed,
// holds no element a name brought along, and shows the name as text.
func FuzzHostile(f *testing.F) {
	for _, s := range []string{
		"<script>alert(1)</script>", `"><x y="`, "a\x00b", "\u202eabc", "]]>", "&amp;",
		strings.Repeat("x", 300), "שלום", strings.Repeat("\x87", 3000),
	} {
		f.Add(s, 1.0, 2.0)
	}

	f.Add("", math.NaN(), math.Inf(1))
	f.Add("x", -1e308, 1e308)
	known := map[string]bool{
		"svg": true, "g": true, "path": true, "rect": true, "text": true, "title": true,
		"desc": true, "style": true, "clipPath": true, "circle": true,
	}

	f.Fuzz(func(t *testing.T, name string, a, b float64) {
		for _, log := range []bool{false, true} {
			fig := &Figure{ID: "x", Title: name, Desc: name, Note: name, Panels: []Panel{{
				Title: name, X: Axis{Label: name}, Y: Axis{Label: name, Log: log},
				Marks: []Mark{
					{Kind: Points, Name: name, X: []float64{a, b}, Y: []float64{b, a}},
					{Kind: Band, Name: name + "2", Class: "total", X: []float64{a, b}, Lo: []float64{b, a}, Hi: []float64{a, b}},
					{Kind: Labels, Name: name, X: []float64{a}, Y: []float64{b}, Text: []string{name}},
				},
			}}}

			svg := Draw(fig, Options{})
			parse(t, svg).walk(func(e *element) {
				require.True(t, known[e.XMLName.Local], "element %s", e.XMLName.Local)

				for _, at := range e.Attrs {
					if strings.HasPrefix(strings.ToLower(at.Name.Local), "on") {
						t.Fatalf("attribute %s", at.Name.Local)
					}

					if at.Name.Local == "d" && strings.ContainsAny(at.Value, "NIn") {
						t.Fatalf("path %.100s", at.Value)
					}
				}
			})

			_, err := csv.NewReader(bytes.NewReader(fig.CSV())).ReadAll()
			require.NoError(t, err)
		}
	})
}

func ExampleDraw() {
	f := &Figure{ID: "sine", Title: "A sine", Panels: []Panel{{
		X: Axis{Label: "x (rad)"}, Y: Axis{Label: "sin x"},
		Marks: []Mark{
			{Kind: Line, Class: "mean", X: []float64{0, 1, 2, 3}, Y: []float64{0, 0.84, 0.91, 0.14}},
		},
	}}}

	svg := Draw(f, Options{})
	fmt.Println(strings.Contains(string(svg), `data-y="0 0.84 0.91 0.14"`))
	// Output: true
}

// An axis has two numbers at least, because a single one shows no scale. By hand: a range of 124 in two steps of a
// round number has one tick, at 0; in three it has steps of 50.
func TestTwoTicks(t *testing.T) {
	axis := Axis{Min: -62, Max: 62}
	assert.Equal(t, []float64{-50, 0, 50}, axis.ticks(2))
}

// The numbers of a vertical axis begin 4 px or more beside its label, whose letters reach from 2 to 14 px, in low
// panels with few numbers too.
func TestNumbersBesideLabel(t *testing.T) {
	line := Mark{Kind: Line, Class: "mean", X: []float64{0, 1}, Y: []float64{0, 1}}
	for _, count := range []int{1, 5} {
		panel := Panel{Y: Axis{Label: "share inside", Min: 0, Max: 1}, Square: true, Marks: []Mark{line}}
		fig := &Figure{ID: "f", Width: 720, Columns: count, Shared: true}
		for range count {
			fig.Panels = append(fig.Panels, panel)
		}

		numbers := 0
		parse(t, Draw(fig, Options{})).walk(func(e *element) {
			if e.attr("class") != "tick" || e.attr("text-anchor") != "end" {
				return
			}

			numbers++
			end, err := strconv.ParseFloat(e.attr("x"), 64)
			require.NoError(t, err)
			assert.GreaterOrEqual(t, end-textWidth(e.Text), 18.0, "%q in %d panels", e.Text, count)
		})

		assert.GreaterOrEqual(t, numbers, 3, "numbers in %d panels", count)
	}
}

// Marks whose numbers have no place: NaN, and numbers below zero on a logarithmic axis. Expected: nothing is drawn at
// the edge of the panel in their stead. A span whose end is infinite is drawn up to the edge.
func TestNoPlace(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]struct {
		mark Mark
		want int // number of paths or texts of the mark
	}{
		"rule at NaN":          {Mark{Kind: Rule, X: []float64{nan}, Y: []float64{nan}}, 0},
		"rule below zero":      {Mark{Kind: Rule, Y: []float64{-1}}, 0},
		"rule":                 {Mark{Kind: Rule, Y: []float64{2}}, 1},
		"span from NaN":        {Mark{Kind: Span, Lo: []float64{nan}, Hi: []float64{2}}, 0},
		"span without a begin": {Mark{Kind: Span, Lo: []float64{math.Inf(-1)}, Hi: []float64{2}}, 1},
		"label at NaN":         {Mark{Kind: Labels, X: []float64{2}, Y: []float64{nan}, Text: []string{"a"}}, 0},
		"label":                {Mark{Kind: Labels, X: []float64{2}, Y: []float64{2}, Text: []string{"a"}}, 1},
	} {
		c.mark.Name = "mark"
		c.mark.Quiet = true
		svg := Draw(&Figure{ID: "f", Panels: []Panel{{
			X: Axis{Min: 1, Max: 3}, Y: Axis{Min: 1, Max: 3, Log: true}, Marks: []Mark{c.mark},
		}}}, Options{})

		found := 0
		parse(t, svg).walk(func(e *element) {
			if e.attr("data-series") == "mark" {
				found += len(e.Children)
			}
		})
		assert.Equal(t, c.want, found, name)
	}
}
