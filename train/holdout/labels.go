package holdout

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"doubletake/internal/lists"
)

// labels holds out the rows whose condition, a column of text, is one of the names.
type labels struct {
	condition string
	names     []string
}

// Labels holds out the rows whose condition is one of the names. Names are compared byte by
// byte.
func Labels(condition string, names ...string) Holdout { return labels{condition, names} }

func (l labels) String() string                 { return l.condition + " = " + strings.Join(l.names, ", ") }
func (l labels) Conditions() []string           { return []string{l.condition} }
func (l labels) Labels() []string               { return []string{l.condition} }
func (l labels) Group() string                  { return l.condition }
func (l labels) Within(string) float64          { return 0 }
func (l labels) Holds(c string, _ float64) bool { return c != l.condition }

func (l labels) HoldsLabel(condition, label string) bool {
	return condition != l.condition || slices.Contains(l.names, label)
}

func (l labels) Held(rows Rows) ([]bool, error) {
	v, err := rows.Strings(l.condition)
	return lists.Each(v, func(name string) bool { return slices.Contains(l.names, name) }), err
}

// EachLabel makes a holdout of each of the names of a condition.
func EachLabel(condition string, names []string) []Named {
	return lists.Each(names, func(n string) Named { return Named{Folder(condition + "=" + n), Labels(condition, n)} })
}

// reserved are names that Windows has devices under, with any ending.
var reserved = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$) *(\.|$)`)

// Folder replaces in a name what the name of a folder cannot have on Linux, macOS or Windows.
// A name that needs nothing is unchanged; two names may become the same.
func Folder(name string) string {
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:<>"|?*`, r) || unicode.IsControl(r) {
			return '_'
		}

		return r
	}, name)

	if name == "" || name[0] == '.' || reserved.MatchString(name) {
		name = "_" + name
	}

	if last := len(name) - 1; name[last] == '.' || name[last] == ' ' {
		name = name[:last] + "_"
	}

	return name
}

// Distinct returns the distinct values, sorted.
func Distinct[T cmp.Ordered](values []T) []T {
	return slices.Compact(slices.Sorted(slices.Values(values)))
}

// Listed writes names for people, at most a dozen of them.
func Listed(names []string) string {
	const most = 12
	if n := len(names) - most; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), n)
	}

	return strings.Join(names, ", ")
}

// newLabels reports whether no row of train has a name that rows of test have.
func newLabels(rows Rows, condition string, train, test []int) (bool, error) {
	v, err := rows.Strings(condition)
	if err != nil {
		return false, err
	}

	known := map[string]bool{}
	for _, i := range train {
		known[v[i]] = true
	}

	return !slices.ContainsFunc(test, func(i int) bool { return known[v[i]] }), nil
}
