//go:build !linux

package app

func hugePages() {}
