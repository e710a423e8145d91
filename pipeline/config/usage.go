package config

// UsageError reports arguments of the command line that cannot be understood.
type UsageError struct{ Text string }

func (e *UsageError) Error() string { return e.Text }
