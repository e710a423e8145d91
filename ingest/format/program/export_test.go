package program

// SetInAny changes what a program may write of any file, and returns what it was.
func SetInAny(n int64) int64 {
	old := inAny
	inAny = n
	return old
}
