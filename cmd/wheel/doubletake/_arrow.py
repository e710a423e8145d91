"""Reads the Arrow IPC files that doubletake writes: random-access format, not
compressed; columns of utf8, float64, int64, bool and list<float32>."""

import struct

import numpy as np


class FormatError(ValueError):
    """A file is damaged, or holds what this package does not read."""


class Table(dict):
    """Columns by name, as numpy arrays of equal length, in the file's order.

    Numbers are float64 (missing: NaN) or int64, flags bool, texts objects of
    type str. A column of lists is a float32 array of two axes where all lists
    have one length, else an object array of float32 arrays.

    units, descriptions: per column, "" where there is none.
    metadata: what the file states about itself.
    """

    def __init__(self, columns=(), units=None, descriptions=None, metadata=None):
        super().__init__(columns)
        self.units = units or {}
        self.descriptions = descriptions or {}
        self.metadata = metadata or {}

    @property
    def rows(self):
        """The number of rows."""
        return len(next(iter(self.values()))) if self else 0

    def where(self, mask):
        """The rows of a mask or of indices."""
        return Table({k: v[mask] for k, v in self.items()}, self.units, self.descriptions, self.metadata)

    def frame(self):
        """A pandas.DataFrame; its attrs hold units, descriptions and metadata."""
        import pandas

        f = pandas.DataFrame({k: list(v) if v.ndim > 1 else v for k, v in self.items()})
        f.attrs = {"units": self.units, "descriptions": self.descriptions, "metadata": self.metadata}
        return f

    def __repr__(self):
        names = ", ".join(k + (" [" + self.units[k] + "]" if self.units.get(k) else "") for k in self)
        return "<Table of %d rows: %s>" % (self.rows, names)


class _Node:
    """A table of a flatbuffer: slots found by their number."""

    def __init__(self, b, at):
        self.b, self.at = b, at
        self.vtable = at - struct.unpack_from("<i", b, at)[0]
        self.slots = (struct.unpack_from("<H", b, self.vtable)[0] - 4) // 2

    def _slot(self, i):
        if i >= self.slots:
            return 0
        o = struct.unpack_from("<H", self.b, self.vtable + 4 + 2 * i)[0]
        return self.at + o if o else 0

    def number(self, i, kind, default=0):
        at = self._slot(i)
        return struct.unpack_from("<" + kind, self.b, at)[0] if at else default

    def _follow(self, i):
        at = self._slot(i)
        return at + struct.unpack_from("<I", self.b, at)[0] if at else 0

    def node(self, i):
        at = self._follow(i)
        return _Node(self.b, at) if at else None

    def text(self, i):
        at = self._follow(i)
        if not at:
            return ""
        n = struct.unpack_from("<I", self.b, at)[0]
        return bytes(self.b[at + 4 : at + 4 + n]).decode()

    def _vector(self, i, size):
        """The places of the elements of a vector."""
        at = self._follow(i)
        n = struct.unpack_from("<I", self.b, at)[0] if at else 0
        if n * size > len(self.b):
            raise FormatError("expected at most %d elements, found %d" % (len(self.b) // size, n))
        return range(at + 4, at + 4 + n * size, size)

    def nodes(self, i):
        return [_Node(self.b, w + struct.unpack_from("<I", self.b, w)[0]) for w in self._vector(i, 4)]

    def structs(self, i, layout):
        return [struct.unpack_from(layout, self.b, w) for w in self._vector(i, struct.calcsize(layout))]

    def pairs(self, i):
        return {n.text(0): n.text(1) for n in self.nodes(i)}


def _root(b):
    return _Node(b, struct.unpack_from("<I", b)[0])


# Numbers of the union Type in Arrow's Schema.fbs.
_INT, _FLOAT, _UTF8, _BOOL, _LIST = 2, 3, 5, 6, 12


def _kind(field):
    """What a column holds, as the name of its type."""
    t, of = field.number(2, "B"), field.node(3)
    if t == _INT and of.number(0, "i") == 64 and of.number(1, "?"):
        return "int64"
    if t == _FLOAT:
        return {1: "float32", 2: "float64"}.get(of.number(0, "h"), "half")
    if t == _LIST:
        return "list<%s>" % _kind(field.nodes(5)[0])
    return {_UTF8: "utf8", _BOOL: "bool"}.get(t, "type %d" % t)


class _Batch:
    """The buffers of a record batch, in the order of the columns."""

    def __init__(self, message, body):
        head = message.node(2)
        if head.node(3) is not None:
            raise FormatError("expected buffers that are not compressed")
        self.rows = head.number(0, "q")
        self.lengths = iter(head.structs(1, "<qq"))
        self.buffers = iter(head.structs(2, "<qq"))
        self.body = body

    def buffer(self, dtype, n):
        at, size = next(self.buffers)
        if at < 0 or n * np.dtype(dtype).itemsize > size or at + size > len(self.body):
            raise FormatError("expected %d values of %s, found a buffer of %d bytes at %d of %d" % (n, dtype, size, at, len(self.body)))
        return np.frombuffer(self.body, dtype, n, at)

    def bits(self, n):
        return np.unpackbits(self.buffer(np.uint8, (n + 7) // 8), count=n, bitorder="little").astype(bool)

    def column(self, kind):
        n, nulls = next(self.lengths)
        if n < 0:
            raise FormatError("expected a number of rows, found %d" % n)
        valid = None
        if nulls:
            valid = self.bits(n)
            if kind != "float64":
                raise FormatError("expected missing values in columns of float64 alone, found %d in one of %s" % (nulls, kind))
        else:
            self.buffer(np.uint8, 0)
        if kind in ("float64", "int64", "float32"):
            v = self.buffer("<" + {"float64": "f8", "int64": "i8", "float32": "f4"}[kind], n)
            return v if valid is None else np.where(valid, v, np.nan)
        if kind == "bool":
            return self.bits(n)
        # A column without rows may leave its offsets out.
        offsets = self.buffer("<i4", n + 1 if n else 0)
        if n and (offsets[0] < 0 or (np.diff(offsets) < 0).any()):
            raise FormatError("expected ascending offsets")
        if kind == "utf8":
            data = self.buffer(np.uint8, offsets[-1] if n else 0).tobytes()
            return [data[a:b].decode() for a, b in zip(offsets, offsets[1:])]
        data = self.column("float32")
        if n and offsets[-1] > len(data):
            raise FormatError("expected lists within %d values" % len(data))
        return [data[a:b] for a, b in zip(offsets, offsets[1:])]


def _joined(kind, parts):
    """One array of the parts of a column, one a batch."""
    if kind in ("utf8", "list<float32>"):
        rows = [v for p in parts for v in p]
        if kind != "utf8" and rows and len({len(v) for v in rows}) == 1:
            return np.array(rows)
        out = np.empty(len(rows), dtype=object)
        out[:] = rows
        return out
    dtype = {"float64": float, "int64": np.int64, "bool": bool}[kind]
    return np.concatenate([np.empty(0, dtype)] + parts)


def read(path):
    """Reads one table. A file that is damaged or of another kind is a
    FormatError that names it."""
    with open(path, "rb") as f:
        b = memoryview(f.read())
    try:
        return _read(b)
    except FormatError as e:
        raise FormatError("%s: %s" % (path, e)) from None
    except (struct.error, IndexError, ValueError, AttributeError, StopIteration, RecursionError) as e:
        raise FormatError("%s: the file is damaged (%s)" % (path, e)) from e


def _read(b):
    if len(b) < 18 or b[:6] != b"ARROW1" or b[-6:] != b"ARROW1":
        raise FormatError("expected an Arrow IPC file, found other or incomplete data")
    size = struct.unpack_from("<i", b, len(b) - 10)[0]
    if size < 8 or size > len(b) - 18:
        raise FormatError("expected a footer of at most %d bytes, found %d" % (len(b) - 18, size))
    footer = _root(b[len(b) - 10 - size : len(b) - 10])
    schema = footer.node(1)
    fields = schema.nodes(1)
    kinds = [_kind(f) for f in fields]
    for f, kind in zip(fields, kinds):
        if kind not in ("utf8", "float64", "int64", "bool", "list<float32>") or f.node(4) is not None:
            raise FormatError("column %s: expected utf8, float64, int64, bool or list<float32>, found %s" % (f.text(0), kind))
    parts = [[] for _ in fields]
    for at, head, body in footer.structs(3, "<qi4xq"):
        if at < 0 or head < 8 or body < 0 or at + head + body > len(b):
            raise FormatError("expected a batch within %d bytes, found one of %d at %d" % (len(b), head + body, at))
        batch = _Batch(_root(b[at + 8 : at + head]), b[at + head : at + head + body])
        for p, f, kind in zip(parts, fields, kinds):
            v = batch.column(kind)
            if len(v) != batch.rows:
                raise FormatError("column %s: expected %d rows, found %d" % (f.text(0), batch.rows, len(v)))
            p.append(v)
    t = Table(metadata=schema.pairs(2))
    for f, kind, p in zip(fields, kinds, parts):
        name, about = f.text(0), f.pairs(6)
        t[name] = _joined(kind, p)
        t.units[name] = about.get("unit", "")
        t.descriptions[name] = about.get("description", "")
    return t
