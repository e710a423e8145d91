package pipeline

import (
	"errors"
	"testing"
)

// Records are found by number from either end and by the beginning of their ID.
func TestFindRecord(t *testing.T) {
	list := []Record{{ID: "20261101T0"}, {ID: "20261102T0"}, {ID: "20261102T1"}}
	for name, want := range map[string]int{
		"1": 0, "3": 2, "-1": 2, "-3": 0, "20261101": 0, "20261102T1": 2,
		"4": -1, "0": -1, "-4": -1, "20261102": -1, "": -1, "x": -1,
	} {
		r, err := FindRecord(list, name)
		var usage *UsageError
		if want < 0 {
			if !errors.As(err, &usage) {
				t.Errorf("%q: %v, %v; expected a usage error", name, r, err)
			}
			continue
		}
		if err != nil || r != &list[want] {
			t.Errorf("%q: %v, %v; expected %s", name, r, err, list[want].ID)
		}
	}
}
