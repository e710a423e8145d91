package engine

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"hash/crc32"

	"doubletake/pipeline/kv"
)

// The index is one file: a line with its version, the records, and a checksum. All of
// it can be restored from the objects' manifests.
const indexMagic = "doubletake index 3\n"

func (ix *index) encode() []byte {
	var b bytes.Buffer
	b.WriteString(indexMagic)

	if err := gob.NewEncoder(&b).Encode(ix); err != nil {
		panic(fmt.Sprintf("engine: encode index: %v", err)) // a buffer takes everything
	}

	return binary.LittleEndian.AppendUint32(b.Bytes(), crc32.ChecksumIEEE(b.Bytes()))
}

var errIndex = errors.New("damaged index")

// decode reads what encode wrote; anything else is an error, and ix is then
// not to be used.
func (ix *index) decode(b []byte) error {
	n := len(b) - 4
	if n < len(indexMagic) || !bytes.HasPrefix(b, []byte(indexMagic)) ||
		crc32.ChecksumIEEE(b[:n]) != binary.LittleEndian.Uint32(b[n:]) {
		return errIndex
	}

	*ix = newIndex()

	return gob.NewDecoder(bytes.NewReader(b[len(indexMagic):n])).Decode(ix)
}

func newIndex() index {
	return index{Configs: map[string][]kv.Pair{}, Tasks: map[string]*record{}, Files: map[string]fileRecord{}}
}
