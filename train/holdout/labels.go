package holdout

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// labels holds out the rows in which a condition of text is one of the names.
type labels struct {
	condition string
	names     []string
}

// Labels holds out the rows in which a condition of text is one of the names, which are compared byte by byte.
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
	names, err := rows.Strings(l.condition)
	if err != nil {
		return nil, err
	}

	var held []bool
	for _, name := range names {
		held = append(held, slices.Contains(l.names, name))
	}

	return held, nil
}

// EachLabel returns a holdout for each of the names of a condition.
func EachLabel(condition string, names []string) []Named {
	var list []Named
	for _, n := range names {
		list = append(list, Named{Folder(condition + "=" + n), Labels(condition, n)})
	}

	return list
}

// reserved matches the names of devices on Windows, with any ending.
var reserved = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$) *(\.|$)`)

// Folder returns a name with all characters replaced that the name of a folder cannot have on Linux, macOS or Windows.
// Two names may become equal.
func Folder(name string) string {
	name = strings.Map(folderRune, name)
	if name == "" || name[0] == '.' || reserved.MatchString(name) {
		name = "_" + name
	}

	if last := len(name) - 1; name[last] == '.' || name[last] == ' ' {
		name = name[:last] + "_"
	}

	return name
}

// folderRune returns r, or an underscore if the name of a folder cannot have r.
func folderRune(r rune) rune {
	if strings.ContainsRune(`/\:<>"|?*`, r) || unicode.IsControl(r) {
		return '_'
	}

	return r
}

// Distinct returns the distinct values in ascending order.
func Distinct[T cmp.Ordered](values []T) []T {
	return slices.Compact(slices.Sorted(slices.Values(values)))
}

// Listed joins names for messages. It writes at most mostListed of them, and the number of the others.
func Listed(names []string) string {
	if n := len(names) - mostListed; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostListed], ", "), n)
	}

	return strings.Join(names, ", ")
}

// isNew reports whether no training row has a name of a test row.
func isNew(rows Rows, condition string, train, test []int) (bool, error) {
	names, err := rows.Strings(condition)
	if err != nil {
		return false, err
	}

	known := map[string]bool{}
	for _, i := range train {
		known[names[i]] = true
	}

	for _, i := range test {
		if known[names[i]] {
			return false, nil
		}
	}

	return true, nil
}
