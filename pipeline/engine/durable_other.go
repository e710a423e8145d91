//go:build !linux

package engine

// syncAll is nil: no call is known that waits until a file system is on the disk.
var syncAll func(within string) error
