package app

import (
	"strings"
	"testing"
)

// A small plan: two ingest tasks feed one dsp task, that one two trainings, and
// those a report. Written by hand.
var lineageTasks = []listedTask{
	{Index: 0, Stage: "ingest", Experiment: `a "b"`},
	{Index: 1, Stage: "ingest", Experiment: `a "b"`, Needs: []int{0}},
	{Index: 2, Stage: "dsp", Experiment: `a "b"`, Needs: []int{0, 1}},
	{Index: 4, Stage: "train", Experiment: `a "b"`, Needs: []int{2, 3}}, // 3 is not selected
	{Index: 5, Stage: "train", Experiment: `a "b"`, Needs: []int{2}},
	{Index: 6, Stage: "report", Needs: []int{4, 5}},
}

func TestLineage(t *testing.T) {
	for format, want := range map[string]string{
		"mermaid": `flowchart LR
  n0["a #quot;b#quot;<br/>ingest<br/>2 tasks"]
  n1["a #quot;b#quot;<br/>dsp<br/>1 task"]
  n2["a #quot;b#quot;<br/>train<br/>2 tasks"]
  n3["report<br/>1 task"]
  n0 -->|2| n1
  n1 -->|2| n2
  n2 -->|2| n3
`,
		"dot": `digraph pipeline {
  rankdir=LR;
  node [shape=box];
  n0 [label="a \"b\"\ningest\n2 tasks"];
  n1 [label="a \"b\"\ndsp\n1 task"];
  n2 [label="a \"b\"\ntrain\n2 tasks"];
  n3 [label="report\n1 task"];
  n0 -> n1 [label="2"];
  n1 -> n2 [label="2"];
  n2 -> n3 [label="2"];
}
`,
	} {
		var b strings.Builder
		if err := lineage(&b, format, lineageTasks); err != nil || b.String() != want {
			t.Errorf("%s: %v\n%s\nexpected\n%s", format, err, b.String(), want)
		}
	}
}
