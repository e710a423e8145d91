package hdf5

// space is a dataspace: the shape of a dataset or an attribute.
type space struct {
	null bool     // there are no elements and no shape
	dims []uint64 // lengths of the axes, the slowest first; nil for a single value
	max  []uint64 // lengths to which the axes may grow; undefined if there is no limit
}

// maxElements bounds the number of elements, so that the number of their bytes does not overflow.
const maxElements = 1 << 56

// dataspace reads a dataspace message ("Dataspace Message"): version, number of axes, flags, in version 2 a type (2 is
// a dataspace without elements), in version 1 five bytes of padding, and the lengths.
func (p *parser) dataspace(b []byte) space {
	fields := p.message(b, "dataspace")
	version := fields.u8()
	rank := int(fields.u8())
	flags := fields.u8()

	var s space

	switch version {
	case 1:
		fields.skip(5)
	case 2:
		s.null = fields.u8() == 2
	default:
		unsupported("dataspace version %d", version)
	}

	p.unless(rank <= maxRank, undefined, "%d axes: the format allows %d", rank, maxRank)

	s.dims = fields.axes(rank)
	s.max = s.dims
	if flags&1 != 0 {
		s.max = fields.axes(rank)
	}

	if s.null {
		s.dims = nil
		s.max = nil
	}

	n := uint64(1)
	for _, d := range s.dims {
		var ok bool
		n, ok = times(n, max(d, 1)) // an empty axis must not hide that others are too long
		p.unless(ok && n <= maxElements, undefined, "a dataspace of more than 2^56 elements")
	}

	return s
}

// axes reads the lengths of rank axes. It returns nil if there are none.
func (c *cursor) axes(rank int) []uint64 {
	var dims []uint64
	for range rank {
		dims = append(dims, c.u64())
	}

	return dims
}

// count returns the number of elements.
func (s space) count() uint64 {
	if s.null {
		return 0
	}

	n := uint64(1)
	for _, d := range s.dims {
		n *= d
	}

	return n
}

// dimsInt returns the lengths of the axes for users of the package, and nil for a single value.
func (s space) dimsInt() []int64 {
	var dims []int64
	for _, d := range s.dims {
		dims = append(dims, int64(d))
	}

	return dims
}
