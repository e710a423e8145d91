// Package kv holds the key-value pair that configuration, tasks and tables
// share, and reads pairs of a command line. It imports nothing.
package kv

// Pair is a key with its value: a setting, a fact about a result, an entry of a
// table's metadata. Lists of pairs keep their order.
type Pair struct{ Key, Value string }
