// Command measure prints, for each package below the current folder, the measures of form that reward clear code:
// checks of errors, function literals, assignments of several values, tokens per line, and short or misleading names.
// It reads the files by their syntax alone, so that it needs nothing to compile. It fails nothing: readers decide.
//
//	go run ./.ci/measure            one row for each package, and the total
//	go run ./.ci/measure -l KIND    the places instead; KIND is tuples, literals, names or short
package main

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// counts are the measures of one package.
type counts struct {
	lines      int // that have a token
	tokens     int
	errChecks  int // if err != nil
	literals   int // function literals
	tuples     int // a, b = x, y and a, b := x, y
	locals     int // variables, parameters and results of functions
	short      int // locals of one letter, without receivers
	misleading int // locals and fields named by a preposition or a verb of position
	raises     int // panics that are caught elsewhere
	lists      int // calls of internal/lists
}

// add adds other to c.
func (c *counts) add(other counts) {
	c.lines += other.lines
	c.tokens += other.tokens
	c.errChecks += other.errChecks
	c.literals += other.literals
	c.tuples += other.tuples
	c.locals += other.locals
	c.short += other.short
	c.misleading += other.misleading
	c.raises += other.raises
	c.lists += other.lists
}

// misleading are the names that say where a value is, and not which value it is.
var misleading = map[string]bool{}

func init() {
	for name := range strings.FieldsSeq("of at is in by out to from on as for with within without into onto over under " +
		"after before until than that upon via per off up down are was has had be been") {
		misleading[name] = true
	}
}

// raises are the functions that end their callers by a panic.
var raises = map[string]bool{"Raise": true, "Unless": true, "Get": true, "Catch": true, "Try": true}

// file measures one file.
type file struct {
	counts
	set        *token.FileSet
	list       string // the kind whose places are printed
	countShort bool   // whether one-letter names count here
}

func main() {
	list := flag.String("l", "", "print the places of `KIND`: tuples, literals, names or short")
	flag.Parse()

	if err := run(*list, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

// run measures the tracked files below the given folders and prints the table.
func run(list string, folders []string) error {
	args := []string{"ls-files", "*.go", ":!*_test.go", ":!docs/research/", ":!.ci/"}
	if len(folders) > 0 {
		args = append([]string{"ls-files"}, folders...)
	}

	output, err := exec.Command("git", args...).Output()
	if err != nil {
		return fmt.Errorf("list files: %w", err)
	}

	packages := map[string]*counts{}
	for path := range strings.FieldsSeq(string(output)) {
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			continue
		}

		c, err := measure(path, list)
		if err != nil {
			return err
		}

		room := filepath.Dir(path)
		if packages[room] == nil {
			packages[room] = &counts{}
		}
		packages[room].add(c)
	}

	if list == "" {
		printTable(packages)
	}

	return nil
}

// printTable prints a row for each package, and the total.
func printTable(packages map[string]*counts) {
	fmt.Printf("%-34s %6s %7s %8s %8s %8s %7s %7s %7s %7s\n",
		"per 1,000 lines", "lines", "tokens", "err", "func", "tuples",
		"short", "names", "raises", "lists")

	var total counts
	rooms := make([]string, 0, len(packages))
	for room := range packages {
		rooms = append(rooms, room)
	}
	slices.SortFunc(rooms, cmp.Compare[string])

	for _, room := range rooms {
		printRow(room, *packages[room])
		total.add(*packages[room])
	}
	printRow("all", total)
}

func printRow(room string, c counts) {
	lines := float64(max(c.lines, 1))
	thousands := lines / 1000
	fmt.Printf("%-34s %6d %7.2f %8.1f %8.1f %8.1f %6.0f%% %7d %7d %7d\n", room, c.lines, float64(c.tokens)/lines,
		float64(c.errChecks)/thousands, float64(c.literals)/thousands, float64(c.tuples)/thousands,
		100*float64(c.short)/float64(max(c.locals, 1)), c.misleading, c.raises, c.lists)
}

// measure measures one file, and prints the places of the kind in list.
func measure(path, list string) (counts, error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return counts{}, err
	}

	f := &file{set: token.NewFileSet(), list: list}
	f.countShort = !strings.HasPrefix(path, "dsp/") && !strings.HasPrefix(path, "train/")

	syntax, err := parser.ParseFile(f.set, path, source, 0)
	if err != nil {
		return counts{}, fmt.Errorf("parse: %w", err)
	}

	f.countTokens(path, source)
	ast.Inspect(syntax, f.visit)

	return f.counts, nil
}

// countTokens counts the tokens, and the lines that have one.
func (f *file) countTokens(path string, source []byte) {
	var s scanner.Scanner
	set := token.NewFileSet()
	handle := set.AddFile(path, -1, len(source))
	s.Init(handle, source, nil, 0)

	seen := map[int]bool{}
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			break
		}

		if tok == token.SEMICOLON && literal == "\n" {
			continue
		}

		f.tokens++
		seen[handle.Line(pos)] = true
		for i := range strings.Count(literal, "\n") {
			seen[handle.Line(pos)+i+1] = true
		}
	}

	f.lines = len(seen)
}

// visit counts what one node of the syntax adds.
func (f *file) visit(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.IfStmt:
		if c, ok := n.Cond.(*ast.BinaryExpr); ok && c.Op == token.NEQ && isName(c.X, "err") && isName(c.Y, "nil") {
			f.errChecks++
		}
	case *ast.FuncLit:
		f.literals++
		f.print("literals", n.Pos(), "func")
	case *ast.AssignStmt:
		if len(n.Lhs) > 1 && len(n.Lhs) == len(n.Rhs) {
			f.tuples++
			f.print("tuples", n.Pos(), n.Tok.String())
		}

		if n.Tok == token.DEFINE {
			f.names(n.Lhs...)
		}
	case *ast.RangeStmt:
		if n.Tok == token.DEFINE {
			f.names(n.Key, n.Value)
		}
	case *ast.ValueSpec:
		for _, name := range n.Names {
			f.name(name, true)
		}
	case *ast.FuncType:
		f.fields(n.Params, true)
		f.fields(n.Results, true)
	case *ast.StructType:
		f.fields(n.Fields, false)
	case *ast.CallExpr:
		f.call(n)
	}

	return true
}

// call counts a call of a function that raises, or of internal/lists.
func (f *file) call(n *ast.CallExpr) {
	selector, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr)
	if !ok {
		return
	}

	room, ok := selector.X.(*ast.Ident)
	switch {
	case !ok:
	case (room.Name == "fault" || room.Name == "decode") && raises[selector.Sel.Name]:
		f.raises++
	case room.Name == "lists":
		f.lists++
	}
}

func (f *file) names(list ...ast.Expr) {
	for _, e := range list {
		if name, ok := e.(*ast.Ident); ok {
			f.name(name, true)
		}
	}
}

func (f *file) fields(list *ast.FieldList, local bool) {
	if list == nil {
		return
	}

	for _, field := range list.List {
		for _, name := range field.Names {
			f.name(name, local)
		}
	}
}

// name counts a name that is declared. A field is not a local, but its name may mislead.
func (f *file) name(n *ast.Ident, local bool) {
	if n.Name == "_" {
		return
	}

	if misleading[strings.ToLower(n.Name)] {
		f.misleading++
		f.print("names", n.Pos(), n.Name)
	}

	if !local || !f.countShort {
		return
	}

	f.locals++
	if len(n.Name) == 1 {
		f.short++
		f.print("short", n.Pos(), n.Name)
	}
}

func (f *file) print(kind string, pos token.Pos, text string) {
	if kind == f.list {
		fmt.Printf("%s: %s\n", f.set.Position(pos), text)
	}
}

func isName(e ast.Expr, name string) bool {
	n, ok := e.(*ast.Ident)
	return ok && n.Name == name
}
