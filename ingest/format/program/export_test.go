package program

// SetBaseOutput sets the number of bytes that a program may write for any file, and returns the number before.
func SetBaseOutput(n int64) int64 {
	old := baseOutput
	baseOutput = n
	return old
}
