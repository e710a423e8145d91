package pipeline

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/pipeline/engine"
)

// An executor of a program of one's own is known by its name, and once.
func TestRegisterExecutors(t *testing.T) {
	defer func(all []Executor) { executors = all }(slices.Clone(executors))

	var opened string
	far := Executor{Name: "far", Open: func(_ *Project, path string, _ []string, _ func(string)) (engine.Executor, error) {
		opened = path
		return nil, nil
	}}
	if err := RegisterExecutors(far); err != nil || !slices.Contains(Executors(), "far") {
		t.Fatal(err)
	}

	if _, err := (&Project{}).Executor("far", "p.yaml", nil, nil); err != nil || opened != "p.yaml" {
		t.Errorf("%q, %v", opened, err)
	}

	for _, x := range []Executor{far, {Name: "local", Open: far.Open}, {Name: "near"}} {
		assert.ErrorContains(t, RegisterExecutors(x), "register executor")
	}
}
