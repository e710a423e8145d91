// The research on doubletake: the study, the comparisons of methods and widths, the benches against other programs.
// go.work takes doubletake from this checkout, with the versions of its go.mod.
module doubletake/docs/research

go 1.26.0

require (
	doubletake v0.0.0
	github.com/russross/blackfriday/v2 v2.1.0 // the documents as a web site
)

require (
	k8s.io/api v0.34.1 // indirect
	sigs.k8s.io/yaml v1.6.0 // indirect
)

replace doubletake => ../..
