package engine

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"doubletake/internal/kv"
)

// output is one file of an object.
type output struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	Digest string `json:"digest,omitempty"` // set by Job.SetDigest; "": the SHA-256
}

// digest returns the digest of the output in the keys of tasks that take it.
func (o output) digest() string { return cmp.Or(o.Digest, o.SHA256) }

// input is a raw file, or an output of another task, whose digest is part of a key. Manifests keep it to explain why a
// task must run again.
type input struct {
	Name   string `json:"name"` // path of a raw file, or "task → output"
	Digest string `json:"digest"`
}

// manifest describes an object. Its file is in the same folder or pack as the outputs, and ends with
// a checksum of the manifest and of the object's key.
type manifest struct {
	Task     string    `json:"task"`
	Stage    string    `json:"stage"`
	Version  int       `json:"stage_version"`
	Program  string    `json:"program"` // version of the program: recorded, never keyed
	Host     string    `json:"host"`
	Start    string    `json:"start"`
	Seconds  float64   `json:"seconds"`
	Config   []kv.Pair `json:"config"`
	Inputs   []input   `json:"inputs"`
	Outputs  []output  `json:"outputs"`
	Annotate []kv.Pair `json:"annotate,omitempty"`
}

// encode returns the file of the manifest, for the object with that key.
func (m manifest) encode(key string) ([]byte, error) {
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}

	sum := sha256.Sum256(append([]byte(key+"\n"), data...))

	return fmt.Appendf(data[:len(data)-2], ",\n  \"sum\": %q\n}\n", hex.EncodeToString(sum[:])), nil
}

// describes reports whether data is the file of the manifest for the object with that key.
func (m manifest) describes(key string, data []byte) bool {
	whole, err := m.encode(key)

	return err == nil && bytes.Equal(whole, data)
}
