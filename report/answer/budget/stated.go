package budget

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/dsp/balance"
	"doubletake/ingest/derive"
	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/ingest/units"
	"doubletake/report/pairs"
)

// This file adds to a budget the uncertainties that are stated (type B), and writes its model.

// Stated is what the user states about an experiment besides its pairs: uncertainties of type B, and how outcomes were
// computed.
type Stated struct {
	Experiment   string              // name, for messages
	IsCalibrated bool                // the microphones were calibrated
	Calibration  []Uncertainty       // of the calibration
	Uncertainty  []Uncertainty       // of constants, conditions, outcomes and references
	Constants    map[string]float64  // by name
	References   map[string]float64  // quantities that the coefficients of a balance are divided by, such as chord_m
	Derive       []derive.Definition // definitions of derived conditions and outcomes
}

// Uncertainty is the standard uncertainty of a quantity.
type Uncertainty struct {
	Name     string
	U        float64 // in the unit of the quantity, or relative to its value if Percent is true
	Percent  bool
	DoF      float64 // degrees of freedom; +Inf if U is exactly known
	Law      string  // normal, rectangular, triangular or U-shaped
	Observed bool    // evaluated from repeated observations (type A)
}

// isDerived reports whether an expression defines a name.
func (s *Stated) isDerived(name string) bool {
	return slices.ContainsFunc(s.Derive, func(d derive.Definition) bool { return d.Name == name })
}

// addStated adds the quantities of type B from the configuration, the outcome itself, and the model. The model is a
// sum: the outcome, and the deviation by each level of repetition, by the calibration and by an expression. mean is the
// mean of the condition's observations.
func (b *Budget) addStated(c *campaign, outcome string, row int, mean float64) error {
	model := []string{quote(outcome)}
	for _, quantity := range b.Quantities {
		model = append(model, quote(quantity.Name))
	}

	own := Quantity{Name: outcome, Source: outcome, Value: mean, DoF: math.Inf(1), Law: "normal"}
	if c.stated == nil {
		b.Quantities = append(b.Quantities, own)
		b.Model = strings.Join(model, " + ")
		b.Unseen = append(b.Unseen, "no configuration was read: what it states of type B is not in this budget")

		return nil
	}

	if c.stated.IsCalibrated {
		model = append(model, b.addCalibration(c.stated.Calibration)...)
	}

	statements, err := c.statedQuantities(row)
	if err != nil {
		return err
	}

	if stated, isStated := statements[outcome]; isStated {
		own = stated
		own.Value = mean // of the observations, and not of the rows
		delete(statements, outcome)
	}

	// In the model of a derived outcome its name stands for the expression, so the observations have another name.
	if c.stated.isDerived(outcome) {
		own.Name = "measured " + outcome
		model[0] = quote(own.Name)
		term, err := b.addDerived(c, outcome, row, statements)
		if err != nil {
			return err
		}

		model = append(model, term)
	} else {
		model[0] += b.addReferences(c, outcome, statements)
	}

	b.Quantities = append(b.Quantities, own)
	b.Model = strings.Join(model, " + ")

	return nil
}

// quote writes a name as expressions have it.
func quote(name string) string { return strconv.Quote(name) }

// addCalibration adds the uncertainties of the microphones' calibration, and returns their terms of the model. For a
// level a term is a deviation in dB. For a sound pressure it is the outcome times the relative deviation. Other
// outcomes have no such terms.
func (b *Budget) addCalibration(list []Uncertainty) (terms []string) {
	isLevel := units.IsLevel(b.Unit)
	isPressure := strings.HasPrefix(b.Unit, "Pa")
	if !isLevel && !isPressure {
		return nil
	}

	if len(list) == 0 {
		b.Unseen = append(b.Unseen, "the calibration's uncertainty is not stated (ingest.calibration.uncertainty)")
	}

	for _, uncertainty := range list {
		quantity := Quantity{
			Name: "calibration " + uncertainty.Name, Source: uncertainty.Name, U: uncertainty.U, DoF: uncertainty.DoF,
			A: uncertainty.Observed, Law: uncertainty.Law,
		}

		term := quote(quantity.Name)
		if uncertainty.Percent { // the quantity is a factor near 1, and not a deviation in dB
			quantity.Value = 1
			term = "20*log10(" + term + ")"
		}

		if !isLevel {
			term = quote(b.Outcome) + "*(10^(" + term + "/20) - 1)"
		}

		b.Quantities = append(b.Quantities, quantity)
		terms = append(terms, term)
	}

	return terms
}

// baseValues returns the numbers at the condition of a row that no expression defines, by name: constants, conditions,
// outcomes (their means) and references.
func (c *campaign) baseValues(row int) map[string]float64 {
	values := map[string]float64{}
	maps.Copy(values, c.stated.References)
	maps.Copy(values, c.stated.Constants)

	for k, name := range c.conditions {
		values[name] = c.values[k][row]
	}

	for _, o := range pairs.Outcomes(c.Table) {
		values[o] = c.mean(o, c.condition[row])
	}

	for _, definition := range c.stated.Derive {
		delete(values, definition.Name)
	}

	return values
}

// mean returns the mean of an outcome over the rows of a condition. It is NaN if no row has both values.
func (c *campaign) mean(outcome string, id int) float64 {
	first := c.Column(outcome + "_1").Floats
	second := c.Column(outcome + "_2").Floats
	sum := 0.0
	n := 0.0
	for _, i := range c.rows[id] {
		if v := (first[i] + second[i]) / 2; !math.IsNaN(v) {
			sum += v
			n++
		}
	}

	return sum / n
}

// statedQuantities returns the quantities whose uncertainties are stated, by name, with their values at the condition
// of a row. It returns an error if such a quantity is not known.
func (c *campaign) statedQuantities(row int) (map[string]Quantity, error) {
	base := c.baseValues(row)
	stated := map[string]Quantity{}
	for _, uncertainty := range c.stated.Uncertainty {
		name := uncertainty.Name
		v, known := base[name]
		if c.stated.isDerived(name) {
			known = c.Column(name+"_1") != nil // otherwise the expression defines a condition
			if known {
				v = c.mean(name, c.condition[row])
			}
		}

		if !known {
			return nil, &fault.UsageError{Text: fmt.Sprintf("ingest.uncertainty: expected constants, conditions, outcomes or "+
				"references of %s, found %q%s", c.stated.Experiment, name,
				spelling.DidYouMean(name, slices.Collect(maps.Keys(base))))}
		}

		quantity := Quantity{
			Name: name, Source: name, Value: v, U: uncertainty.U, DoF: uncertainty.DoF,
			A: uncertainty.Observed, Law: uncertainty.Law,
		}
		if uncertainty.Percent {
			quantity.U *= math.Abs(v)
		}
		stated[name] = quantity
	}

	return stated, nil
}

// addDerived adds the quantities that the expression of a derived outcome may use, and returns the term of the model:
// the expression less its value, which is the deviation by these quantities.
func (b *Budget) addDerived(c *campaign, outcome string, row int, statements map[string]Quantity) (string, error) {
	b.Derive = append(b.Derive, c.stated.Derive...)

	_, labels := pairs.Conditions(c.Table)
	b.Names = map[string]string{}
	for _, l := range labels {
		b.Names[l] = c.Column(l).Strings[row]
	}

	base := c.baseValues(row)
	names := slices.Sorted(maps.Keys(base))
	set, err := derive.New(b.Derive, nil, nil, labels, names)
	if err != nil {
		return "", fmt.Errorf("ingest.derive: %w", err)
	}

	for _, name := range names {
		quantity, stated := statements[name]
		if !stated {
			quantity = Quantity{Name: name, Source: name, Value: base[name], DoF: math.Inf(1), Law: "normal"}
		}
		b.Quantities = append(b.Quantities, quantity)
	}

	if err := set.AddOutcomes(base, b.Names); err != nil {
		return "", fmt.Errorf("ingest.derive: %w", err)
	}

	return fmt.Sprintf("%s - (%s)", quote(outcome), strconv.FormatFloat(base[outcome], 'g', -1, 64)), nil
}

// references has the quantities that the coefficients of a balance are divided by. The format gives the factor by which
// a coefficient changes: the first argument is the value that was used, the second the quantity. For a chord of 0.2 m
// the factor is 0.2/"chord_m".
var references = map[string]string{
	"chord_m": "%s/%s", "span_m": "%s/%s", "density_kg_m3": "%s/%s", "pressure_pa": "%s/%s", "u_inf_m_s": "(%s/%s)^2",
	"temperature_c": "(273.15 + %[2]s)/(273.15 + %[1]s)",
}

// addReferences adds the references of a balance's coefficient whose uncertainties are stated, and returns the factors
// that follow the coefficient in the model. It returns "" for other outcomes.
func (b *Budget) addReferences(c *campaign, outcome string, statements map[string]Quantity) (factors string) {
	arm, isOfBalance := balance.LeverArm(outcome)
	isCoefficient := isOfBalance && c.stated.References["chord_m"] > 0
	for _, name := range slices.Sorted(maps.Keys(statements)) {
		quantity := statements[name]
		form := references[name]
		if !isCoefficient || form == "" {
			if slices.Contains(c.conditions, name) { // other quantities have no part in the outcome
				b.Unseen = append(b.Unseen, "how "+outcome+" changes with "+name+" is not known: that uncertainty is not in "+
					"this budget")
			}

			continue
		}

		if name == arm {
			form = "(%s/%s)^2"
		}

		factors += "*" + fmt.Sprintf("("+form+")", strconv.FormatFloat(quantity.Value, 'g', -1, 64), quote(name))
		b.Quantities = append(b.Quantities, quantity)
	}

	return factors
}
