package app

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The expected time of training is written without an exponent, also for long campaigns. Expected texts by hand.
func TestTrainingCost(t *testing.T) {
	for seconds, want := range map[float64]string{
		1.6: "train: 2 tasks, about 1.6 s of one processor\n", 150: "train: 2 tasks, about 3 min of one processor\n",
		11000: "train: 2 tasks, about 3 h 3 min of one processor\n",
	} {
		var cost trainingCost
		cost.add("train", seconds/4)
		cost.add("train", 3*seconds/4)
		cost.add("ingest", 1000)

		var text strings.Builder
		cost.write(&text)
		assert.Equal(t, want, text.String())
	}

	small := trainingCost{tasks: 1, seconds: 0.00001}
	var line strings.Builder
	small.write(&line)
	assert.Equal(t, "train: 1 task, less than 0.001 s of one processor\n", line.String())

	var text strings.Builder
	(&trainingCost{}).write(&text)
	assert.Empty(t, text.String(), "no task trains")
}
