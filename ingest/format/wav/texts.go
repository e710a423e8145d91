package wav

import (
	"doubletake/ingest"
	"doubletake/ingest/format/internal/raw"
)

// maxText bounds the length of a chunk of texts in bytes, and maxTexts the number of texts of a file. Recordings have
// some hundred bytes of texts.
const (
	maxText  = 1 << 16
	maxTexts = 64
)

// infoNames has names for the entries of LIST/INFO chunks that people understand.
var infoNames = map[string]string{
	"INAM": "title", "IART": "artist", "ICMT": "comment", "ICRD": "date", "ISFT": "software", "ICOP": "copyright",
	"IGNR": "genre", "ISBJ": "subject", "IKEY": "keywords", "IENG": "engineer", "ITCH": "technician", "ISRC": "source",
	"IPRD": "product", "IMED": "medium", "ICMS": "commissioned by", "IARL": "archive", "ILNG": "language", "ITRK": "track",
}

// attribute adds an attribute, unless its text is empty or there are too many.
func (f *file) attribute(name string, text []byte) {
	if s := raw.Text(text); s != "" && len(f.info.Attributes) < maxTexts {
		f.info.Attributes = append(f.info.Attributes, ingest.Attribute{Name: name, Value: s})
	}
}

// bextFields lists the text fields of a bext chunk (EBU Tech 3285) with their offsets in the body.
var bextFields = []struct {
	name       string
	begin, end int
}{
	{"description", 0, 256},
	{"originator", 256, 288},
	{"originator reference", 288, 320},
	{"date", 320, 330},
	{"time", 330, 338},
}

// texts adds the texts of a LIST/INFO or bext chunk as attributes. Damage in these chunks is not a reason to refuse the
// samples, so texts leaves out texts that cannot be read. The body of a LIST/INFO chunk is "INFO" and then entries: a
// name of 4 bytes, the length of the text in 4 bytes, and the text, padded to an even length.
func (f *file) texts(id string, begin, length int64) {
	b := make([]byte, min(length, maxText))
	if f.get(b, begin) != nil {
		return
	}

	if id == "bext" {
		for _, field := range bextFields {
			if len(b) >= field.end {
				f.attribute(field.name, b[field.begin:field.end])
			}
		}

		return
	}

	if len(b) < 4 || string(b[:4]) != "INFO" {
		return
	}

	for b = b[4:]; len(b) >= 8; {
		key := string(b[:4])
		n := int64(f.order.Uint32(b[4:]))
		b = b[8:]
		n = min(n, int64(len(b)))

		name, ok := infoNames[key]
		if !ok {
			name = raw.Text([]byte(key))
		}

		f.attribute(name, b[:n])
		b = b[min(n+n&1, int64(len(b))):]
	}
}
