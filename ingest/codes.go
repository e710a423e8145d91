package ingest

// Codes lists numbers that are rarely measured values: loggers write them for a missing value, or they are the
// full scale of a converter.
var Codes = []float64{
	-9999, 9999, -999.25, -999, -9999.99, 9999.99, -99999, 99999, -999999, 999999, -32768, 32767, 65535, 2147483647,
	9.9e37, -9.9e37, 9.91e37, // SCPI: an overload in either direction, and not a number
}
