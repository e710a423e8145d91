package simulate

import (
	"encoding/binary"
	"fmt"
	"math"

	"doubletake/ingest/fault"
)

// dataBytes returns the size of the data chunk.
func (r Rotor) dataBytes() int64 {
	return r.samples() * int64(len(r.ThetaDeg)*r.sampleBytes())
}

// header returns the WAV file up to the first sample: a fmt chunk in the form
// WAVE_FORMAT_EXTENSIBLE, which more than two channels need, a LIST chunk with texts, and for
// float samples a fact chunk.
func (r Rotor) header(blades int, rpm float64) []byte {
	comment := fmt.Sprintf("simulated rotor recording, not measured: blades=%d rpm=%s; one channel per polar angle "+
		"theta_deg=%s; full scale %s V peak, sensitivity %s V/Pa; seed %d",
		blades, plain(rpm), joinPlain(r.ThetaDeg), plain(r.FullScaleV), plain(r.SensitivityVPerPa), r.Seed)
	info := []byte("INFO")
	info = appendChunk(info, "INAM", []byte("simulated rotor\x00"))
	info = appendChunk(info, "ISFT", []byte("doubletake simulate "+Version+"\x00"))
	info = appendChunk(info, "ICMT", []byte(comment+"\x00"))

	b := []byte("WAVE")
	b = appendChunk(b, "fmt ", r.format())
	b = appendChunk(b, "LIST", info)
	if r.Encoding == EncodingFloat32 {
		b = appendChunk(b, "fact", binary.LittleEndian.AppendUint32(nil, uint32(r.samples())))
	}

	// The data chunk needs no padding: samples have 2 or 4 bytes.
	b = append(b, "data"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(r.dataBytes()))

	head := []byte("RIFF")
	head = binary.LittleEndian.AppendUint32(head, uint32(int64(len(b))+r.dataBytes()))

	return append(head, b...)
}

// format returns the body of the fmt chunk.
func (r Rotor) format() []byte {
	le := binary.LittleEndian
	channels := len(r.ThetaDeg)
	size := r.sampleBytes()
	tag := uint16(1) // PCM
	if r.Encoding == EncodingFloat32 {
		tag = 3 // IEEE float
	}

	b := le.AppendUint16(nil, 0xFFFE) // WAVE_FORMAT_EXTENSIBLE
	b = le.AppendUint16(b, uint16(channels))
	b = le.AppendUint32(b, uint32(r.RateHz))
	b = le.AppendUint32(b, uint32(r.RateHz)*uint32(channels*size))
	b = le.AppendUint16(b, uint16(channels*size))
	b = le.AppendUint16(b, uint16(8*size))
	b = le.AppendUint16(b, 22)             // bytes of the extension that follows
	b = le.AppendUint16(b, uint16(8*size)) // valid bits of a sample
	b = le.AppendUint32(b, 0)              // no loudspeaker positions
	b = le.AppendUint16(b, tag)

	// The rest of the GUID of the sub-format, which begins with the tag.
	return append(b, "\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71"...)
}

// appendChunk appends a RIFF chunk to b, padded to an even length.
func appendChunk(b []byte, id string, body []byte) []byte {
	b = append(b, id...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(body)))
	b = append(b, body...)
	if len(body)%2 != 0 {
		b = append(b, 0)
	}

	return b
}

// put encodes the pressures of a channel in Pa into the frames of a block. start is the number of the first
// sample, for the message if a pressure is beyond full scale.
func (r Rotor) put(frames []byte, pressures []float32, channel int, start int64) error {
	channels := len(r.ThetaDeg)
	if r.Encoding == EncodingFloat32 {
		putFloat32(frames[4*channel:], 4*channels, pressures, float32(1/r.fullScalePa()))
		return nil
	}

	clipped := putPCM16(frames[2*channel:], 2*channels, pressures, float32(32768/r.fullScalePa()))
	if clipped >= 0 {
		return fmt.Errorf("channel %d, sample %d: %s Pa is beyond full scale, %s Pa: raise FullScaleV",
			channel+1, start+int64(clipped), fault.Digits(float64(pressures[clipped]), 3), fault.Digits(r.fullScalePa(), 3))
	}

	return nil
}

// putPCM16 encodes scale·pressure as the nearest 16-bit integer, little-endian, one every
// stride bytes of dst. It returns the index of the first value that does not fit, or −1
// if all fit.
func putPCM16(dst []byte, stride int, pressures []float32, scale float32) int {
	offset := 0
	for i, v := range pressures {
		v *= scale
		if !(v > -32768.5 && v < 32767.5) {
			return i
		}

		count := int32(float64(v)+32768.5) - 32768
		dst[offset] = byte(count)
		dst[offset+1] = byte(count >> 8)
		offset += stride
	}

	return -1
}

// putFloat32 encodes scale·pressure as float32, little-endian, one every stride bytes of dst.
func putFloat32(dst []byte, stride int, pressures []float32, scale float32) {
	offset := 0
	for _, v := range pressures {
		binary.LittleEndian.PutUint32(dst[offset:], math.Float32bits(v*scale))
		offset += stride
	}
}
