//go:build !amd64

package kernel

var fast *Set
