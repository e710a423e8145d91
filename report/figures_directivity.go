package report

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/report/figure"
)

// The largest numbers of panels of a directivity.
const (
	mostBladePanels = 9 // if a panel shows a number of blades
	mostPanels      = 6 // otherwise
)

// facetInput returns the input whose values get a panel each: blades, or the input
// with the fewest values. It returns −1 if there is none, or if they have too many values.
func (m *maker) facetInput(angle int) int {
	best := -1
	fewest := mostPanels + 1
	for k, input := range m.detail.Inputs {
		count := len(m.detail.values(k))
		if k == angle || count < 2 {
			continue
		}

		if input.Name == "blades" && count <= mostBladePanels {
			return k
		}

		if count < fewest {
			best = k
			fewest = count
		}
	}

	return best
}

// angle returns the index of the input that is an angle of radiation, or −1 if there is none.
func (d *Detail) angle() int {
	for k, input := range d.Inputs {
		if input.Name == "theta_deg" || input.Name == "phi_deg" {
			return k
		}
	}

	return -1
}

// directivityPlaces bounds the places at which directivities are drawn as files. If there are more, an even
// selection of them is drawn.
const directivityPlaces = 60

// directivities draws one figure per outcome and place (a speed; all inputs but the angle and the input that has a
// panel per value). All of them are files. The page has the outcome with the widest interval at the middle place.
func (m *maker) directivities(split *SplitDetail, angle int) {
	detail := m.detail
	shared := radiation{split: split, angle: angle, facet: m.facetInput(angle)}
	shared.fixed = indicesWithout(detail.inputCount(), angle, shared.facet)

	// Places at which two or more angles were measured.
	var places []*spot
	for _, place := range detail.spots(indicesWithout(detail.conditionCount()), shared.fixed) {
		if detail.varies(place.conditions, angle) {
			places = append(places, place)
		}
	}

	if len(places) == 0 {
		return
	}

	shown := detail.middle(places, shared.fixed)
	drawn := thin(places, directivityPlaces)
	if !slices.Contains(drawn, shown) {
		drawn = append(drawn, shown)
	}

	shared.all = len(places)
	shared.drawn = len(drawn)
	widest, _ := detail.widest(split.Name)
	for k := range detail.Outcomes {
		for _, place := range drawn {
			drawing := shared
			drawing.inputs = place.inputs
			drawing.conditions = place.conditions
			drawing.onPage = k == widest && place == shown // the explorer shows the others
			m.directivity(&drawing, k)
		}
	}
}

// middle returns the measured place that is nearest to the middle of every fixed input.
func (d *Detail) middle(places []*spot, fixed []int) *spot {
	centre := make([]float64, d.inputCount())
	for _, k := range fixed {
		values := d.values(k)
		centre[k] = values[len(values)/2]
	}

	nearest := places[0]
	least := math.Inf(1)
	for _, place := range places {
		distance := 0.0
		for _, k := range fixed {
			distance += math.Abs(place.inputs[k]-centre[k]) / (1 + math.Abs(centre[k]))
		}

		if distance < least {
			nearest = place
			least = distance
		}
	}

	return nearest
}

// radiation is a directivity at one place. All places of a split share the first fields.
type radiation struct {
	split      *SplitDetail
	angle      int   // index of the input that is the angle
	facet      int   // index of the input whose values have a panel each; −1 if there is none
	fixed      []int // indices of the other inputs
	all, drawn int   // number of places, and of places that are drawn

	// The place. All its conditions have the same fixed inputs.
	inputs     []float64 // inputs of a condition at the place
	conditions []int
	onPage     bool // the page has the figure
}

// directivity draws an outcome over the angle, in a panel for each value of the facet.
func (m *maker) directivity(r *radiation, outcome int) {
	detail := m.detail
	fig := &figure.Figure{Width: 720, Shared: true, Panels: m.directivityPanels(r, outcome)}
	if len(fig.Panels) == 0 {
		return
	}

	sameRange(fig.Panels, 0.06)

	fig.Columns = len(fig.Panels)
	if fig.Columns > 4 {
		fig.Columns = 3 + fig.Columns%2 // 3 in a row for even numbers, 4 for odd numbers
	}

	if len(fig.Panels) == 1 {
		fig.Width = halfWidth
	}

	location := ""
	if len(r.fixed) > 0 {
		location = " at " + placeText(detail.Inputs, r.inputs, r.fixed)
	}

	m.add(captionedFigure{
		kind: r.file(detail, outcome), split: r.split.Name,
		heading: capitalise(r.model()) + ": directivity, " + detail.Outcomes[outcome].Word() + location, model: r.model(),
		caption: r.caption(detail, outcome, location), fig: fig, page: r.onPage,
	})
}

// model names the model whose intervals the directivity shows.
func (r *radiation) model() string {
	if r.split.Calibrated == nil {
		return paperNetwork
	}
	return calibratedModel
}

// directivityPanels draws a panel for each value of the facet that was measured at the place, or one panel if there is
// no facet.
func (m *maker) directivityPanels(r *radiation, outcome int) []figure.Panel {
	detail := m.detail
	angles := detail.values(r.angle)
	low := angles[0]
	high := angles[len(angles)-1]
	margin := 0.04 * (high - low) // room for the marks at the ends

	facets := []float64{0} // one panel, whose value nothing reads
	if r.facet >= 0 {
		facets = detail.values(r.facet)
	}

	intervals := r.split.intervals()
	var panels []figure.Panel
	for _, facet := range facets {
		conditions := r.conditionsAt(detail, facet)
		if len(conditions) == 0 {
			continue
		}

		panel := figure.Panel{
			Title: r.facetTitle(detail, facet),
			X: figure.Axis{
				Label: detail.Inputs[r.angle].Axis(), Min: low - margin, Max: high + margin, Ticks: angleTicks(low, high),
			},
			Y: figure.Axis{Label: detail.Outcomes[outcome].Axis()}, Height: 190,
		}

		line := &conditionLine{
			m: m, split: r.split, input: r.angle, conditions: detail.sorted(conditions, r.angle),
		}
		marks, held := line.marks(outcome, intervals)
		panel.Marks = marks
		if held {
			panel.Title += ", held out"
		}

		panels = append(panels, panel)
	}

	return panels
}

// conditionsAt returns the conditions of the place that have the given value of the facet.
func (r *radiation) conditionsAt(detail *Detail, facet float64) []int {
	if r.facet < 0 {
		return r.conditions
	}

	var conditions []int
	for _, c := range r.conditions {
		if detail.x(c, r.facet) == facet {
			conditions = append(conditions, c)
		}
	}

	return conditions
}

// facetTitle writes a value of the facet, or "" if there is no facet.
func (r *radiation) facetTitle(detail *Detail, value float64) string {
	if r.facet < 0 {
		return ""
	}

	input := detail.Inputs[r.facet]
	if input.Name == "blades" {
		return number6(value) + " " + input.Word()
	}

	return strings.TrimSpace(input.Word() + " " + number6(value) + " " + clean(input.Unit))
}

// file returns the name of the figure's file without the split: "directivity-bpf1_db-rpm-5000".
func (r *radiation) file(detail *Detail, outcome int) string {
	name := "directivity-" + detail.Outcomes[outcome].Name
	for _, k := range r.fixed {
		value := strings.Replace(strconv.FormatFloat(r.inputs[k], 'g', -1, 64), "-", "minus", 1)
		name += "-" + detail.Inputs[k].Name + "-" + value
	}

	return name
}

// angleTicks returns multiples of 30° if the angles span 60° or more. Otherwise it returns nil, and the axis has ticks
// at round numbers as other axes have.
func angleTicks(low, high float64) []float64 {
	const step = 30
	if high-low < 2*step {
		return nil
	}

	var ticks []float64
	for tick := math.Ceil(low/step) * step; tick <= high; tick += step {
		ticks = append(ticks, tick)
	}

	return ticks
}

// caption writes the caption of the figure.
func (r *radiation) caption(detail *Detail, outcome int, location string) string {
	return phrase("figure-directivity", map[string]any{
		"What": detail.Outcomes[outcome].Word(), "Where": location, "Calibrated": r.split.Calibrated != nil,
		"More": r.onPage && (r.all > 1 || detail.outcomeCount() > 1), "Figures": r.drawn * detail.outcomeCount(),
		"Drawn": r.drawn, "All": r.all,
	})
}
