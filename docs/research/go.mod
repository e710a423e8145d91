// The research on doubletake: the study, the comparisons of methods and widths, the benches against other programs.
// go.work takes doubletake from this checkout, with the versions of its go.mod.
module doubletake/docs/research

go 1.26.0

require doubletake v0.0.0

replace doubletake => ../..
