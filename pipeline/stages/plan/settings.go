package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/condition"
	"doubletake/ingest/setting"
	"doubletake/internal/kv"
	"doubletake/pipeline/config"
)

// Settings returns the settings of a section of the configuration as a part of a task's key. prefix is the section's
// own key.
func Settings(prefix string, section any) []kv.Pair {
	return config.Flatten(prefix, section)
}

// Only returns the settings of a section that are in keys or below one of them. It overwrites the given list.
func Only(section string, settings []kv.Pair, keys ...string) []kv.Pair {
	return slices.DeleteFunc(settings, func(setting kv.Pair) bool {
		key, _, _ := strings.Cut(strings.TrimPrefix(setting.Key, section+"."), ".")
		return !slices.Contains(keys, key)
	})
}

// Own returns settings that a room lists as a part of a task's key. prefix stands before their names.
func Own(prefix string, list []setting.NamedString) []kv.Pair {
	var settings []kv.Pair
	for _, own := range list {
		settings = append(settings, kv.Pair{Key: prefix + own.Name, Value: own.Value})
	}

	return settings
}

// PointSettings returns the tolerances and the known set points of conditions as a part of a task's key.
func PointSettings(points condition.Points, tolerances []config.NamedString) []kv.Pair {
	var settings []kv.Pair
	for _, t := range tolerances {
		settings = append(settings, kv.Pair{Key: "ingest.within." + t.Name, Value: t.Value})
		if known, ok := points[t.Name]; ok {
			settings = append(settings, kv.Pair{Key: "set points of " + t.Name, Value: fmt.Sprint(known.List)})
		}
	}

	return settings
}

// Digest returns the SHA-256 of the settings in their order, in hexadecimal digits.
func Digest(sections ...[]kv.Pair) string {
	hash := sha256.New()
	for _, setting := range slices.Concat(sections...) {
		fmt.Fprintf(hash, "%d:%s%d:%s", len(setting.Key), setting.Key, len(setting.Value), setting.Value)
	}

	return hex.EncodeToString(hash.Sum(nil))
}

// SeedOf derives a seed from the experiment's seed, a purpose and the name of a run, so that equal seeds do not occur
// by chance.
func SeedOf(seed uint64, purpose, run string) uint64 {
	hash := fnv.New64a()
	hash.Write([]byte(strconv.FormatUint(seed, 10) + "\x00" + purpose + "\x00" + run))

	return hash.Sum64()
}

// Stated returns the metadata of a table as a part of the key of the task that writes it. It leaves out the program's
// version, which is not part of keys, and the digest, which repeats the settings.
func Stated(meta []kv.Pair) []kv.Pair {
	var keyed []kv.Pair
	for _, pair := range meta {
		if pair.Key != "program" && pair.Key != "config_digest" {
			keyed = append(keyed, kv.Pair{Key: strings.TrimPrefix(pair.Key, "config:"), Value: pair.Value})
		}
	}

	return keyed
}

// Meta returns the metadata that say where a table comes from: the program, the experiment, the kind of data, the given
// settings and their digest. The caller gives the settings that the table depends on.
func (e *Experiment) Meta(sections ...[]kv.Pair) []kv.Pair {
	meta := []kv.Pair{
		{Key: "program", Value: "doubletake " + e.Program.Version},
		{Key: "experiment", Value: e.Family()}, // variants share results, which must not name one of them
		{Key: "data", Value: e.Ingest.Data},
		{Key: "config_digest", Value: Digest(sections...)},
	}

	seen := map[string]bool{} // sections overlap, and a key of metadata may occur only once
	for _, pair := range slices.Concat(sections...) {
		if !seen[pair.Key] {
			seen[pair.Key] = true
			meta = append(meta, kv.Pair{Key: "config:" + pair.Key, Value: pair.Value})
		}
	}

	return meta
}
