package setting

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
