package engine

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
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
	assert.False(t, there(a["join"]), "the former join was removed")
	assert.True(t, there(b["join"]), "the present join is there")
	assert.True(t, there(a["count/a"]), "another task's former result is there")
	assert.True(t, there(a["fit/0"]), "another task's former result is there")

	run("a", "")
	require.Len(t, w.ran, 1, "going back")
	assert.Equal(t, "join", w.ran[0], "going back")

	both := run("a", "twin")
	require.Equal(t, both["join"], both["twin"], "the twin has the same key")

	run("b", "")
	assert.True(t, there(a["join"]), "the former result of join is there, because it is the twin's result")
}
