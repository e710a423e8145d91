package methods

import (
	"os"
	"testing"

	"doubletake/train/baseline"
	"doubletake/train/baseline/baselinetest"
	"github.com/stretchr/testify/require"
)

// long reports whether tests may take minutes.
func long() bool { return os.Getenv("DOUBLETAKE_LONG") != "" }

var settings = baselinetest.Settings

// The methods keep the contract of the program's own.
func TestConformance(t *testing.T) {
	for _, m := range All {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			baselinetest.Conformance(t, m)
		})
	}
}

// They are registered as those of any other program are.
func TestRegister(t *testing.T) {
	require.NoError(t, baseline.Register(All...))

	if m, err := baseline.New("laplace-full", settings()); err != nil || m.(Laplace).Form != Full {
		t.Errorf("%+v, %v", m, err)
	}
}
