package ridge

import (
	"testing"

	"doubletake/train/baseline/baselinetest"
)

func TestConformance(t *testing.T) { baselinetest.Conformance(t, Info) }
