package condition

// Points contains the set points of conditions, by the conditions' names. A condition that does not scatter about set
// points is not in it.
type Points map[string]SetPoints

// Find returns the set point of a condition's value and its text. ok is false if the value has no set point.
func (p Points) Find(condition string, value float64) (nominal float64, text string, ok bool) {
	found, ok := p[condition].Find(value)
	return found.Nominal, found.String(), ok
}

// Move moves the values of rows to the set points of their conditions.
func (p Points) Move(rows Rows) {
	for name, points := range p {
		for _, row := range rows {
			if v, isKnown := row.Numbers[name]; isKnown {
				row.Numbers[name] = points.At(v)
			}
		}
	}
}
