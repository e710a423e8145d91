package fault

// UsageError reports an option or an argument that cannot be understood. Its text names the option as a user writes it,
// says what was expected, and what was found.
type UsageError struct{ Text string }

func (e *UsageError) Error() string { return e.Text }
