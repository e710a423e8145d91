package honest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/train/honest"
)

// written writes what honest.json holds of a model and returns the path.
func written(t *testing.T, m *honest.Model) string {
	t.Helper()
	text, err := json.Marshal(m.Stored())
	require.NoError(t, err)

	path := filepath.Join(t.TempDir(), honest.File)
	require.NoError(t, os.WriteFile(path, text, 0o644))

	return path
}

// exported writes the exported fields of a struct as text, in which undefined numbers are equal.
func exported(v any) map[string]string {
	texts := map[string]string{}
	value := reflect.Indirect(reflect.ValueOf(v))
	for i := range value.NumField() {
		if field := value.Type().Field(i); field.IsExported() {
			texts[field.Name] = fmt.Sprintf("%+v", value.Field(i).Interface())
		}
	}

	return texts
}

// Expected: the file of a model holds every number of its record, and a calibration that writes the same JSON.
func TestReadResult(t *testing.T) {
	s, g := small()
	m, _ := process(t, honest.Learner{}, s, g)
	result, err := honest.ReadResult(written(t, m))
	require.NoError(t, err)
	require.NotNil(t, result.Record)
	assert.Equal(t, exported(m.Record), exported(result.Record))
	assert.NotEmpty(t, result.Record.ContainedAt, "levels of the narrowest intervals")

	want, err := json.Marshal(m.Calibration)
	require.NoError(t, err)
	got, err := json.Marshal(result.Calibration)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got), "calibration")
}

// Expected: an error that names what is missing or does not fit, if the details of a record are damaged.
func TestReadResultOfDamagedDetails(t *testing.T) {
	head := fmt.Sprintf(`{"format": %q, "version": %d, "record": {"outcomes": [{}]}`, honest.Format, honest.Version)
	for text, want := range map[string]string{
		`{"format": "other"`: "expected format",
		head:                 "expected the member record_details, found none",
		head + `, "record_details": {"outcomes": []}`:                      "expected 1 outcomes, found 0",
		head + `, "record_details": {"outcomes": [{}], "mean": [1, null]}`: "2 means have [0 0 0]",
		head + `, "record_details": {"outcomes": [{"values": "many"}]}`:    "decode details of outcome",
		head + `, "record_details": {"mean": "none", "outcomes": [{}]}`:    "decode details of a record",
	} {
		path := filepath.Join(t.TempDir(), honest.File)
		require.NoError(t, os.WriteFile(path, []byte(text+"}"), 0o644))
		_, err := honest.ReadResult(path)
		require.ErrorContains(t, err, want, text)
		assert.ErrorContains(t, err, path, "the error names the file")
	}
}
