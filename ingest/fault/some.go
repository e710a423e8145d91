package fault

import (
	"fmt"
	"strings"
)

// MostNamed is the largest number of names in a message.
const MostNamed = 10

// Some lists the first of many names for a message, and the number of the others.
func Some(names []string) string {
	return SomeOf(len(names), func(i int) string { return names[i] })
}

// SomeOf lists the first of n names for a message, and the number of the others.
func SomeOf(n int, name func(i int) string) string {
	var names []string
	for i := range min(n, MostNamed) {
		names = append(names, name(i))
	}

	if n > MostNamed {
		names = append(names, fmt.Sprintf("… and %d more", n-MostNamed))
	}

	return strings.Join(names, ", ")
}
