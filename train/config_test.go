package train

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/train/kernel"
)

// Each setting that is out of range is an error that names it.
func TestValidate(t *testing.T) {
	require.NoError(t, DefaultConfig().Validate())

	for want, f := range map[string]func(*Config){
		"hidden: expected 1 to 8": func(c *Config) { c.Hidden = nil },
		"for layer 2":             func(c *Config) { c.Hidden = []int{64, 0} },
		"dropout":                 func(c *Config) { c.Dropout = 1 },
		"feedback: expected":      func(c *Config) { c.Feedback = "none" },
		"feedback_value: expected": func(c *Config) {
			c.Feedback = Constant
			c.FeedbackValue = math.NaN()
		},
		"feedback_value: expected feed": func(c *Config) { c.FeedbackValue = 3 },
		"beta":                          func(c *Config) { c.Beta = -1 },
		"learning_rate":                 func(c *Config) { c.LearningRate = 0 },
		"weight_decay":                  func(c *Config) { c.WeightDecay = 1000 },
		"batch":                         func(c *Config) { c.Batch = 0 },
		"epochs":                        func(c *Config) { c.Epochs = 0 },
		"schedule":                      func(c *Config) { c.Schedule = "step" },
		"kernels: expected auto, port":  func(c *Config) { c.Kernels = "sse" },
	} {
		c := DefaultConfig()
		f(&c)

		assert.ErrorContains(t, c.Validate(), want)
	}
}

// auto is the first of the kernel sets that this processor has. A set that it does not have is an error.
func TestKernelSet(t *testing.T) {
	t.Setenv(kernel.EnvVar, "")

	k, err := KernelSet("auto")
	require.NoError(t, err)
	assert.Equal(t, kernel.Names()[0], k)

	_, err = KernelSet("vax")
	assert.Error(t, err, "an unknown set")
}
