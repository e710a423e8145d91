package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"doubletake/internal/kv"
	"doubletake/pipeline/engine"
)

// The second of two tasks is made from the output of the first. Run again, nothing is made. If the configuration
// changes, the task that reads it is made again, with the reason.
func ExampleRun() {
	dir, err := os.MkdirTemp("", "work")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	plan := func(greeting string) *engine.Plan {
		return &engine.Plan{Dir: dir, Stages: []string{"write", "shout"}, Tasks: []*engine.Task{
			{
				ID: "hello", Stage: "write", Version: 1, Config: []kv.Pair{{Key: "greeting", Value: greeting}},
				Run: func(_ context.Context, j *engine.Job) error {
					return os.WriteFile(j.Output("hello.txt"), []byte(greeting), 0o600)
				},
			},
			{
				ID: "loud", Stage: "shout", Version: 1, Deps: []engine.Dep{{Task: "hello", Output: "hello.txt"}},
				Publish: []engine.Link{{Output: "loud.txt", Path: "loud.txt"}},
				Run: func(_ context.Context, j *engine.Job) error {
					b, err := os.ReadFile(j.Input("hello", "hello.txt"))
					if err != nil {
						return err
					}

					return os.WriteFile(j.Output("loud.txt"), []byte(strings.ToUpper(string(b))), 0o600)
				},
			},
		}}
	}

	for _, greeting := range []string{"good day", "good day", "good evening"} {
		p := plan(greeting)
		states, err := engine.Assess(p)
		if err != nil {
			fmt.Println(err)
			return
		}

		r, err := engine.Run(context.Background(), p, engine.Options{Jobs: 1})
		if err != nil {
			fmt.Println(err)
			return
		}

		b, err := os.ReadFile(filepath.Join(dir, "loud.txt"))
		fmt.Printf("hello is %s: %d made, %s, %v\n", states[0].State, r.Ran, b, err)

		for _, reason := range states[0].Reasons {
			fmt.Println(" ", reason)
		}
	}
	// Output:
	// hello is missing: 2 made, GOOD DAY, <nil>
	//   no result yet
	// hello is up to date: 0 made, GOOD DAY, <nil>
	// hello is stale: 2 made, GOOD EVENING, <nil>
	//   greeting: good day → good evening
}
