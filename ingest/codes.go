package ingest

// Codes lists numbers that are rarely measured values: those that loggers write for a missing value, and
// the full scales of converters.
var Codes = []float64{
	-9999, 9999, -999.25, -999, -9999.99, 9999.99, -99999, 99999, -999999, 999999, -32768, 32767, 65535, 2147483647,
}
