// Package kv contains the key-value pair that configuration, tasks and tables share, and reads pairs and grids of a
// command line. It imports no other package of the module.
package kv

// Pair is a key with its value: a setting, a fact about a result, or an entry of a table's metadata. Lists of pairs
// keep their order.
type Pair struct{ Key, Value string }
