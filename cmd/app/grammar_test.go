package app

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/longtest"
)

// resultLines are commands that take a result, with the place of the result as %s.
var resultLines = map[string][]string{
	"predict":  {"predict", "%s", "--at", "blades=3,rpm=4000,theta_deg=0"},
	"suggest":  {"suggest", "%s", "--grid", "blades=2:3:1,rpm=4000,theta_deg=0"},
	"plot":     {"plot", "%s"},
	"inspect":  {"inspect", "%s"},
	"budget":   {"budget", "%s"},
	"contrast": {"contrast", "%s", "--a", "blades=2", "--b", "blades=3", "--outcome", "bpf1_db"},
	"judge":    {"judge", "predicted/predictions.csv", "--against", "%s"},
	"export":   {"export", "%s", "exported", "--format", "csv"},
}

// withoutLevel are commands that take a result and print no interval of a level of their own.
var withoutLevel = map[string]string{
	"suggest": "ranks conditions", "plot": "draws the report's", "inspect": "has none",
	"export": "writes tables as they are",
}

// withoutJSON are commands that have no --json, with what stands for it.
var withoutJSON = map[string]string{
	"report": "metrics.json", "simulate": "writes files", "init": "writes files", "honest": "prior.json",
	"serve":  "a page",
	"schema": "is JSON", "tasks": "--format json", "exec": "makes files", "cancel": "only acts", "man": "a document",
	"help": "a document", "session": "is JSON", "completion": "a script",
}

// Every command that takes a result takes the same four forms, and all commands say what they have of --level, --json
// and examples. The table that this prints has no empty cell.
func TestGrammar(t *testing.T) {
	longtest.Skip(t, "runs each command on each form")

	dir, _ := leftAlone(t)
	t.Chdir(dir)
	out := t.TempDir()

	forms := []string{"rotor", "rotor/2-blades", "runs/rotor", "runs/rotor/triplets.arrow"}
	export := []string{"export", "runs/rotor/splits/2-blades/seed-0", out, "--format", "csv", "--tables", "predictions"}
	require.Zero(t, run(export, io.Discard, io.Discard))

	var table strings.Builder
	fmt.Fprintf(&table, "%-11s %-40s %-28s %-16s %s\n", "command", "forms", "--level", "--json", "example")
	for _, cmd := range commands() {
		taken := cmd.args
		if line := resultLines[cmd.name]; line != nil {
			taken = ""
			for _, form := range forms {
				var stderr strings.Builder
				words := strings.Split(strings.NewReplacer("%s", form, "predicted/", out+"/", "exported", filepath.Join(out, "x")).
					Replace(strings.Join(line, "\x00")), "\x00")
				if assert.Zero(t, run(words, io.Discard, &stderr), "%q: %s", words, &stderr) {
					taken += "yes "
				}
			}

			assert.Equal(t, "yes yes yes yes ", taken, cmd.name)
		}

		hasFlag := func(name string) bool {
			return slices.ContainsFunc(cmd.flags, func(o option) bool { return o.name == name })
		}
		level := "–"
		if resultLines[cmd.name] != nil {
			level = withoutLevel[cmd.name]
		}

		if hasFlag("level") {
			level = "yes"
		}

		json := withoutJSON[cmd.name]
		if hasFlag("json") {
			json = "yes"
		}

		example := ""
		cmd.paragraphs(func(line string) { example = line }, func(string) {})

		assert.False(t, hasFlag("alpha"), cmd.name)
		for _, filled := range []string{level, json, example} {
			assert.NotEmpty(t, filled, "a cell of %s", cmd.name)
		}

		fmt.Fprintf(&table, "%-11s %-40s %-28s %-16s %s\n", cmd.name, strings.TrimSpace(taken), level, json, example)
	}

	t.Log("\n" + table.String())
}
