package experiment

import (
	"testing"

	"doubletake/ingest/setting"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A batch that is asked for must not exceed the training set; the default may.
func TestCheckBatch(t *testing.T) {
	e := &Experiment{BatchStated: true}
	e.Network.Optimizer.Batch = 32
	split := Split{Name: "s"}
	assert.Equal(t, &setting.Error{
		Key:  "optimizer.batch",
		Text: `expected up to 31 triplets, which the training set of split "s" has, found 32`,
	}, e.checkBatch(split, 31))
	require.NoError(t, e.checkBatch(split, 32))

	e.BatchStated = false
	require.NoError(t, e.checkBatch(split, 5), "the default batch is larger")
}
