package program

// SetInAny sets the number of bytes that a program may write for any file, and returns the number before.
func SetInAny(n int64) int64 {
	old := inAny
	inAny = n
	return old
}
