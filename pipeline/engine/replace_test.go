package engine

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// A task that replaces its result leaves one behind, the present one; the results of other
// tasks stay, and one that two tasks share stays as long as one of them has it. Going back to
// the former settings makes the join alone.
func TestReplace(t *testing.T) {
	w := newWorld(t.TempDir())
	w.write(t)

	run := func(letter, twin string) map[string]string {
		w.config["count.letter"] = letter
		w.ran = nil
		p := w.plan()
		join := p.Tasks[len(p.Tasks)-w.seeds-1]
		join.Replaces = true
		if twin != "" { // a second join with the same key as long as the letter is the same
			other := *join
			other.ID = twin
			other.Publish = nil
			p.Tasks = append(p.Tasks, &other)
		}

		_, err := Run(context.Background(), p, Options{Jobs: 2})
		require.NoError(t, err)

		keys := map[string]string{}
		for id, r := range openStore(w.dir).index.Tasks {
			keys[id] = r.Key
		}

		return keys
	}

	there := func(key string) bool {
		_, err := os.Stat(openStore(w.dir).object(key))
		return err == nil
	}

	a := run("a", "")
	b := run("b", "")
	if there(a["join"]) || !there(b["join"]) || !there(a["count/a"]) || !there(a["fit/0"]) {
		t.Error("the former join is there, or another result is gone")
	}

	if run("a", ""); len(w.ran) != 1 || w.ran[0] != "join" {
		t.Errorf("going back made %v, expected the join", w.ran)
	}

	if both := run("a", "twin"); both["twin"] != both["join"] {
		t.Fatal("the twin has another key")
	}

	if run("b", ""); !there(a["join"]) {
		t.Error("the result of the twin is gone")
	}
}
