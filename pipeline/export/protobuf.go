package export

import "encoding/binary"

// proto is a message of Protocol Buffers being written: fields by number.
type proto []byte

func (p *proto) key(field, wire int) { *p = binary.AppendUvarint(*p, uint64(field<<3|wire)) }

func (p *proto) number(field int, v int64) {
	p.key(field, 0)
	*p = binary.AppendUvarint(*p, uint64(v))
}

func (p *proto) bytes(field int, b []byte) {
	p.key(field, 2)
	*p = append(binary.AppendUvarint(*p, uint64(len(b))), b...)
}

func (p *proto) text(field int, s string) { p.bytes(field, []byte(s)) }

// Numbers of fields and types after ONNX's onnx.proto, of intermediate
// representation 7, which goes with operator set 13.
const (
	modelIRVersion, modelProducer, modelProducerVersion, modelDoc, modelGraph, modelOpset, modelMetadata = 1, 2, 3, 6, 7,
		8, 14

	graphNode, graphName, graphInitializer, graphInput, graphOutput = 1, 2, 5, 11, 12

	nodeInput, nodeOutput, nodeName, nodeOp, nodeAttribute = 1, 2, 3, 4, 5

	attributeName, attributeInt, attributeType = 1, 3, 20
	attributeIsInt                             = 2

	tensorDims, tensorType, tensorName, tensorRaw = 1, 2, 8, 9

	valueName, valueType, valueDoc                      = 1, 2, 3
	typeTensor, tensorElem, tensorShape, shapeDim       = 1, 1, 2, 1
	dimValue, dimParam                                  = 1, 2
	pairKey, pairValue, opsetVersion                    = 1, 2, 2
	onnxFloat, onnxInt64, onnxDouble              int64 = 1, 7, 11
	irVersion, operatorSet                        int64 = 7, 13
)

// graph collects the nodes of an ONNX graph. Values are named; a method that
// adds a node returns the name of its output.
type graph struct {
	prefix string
	n      int
	nodes  []proto
	inits  []proto
	made   map[string]bool // shared initializers

	outputs []value
}

func (g *graph) op(kind string, inputs ...string) string { return g.node(kind, nil, inputs...) }

func (g *graph) node(kind string, attribute proto, inputs ...string) string {
	g.n++
	out := g.prefix + kind + "_" + itoa(g.n)
	g.name(out, kind, attribute, inputs...)
	return out
}

// name adds a node whose output has this name.
func (g *graph) name(out, kind string, attribute proto, inputs ...string) {
	var p proto
	for _, i := range inputs {
		p.text(nodeInput, i)
	}

	p.text(nodeOutput, out)
	p.text(nodeName, out)
	p.text(nodeOp, kind)

	if attribute != nil {
		p.bytes(nodeAttribute, attribute)
	}

	g.nodes = append(g.nodes, p)
}

// attribute is a whole number that a node has.
func attribute(name string, v int64) (a proto) {
	a.text(attributeName, name)
	a.number(attributeInt, v)
	a.number(attributeType, attributeIsInt)

	return a
}

func (g *graph) cast(x string, to int64) string { return g.node("Cast", attribute("to", to), x) }

func (g *graph) tensor(name string, kind int64, raw []byte, dims ...int) string {
	if g.made[name] {
		return name
	}

	if g.made == nil {
		g.made = map[string]bool{}
	}

	g.made[name] = true

	var p proto
	for _, d := range dims {
		p.number(tensorDims, int64(d))
	}

	p.number(tensorType, kind)
	p.text(tensorName, name)
	p.bytes(tensorRaw, raw)
	g.inits = append(g.inits, p)

	return name
}

func (g *graph) float32s(name string, v []float32, dims ...int) string {
	return g.tensor(name, onnxFloat, littleEndian(v), dims...)
}

func (g *graph) float64s(name string, v []float64, dims ...int) string {
	return g.tensor(name, onnxDouble, littleEndian(v), dims...)
}

func (g *graph) int64s(name string, v ...int64) string {
	return g.tensor(name, onnxInt64, littleEndian(v), len(v))
}

// value is an input or output: n rows of width numbers, n numbers where that is 0.
type value struct {
	name, doc string
	width     int
}

func (v value) proto() proto {
	var rows, width, shape, tensor, kind, p proto
	rows.text(dimParam, "n")
	shape.bytes(shapeDim, rows)
	if v.width > 0 {
		width.number(dimValue, int64(v.width))
		shape.bytes(shapeDim, width)
	}

	tensor.number(tensorElem, onnxDouble)
	tensor.bytes(tensorShape, shape)
	kind.bytes(typeTensor, tensor)
	p.text(valueName, v.name)
	p.bytes(valueType, kind)
	p.text(valueDoc, v.doc)

	return p
}

// model is the ModelProto of the graph.
func (g *graph) model(name, version, doc string, inputs []value, metadata [][2]string) []byte {
	var body, opset, p proto
	for _, n := range g.nodes {
		body.bytes(graphNode, n)
	}

	body.text(graphName, name)

	for _, t := range g.inits {
		body.bytes(graphInitializer, t)
	}

	for _, v := range inputs {
		body.bytes(graphInput, v.proto())
	}

	for _, v := range g.outputs {
		body.bytes(graphOutput, v.proto())
	}

	opset.number(opsetVersion, operatorSet)
	p.number(modelIRVersion, irVersion)
	p.text(modelProducer, "doubletake")
	p.text(modelProducerVersion, version)
	p.text(modelDoc, doc)
	p.bytes(modelGraph, body)
	p.bytes(modelOpset, opset)

	for _, kv := range metadata {
		var m proto
		m.text(pairKey, kv[0])
		m.text(pairValue, kv[1])
		p.bytes(modelMetadata, m)
	}

	return p
}
