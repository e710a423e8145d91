//go:build !amd64

package kernel

var avx2 *Set[float32]

func tiles() (fused, rounded tile) { return fusedPortable, roundedPortable }
