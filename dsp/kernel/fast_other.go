//go:build !amd64

package kernel

var (
	fastSets   []*Set[float64]
	fastSets32 []*Set[float32]
)
