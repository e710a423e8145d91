package app

import (
	"fmt"
	"io"
	"strings"
)

// lineage writes which stages of which experiments feed which, as a graph: a
// node per experiment and stage with its number of tasks, an edge with the
// number of results that one's tasks take from the other's.
func lineage(w io.Writer, format string, list []listedTask) error {
	type node struct{ experiment, stage string }
	type edge struct{ from, to int }
	var (
		nodes []node
		tasks []int
		edges []edge
	)

	number, of, counts := map[node]int{}, map[int]int{}, map[edge]int{}
	for _, t := range list {
		n := node{t.Experiment, t.Stage}
		if _, ok := number[n]; !ok {
			number[n] = len(nodes)
			nodes, tasks = append(nodes, n), append(tasks, 0)
		}

		of[t.Index] = number[n]
		tasks[number[n]]++

		for _, need := range t.Needs {
			from, ok := of[need] // tasks come after those they need
			e := edge{from, number[n]}
			if !ok || e.from == e.to {
				continue // not selected, or the same stage
			}

			if counts[e] == 0 {
				edges = append(edges, e)
			}

			counts[e]++
		}
	}

	head, foot, nodeForm, edgeForm, line := "flowchart LR\n", "", "  n%d[\"%s\"]\n", "  n%d -->|%d| n%d\n", "<br/>"

	escape := strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;")
	if format == "dot" {
		head, foot, nodeForm, edgeForm, line = "digraph pipeline {\n  rankdir=LR;\n  node [shape=box];\n", "}\n",
			"  n%d [label=\"%s\"];\n", "  n%d -> n%[3]d [label=\"%[2]d\"];\n", `\n`
		escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	}

	var b strings.Builder
	b.WriteString(head)

	for i, n := range nodes {
		label := []string{n.stage, fmt.Sprintf("%d tasks", tasks[i])}
		if tasks[i] == 1 {
			label[1] = "1 task"
		}

		if n.experiment != "" {
			label = append([]string{escape.Replace(n.experiment)}, label...)
		}

		fmt.Fprintf(&b, nodeForm, i, strings.Join(label, line))
	}

	for _, e := range edges {
		fmt.Fprintf(&b, edgeForm, e.from, counts[e], e.to)
	}

	b.WriteString(foot)
	_, err := io.WriteString(w, b.String())

	return err
}
