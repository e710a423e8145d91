//go:build !linux

package app

// hugePages does nothing: only Linux has such a request.
func hugePages() {}
