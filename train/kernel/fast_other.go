//go:build !amd64

package kernel

// avx2 is nil: there is no assembly for this processor.
var avx2 *Set[float32]

// newTileSets returns the tiles in Go.
func newTileSets() []tileSet { return []tileSet{portableTiles} }

// maternFast returns 0: there is no assembly for this processor.
func maternFast(_, _, _ []float64) int { return 0 }
