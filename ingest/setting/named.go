package setting

import "doubletake/ingest/condition"

// NamedNumber is one entry of a mapping from names to numbers, in the order in which the user wrote them.
type NamedNumber struct {
	Name  string
	Value float64
}

// NamedString is one entry of a mapping from names to texts, in the order in which the user wrote them.
type NamedString struct{ Name, Value string }

// Find returns the value of name, and whether it is there.
func Find(list []NamedString, name string) (string, bool) {
	for _, e := range list {
		if e.Name == name {
			return e.Value, true
		}
	}

	return "", false
}

// ByName returns a list as a map from name to value.
func ByName(list []NamedString) map[string]string {
	values := map[string]string{}
	for _, v := range list {
		values[v.Name] = v.Value
	}

	return values
}

// Tolerances returns the tolerances of conditions by their names. A text that is not a tolerance gives the tolerance 0:
// who decodes settings checks the texts.
func Tolerances(list []NamedString) map[string]condition.Tolerance {
	tolerances := map[string]condition.Tolerance{}
	for _, tolerance := range list {
		tolerances[tolerance.Name], _ = condition.ParseTolerance(tolerance.Value)
	}

	return tolerances
}
