//go:build !amd64

package kernel

// avx2 is nil: there is no assembly for this processor.
var avx2 *Set[float32]

// tiles returns the tile functions of Subtract and of Add.
func tiles() (fused, rounded tile) { return fusedPortable, roundedPortable }
