//go:build !amd64

package kernel

const fast = false

func pairSHA(*[2][8]uint32, *byte, *byte, int) { panic("kernel: no SHA instructions") }
