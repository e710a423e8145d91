package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"doubletake/internal/kv"
	"doubletake/pipeline/engine"
)

// planFile is the name of the file with the Batch of a part, in the part's folder.
const planFile = "plan.json"

// Batch is the work of one part.
type Batch struct {
	Format string        `json:"doubletake_batch"` // batchFormat
	Config []byte        `json:"config"`           // path of the configuration; as bytes, because it need not be UTF-8
	Added  []string      `json:"added,omitempty"`  // further arguments of the driver that change the plan
	Dir    []byte        `json:"dir"`              // working directory of the driver
	Facts  []kv.Pair     `json:"facts"`            // facts that the driver's machine and the node must agree on
	Tasks  []engine.Spec `json:"tasks"`            // in the order in which they are made
}

// batchFormat is the version of the format of Batch.
const batchFormat = "2"

// ReadBatch reads a batch. isBatch is false, and err is nil, if the file is something else, such as a configuration.
func ReadBatch(path string) (batch *Batch, isBatch bool, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, false, fmt.Errorf("read plan: %w", err)
	}

	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte(`{"doubletake_batch"`)) {
		return nil, false, nil
	}

	batch = &Batch{}
	if err := json.Unmarshal(data, batch); err != nil {
		return nil, true, fmt.Errorf("read plan %s: %w", path, err)
	}

	if batch.Format != batchFormat {
		return nil, true, fmt.Errorf("read plan %s: format %q is not %s, this program's", path, batch.Format, batchFormat)
	}

	return batch, true, nil
}
