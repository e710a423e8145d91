package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/train/honest/scale"
)

// drawnMark is a mark of a figure of the page, with its numbers as the page writes them.
type drawnMark struct {
	Series string `xml:"data-series,attr"`
	Kind   string `xml:"data-kind,attr"`
	X      string `xml:"data-x,attr"`
	Y      string `xml:"data-y,attr"`
	Lo     string `xml:"data-lo,attr"`
	Hi     string `xml:"data-hi,attr"`
	Name   string `xml:"data-name,attr"`
}

// drawnPanel is a panel of a figure of the page.
type drawnPanel struct {
	Title   string `xml:"data-panel,attr"`
	Clipped []struct {
		Marks []drawnMark `xml:"g"`
	} `xml:"g"`
}

// points returns a text for each point of the mark: its series, its four numbers and the name of its run. names are the
// names that the page numbers.
func (m drawnMark) points(t *testing.T, panel string, names []string) []string {
	t.Helper()

	lists := [][]string{strings.Fields(m.X), strings.Fields(m.Y), strings.Fields(m.Lo), strings.Fields(m.Hi)}
	runs := strings.Fields(m.Name)
	var points []string
	for i := range max(len(lists[0]), len(lists[1]), len(lists[2])) {
		fields := []string{panel, m.Series}
		for _, list := range lists {
			number := ""
			if i < len(list) && list[i] != "-" { // "-" is not a finite number
				number = list[i]
			}

			fields = append(fields, number)
		}

		run := ""
		if len(runs) > 0 {
			number, err := strconv.Atoi(runs[i])
			require.NoError(t, err)

			run = names[number]
		}

		points = append(points, strings.Join(append(fields, run), "|"))
	}

	return points
}

// pointsOfCSV returns the points of a figure's CSV as drawnMark.points does, with the digits of the page.
func pointsOfCSV(t *testing.T, data []byte) map[string]bool {
	t.Helper()

	rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	require.NoError(t, err)
	require.Equal(t, []string{"panel", "series", "x_quantity", "y_quantity", "x", "y", "lo", "hi"}, rows[0][:8])
	require.Equal(t, "text", rows[0][10])

	points := map[string]bool{}
	for _, row := range rows[1:] {
		fields := []string{row[0], row[1]}
		for _, cell := range row[4:8] {
			if cell != "" {
				value, err := strconv.ParseFloat(cell, 64)
				require.NoError(t, err)

				cell = strconv.FormatFloat(value, 'g', 4, 64)
			}

			fields = append(fields, cell)
		}

		points[strings.Join(append(fields, row[10]), "|")] = true
	}

	return points
}

// The CSV of each figure of the page has every point that the page draws, with its series and its run. The page has
// fewer points than the files, and four digits of each number.
func TestCSVHasWhatThePageDraws(t *testing.T) {
	details := []*Detail{calibratedCampaign(), airfoilOf("airfoil"), calibratedDetail()}
	details[2].Experiment.Name = "calibrated"
	details[2].Experiment.Splits[0].Honest.Calibration.Scale = &scale.Scale{}

	files := map[string]FigureFile{} // by the ID of the figure
	for _, d := range details {
		for _, file := range Figures(d) {
			files["f-"+d.Experiment.Name+"-"+file.File] = file
		}
	}

	page := string(Page(details))
	_, data, ok := strings.Cut(page, `<script type="application/json" id="data">`)
	require.True(t, ok)

	var scripts struct{ Names []string }
	require.NoError(t, json.NewDecoder(strings.NewReader(data)).Decode(&scripts))

	named := 0
	drawn := regexp.MustCompile(`(?s)<svg xmlns="[^"]*" class="dtf" id="([^"]*)".*?</svg>`).FindAllStringSubmatch(page, -1)
	require.Greater(t, len(drawn), 20, "figures of the page")
	for _, match := range drawn {
		id := match[1]
		require.Contains(t, files, id)

		var figure struct {
			Panels []drawnPanel `xml:"g"`
		}
		require.NoError(t, xml.Unmarshal([]byte(match[0]), &figure), id)

		points := pointsOfCSV(t, files[id].CSV)
		total := 0
		for _, panel := range figure.Panels {
			for _, clipped := range panel.Clipped {
				for _, mark := range clipped.Marks {
					if mark.Series == "equal" { // a diagonal as long as the range of the drawn points
						continue
					}

					for _, point := range mark.points(t, panel.Title, scripts.Names) {
						total++
						require.True(t, points[point], "%s: the CSV has no %s", id, point)
					}

					named += len(strings.Fields(mark.Name))
				}
			}
		}

		assert.Positive(t, total, "points of %s", id)
	}

	assert.Greater(t, named, 1000, "points with the names of their runs")
}
