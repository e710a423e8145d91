package spelling

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// Names as files, columns and channels have them. Expected: a parser of YAML reads the same name from a list and from a
// key of a mapping in braces, as advice has them. Plain words stand without quotes.
func TestYAML(t *testing.T) {
	for _, name := range []string{
		"mic3", "p[1]", "a: b", "c, d", "x}", "#2", "null", "Null", "1", "007", "", "Δp", "it's", `say "p"`, `C:\a`, "a\tb",
		"- x", "true", "{x}", "*a", "&a", "!a", "%a", "@a", "x\u0085y",
	} {
		for _, text := range []string{"[" + YAML(name) + "]", "{" + YAML(name) + ": -6.00}", "{name: " + YAML(name) + "}"} {
			var node yaml.Node
			require.NoError(t, yaml.Unmarshal([]byte(text), &node), text)

			list := node.Content[0].Content
			assert.Contains(t, []string{list[0].Value, list[len(list)-1].Value}, name, text)
			assert.NotEqual(t, "!!null", list[len(list)-1].Tag, text)
		}
	}

	assert.Equal(t, "rpm_2", YAML("rpm_2"))
	assert.Equal(t, "a.csv", YAML("a.csv"))
	assert.Equal(t, "4", YAML("4"))
}
