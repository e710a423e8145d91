package must_test

import (
	"errors"
	"fmt"
	"strconv"

	"doubletake/internal/must"
)

// printer prints where a test would fail.
type printer struct{}

func (printer) Helper()                           {}
func (printer) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }
func (printer) Fatal(args ...any)                 { fmt.Println(args...) }

func Example() {
	var t printer
	err := errors.New("no such file")
	must.Do(t, nil)
	must.Do(t, err)
	must.Equal(t, must.Get(strconv.Atoi("3"))(t), 4, "blades of %s", "fan")
	must.Equal(t, []int{}, nil, "nothing")
	must.Be(t, []string{"a"}, []string{"b"}, "names")
	must.Near(t, 1, 1.1, 0.2, "level")
	must.Near(t, 1, 1.5, 0.2, "level")
	must.Contain(t, "one two", "one", "three")
	must.Refuse(t, err, "file")
	must.Refuse(t, err, "")
	must.Refuse(t, nil, "", "a")
	// Output:
	// no such file
	// blades of fan: 3, expected 4
	// names: [a], expected [b]
	// level: 1, expected 1.5 ± 0.2
	// no "three" in
	// one two
	// no such file, expected no error
	// no error, expected ["" "a"]
}
