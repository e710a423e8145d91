package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// A file without contents, and what follows the one document, are errors that say so.
func TestParseDocuments(t *testing.T) {
	const toy = "version: 1\nexperiments: {toy: {ingest: {simulate: {campaign: toy}}}}\n"

	for text, want := range map[string]string{
		"":                        "the file is empty; expected version, workdir and experiments",
		"# a comment alone\n\n":   "the file is empty; expected version, workdir and experiments",
		toy + "---\nversion: 1\n": "expected one document, found a second",
		toy + "---\na: [1\n":      "not valid YAML",
	} {
		_, err := Parse("p.yaml", []byte(text))
		require.ErrorContains(t, err, want, "%q", text)
	}

	_, err := Parse("p.yaml", []byte(toy))
	require.NoError(t, err)
}

// The lines of errors are counted as YAML counts them: at each of the line ends of YAML 1.1 (section 4.2), of which a
// carriage return alone is one. FILL_IN is in line 2 here, and the excerpt shows that line without its end.
func TestLineEnds(t *testing.T) {
	for _, end := range []string{"\n", "\r\n", "\r", "\u0085", "\u2028", "\u2029"} {
		_, err := Parse("p.yaml", []byte("version: 1"+end+"workdir: FILL_IN # a folder"+end))
		want := "p.yaml:2:10: workdir: is to be filled in: a folder\n" +
			"  2 | workdir: FILL_IN # a folder\n" +
			"    |          ^"
		assert.EqualError(t, err, want, "%q", end)
	}
}

// A configuration that does not exist is an error that names the YAML files in its folder: those with an ending of
// configurations, in small letters or capitals. A folder is not a configuration.
func TestLoadNamesNearFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"A.YAML", "b.yml", "c.Yml", "data.csv", "yaml"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}

	require.NoError(t, os.Mkdir(filepath.Join(dir, "B.yaml"), 0o700))

	_, err := Load(filepath.Join(dir, "pipeline.yaml"))
	assert.ErrorContains(t, err, `no such file; there is "A.YAML", "b.yml", "c.Yml"; name your configuration`)
}

// The text of a file is the text that was read, whatever its line ends are: runs record its digest.
func TestText(t *testing.T) {
	text := "version: 1\r\nexperiments: {toy: {ingest: {simulate: {campaign: toy}}}}\r\n"
	file, err := Parse("p.yaml", []byte(text))
	require.NoError(t, err)
	assert.Equal(t, text, file.Text())
}

// An experiment with the name of another one's section is refused, because paths of keys would be ambiguous. Other
// names with dots are taken.
func TestNamesWithDots(t *testing.T) {
	const toy = ": {ingest: {simulate: {campaign: toy}}}"

	_, err := Parse("p.yaml", []byte("version: 1\nexperiments:\n  wing"+toy+"\n  wing.train"+toy+"\n"))
	assert.ErrorContains(t, err, `p.yaml:4:3: experiments.wing.train: expected a name that cannot be taken for a key`)

	file, err := Parse("p.yaml", []byte("version: 1\nexperiments:\n  wing"+toy+"\n  wing.2"+toy+"\n  fan.train"+toy+"\n"))
	require.NoError(t, err)
	assert.Len(t, file.Experiments, 3)
}

// A merge key of YAML 1.1 is not a key of a section. The error says what to write instead.
func TestMergeKey(t *testing.T) {
	_, err := Parse("p.yaml", []byte("version: 1\nexperiments:\n  a: &a {}\n  b:\n    <<: *a\n"))
	assert.ErrorContains(t, err, "p.yaml:5:5: experiments.b: merging keys with << is not possible; write the keys out")
}

// An alias means the value at its anchor, for keys, values and elements alike: a section with an alias is the same as a
// section with the value itself.
func TestAliases(t *testing.T) {
	for _, c := range []struct{ name, value, withValue string }{
		{"the gains of channels", "{1: -2.5, 3: 0.5}", "calibration: {full_scale_v: 10, gain_db: VALUE}"},
		{"one gain", "3", "calibration: {full_scale_v: 10, gain_db: VALUE}"},
		{"a list of files", "[a/*.wav, b/*.wav]", "files: VALUE"},
		{"an element of a list", "a/*.wav", "files: [VALUE, b/*.wav]"},
		{"a section", "{full_scale_v: 10, reading: peak}", "calibration: VALUE"},
		{"a key", "files", "VALUE: a/*.wav"},
		{"the short form of pairs", "{across: propeller}", "table: {pairs: VALUE}"},
		{"an exclusion", "{file: a/1.wav, reason: wind}", "exclude: [VALUE, b/2.wav]"},
		{"exclusions", "[a/1.wav, {file: b/2.wav, channel: 2}]", "exclude: VALUE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			// second decodes the second of two sections that differ only in their values.
			second := func(values ...string) Ingest {
				text := ""
				for _, value := range values {
					text += "- {" + strings.Replace(c.withValue, "VALUE", value, 1) + "}\n"
				}

				var doc yaml.Node
				require.NoError(t, yaml.Unmarshal([]byte(text), &doc))

				d := &decoder{lines: strings.Split(text, "\n"), where: map[string]pos{}}
				var ingest Ingest
				d.value(doc.Content[0].Content[1], "ingest", &ingest)
				require.Empty(t, d.errs)

				return ingest
			}

			want := second(c.value, c.value)
			require.NotZero(t, want)
			assert.Equal(t, want, second("&anchor "+c.value, "*anchor "))
		})
	}
}
