package stages

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The names of recordings that are left out are not among the names that splits hold out.
func TestNamesOfExcludedRecordings(t *testing.T) {
	x := npyFile(count(100, 1))
	files := map[string]string{"a.npy": x, "b.npy": x, "c.csv": "file,propeller,rpm\na,APC,3000\nb,HQ,4002\n"}
	b := planFiles(t, files, `{files: "*.npy", conditions: c.csv, rate_hz: 1000, exclude: {propeller: APC}}`,
		section("{triplets: split-half-spectrum}", "{inputs: [rpm], splits: {each: propeller}}"))
	texts, err := b.Names("propeller")
	require.NoError(t, err)
	assert.Equal(t, []string{"HQ"}, texts, "names")
}

// Rows of a table of results, with a tolerance of the set point; and codes of a log and a table that mean no value.
func TestExcludeRows(t *testing.T) {
	x := npyFile(count(100, 1))
	files := map[string]string{
		"t.csv": "propeller,rpm,y_1,y_2\nAPC,3001,1,2\nAPC,4000,-9999,2\nHQ,2999,3,4\nHQ,4000,5,6\n",
		"a.npy": x, "b.npy": x, "c.csv": "file,rpm,p_pa\na,3000,-9999.0\nb,4000,101300\n",
	}

	b := planFiles(t, files, "{table: {file: t.csv, inputs: [rpm]}, within: {rpm: 0.1 %}, missing: [-9999], exclude: "+
		"{propeller: HQ, rpm: 3000, reason: loose}}", "{}")
	p, err := b.Pairs.Read()
	require.NoError(t, err)

	const want = "1 row left out by exclude: propeller = HQ and rpm = 3000 (loose): line 4"
	require.Equal(t, []float64{3001, 4000}, p.X[0], "%v, %v", p.X, p.Warnings)
	require.Len(t, p.Warnings, 2, "%v, %v", p.X, p.Warnings)
	assert.Equal(t, want, p.Warnings[0].Text, "%v, %v", p.X, p.Warnings)

	exclude, ok := value(b.Pairs.Settings, "ingest.exclude")
	require.True(t, ok, "the settings must have ingest.exclude")
	assert.Equal(t, "[propeller = HQ and rpm = 3000 (loose)]", exclude)

	// A code that stands for no value is a number unless the configuration lists it.
	for missing, want := range map[string][]string{"[]": {"p_pa", "rpm"}, "[-9999]": {"rpm"}} {
		b = planFiles(t, files, `{files: "*.npy", conditions: c.csv, rate_hz: 1000, missing: `+missing+`}`,
			"{triplets: split-half-spectrum}")
		require.Len(t, b.Known, 2, "%v", b.Known)
		assert.Equal(t, want, slices.Sorted(maps.Keys(b.Known[0].Numbers)), "missing: %s", missing)
	}
}
