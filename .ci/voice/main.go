// Command voice counts phrases that make English hard to read, in the comments of the program's Go files and in its
// documents. It prints the number of each phrase per 1,000 words beside the numbers of three admired projects and a
// mark, and the share of function comments that say what a function is instead of what the function does. It fails
// nothing: readers decide, and no sentence is bent to please a counter.
//
//	go run ./.ci/voice             the table
//	go run ./.ci/voice -l PHRASE   the places of one phrase, for instance "those of"
package main

import (
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// A phrase is one row of the table. The numbers of the other projects were counted in 2026 in the comments of
// Prometheus' tsdb, restic and gonum.
type phrase struct {
	name    string
	pattern *regexp.Regexp
	others  [3]string
	mark    string
}

var phrases = []phrase{
	{"that of, those of", regexp.MustCompile(`(?i)\b(that|those) of\b`), [3]string{"0", ".02", ".05"}, ".3"},
	{"of it, of them, of which", regexp.MustCompile(`(?i)\bof (it|them|which)\b`), [3]string{".35", ".22", ".34"}, "1.0"},
	{
		"what is, what are, what it", regexp.MustCompile(`(?i)\bwhat (is|are|it|they|has|have|was|were)\b`),
		[3]string{".07", ".07", ".01"},
		".4",
	},
	{"where", regexp.MustCompile(`(?i)\bwhere\b`), [3]string{".28", ".22", "1.0"}, "1.0"},
	{"so many", regexp.MustCompile(`(?i)\bso (many|much)\b`), [3]string{"0", "0", "0"}, "0"},
	{"is no, are no", regexp.MustCompile(`(?i)\b(is|are|was|were) no\b`), [3]string{"1.3", ".5", ".5"}, ".5"},
}

// A place is a paragraph of text in one line, with the position of its first line. A phrase may have a line break.
type place struct {
	position string
	text     string
}

// texts are the paragraphs that are counted: of comments of Go files and of documents, with headings and rows of
// tables.
type texts struct {
	comments  []place
	documents []place

	functions int     // functions with a comment
	verbless  []place // comments that say what a function is
}

func main() {
	list := flag.String("l", "", "print the places of `PHRASE`, a row of the table or \"X is\"")
	flag.Parse()

	if err := run(*list); err != nil {
		fmt.Fprintln(os.Stderr, "voice:", err)
		os.Exit(1)
	}
}

func run(list string) error {
	var found texts
	if err := found.read(); err != nil {
		return err
	}

	if list != "" {
		return printPlaces(found, list)
	}

	comments, documents := words(found.comments), words(found.documents)
	fmt.Printf("%-28s %9s %9s %6s %6s %6s %6s\n", "per 1,000 words", "comments", "documents", "tsdb", "restic",
		"gonum", "mark")
	for _, p := range phrases {
		fmt.Printf("%-28s %9.2f %9.2f %6s %6s %6s %6s\n", p.name, p.rate(found.comments, comments),
			p.rate(found.documents, documents), p.others[0], p.others[1], p.others[2], p.mark)
	}

	share := 100 * float64(len(found.verbless)) / float64(max(1, found.functions))
	fmt.Printf("%-28s %8.1f%% %9s %6s %6s %6s %6s\n", `function comments "X is"`, share, "", "2%", "3%", "3%", "5%")
	fmt.Printf("%-28s %9d %9d\n", "words", comments, documents)

	return nil
}

// rate returns how often the phrase occurs in 1,000 words.
func (p phrase) rate(paragraphs []place, words int) float64 {
	n := 0
	for _, paragraph := range paragraphs {
		n += len(p.pattern.FindAllString(paragraph.text, -1))
	}

	return 1000 * float64(n) / float64(max(1, words))
}

// words counts the words of paragraphs.
func words(paragraphs []place) int {
	n := 0
	for _, paragraph := range paragraphs {
		n += len(strings.Fields(paragraph.text))
	}

	return n
}

// printPlaces prints each paragraph that has a phrase.
func printPlaces(found texts, list string) error {
	if list == "X is" {
		for _, comment := range found.verbless {
			fmt.Printf("%s: %s\n", comment.position, comment.text)
		}

		return nil
	}

	for _, p := range phrases {
		if !strings.Contains(p.name, list) {
			continue
		}

		for _, paragraph := range slices.Concat(found.comments, found.documents) {
			if p.pattern.MatchString(paragraph.text) {
				fmt.Printf("%s: %s\n", paragraph.position, paragraph.text)
			}
		}

		return nil
	}

	return fmt.Errorf("no row of the table contains %q", list)
}

// read reads the tracked Go files and documents below the working directory, without docs/research and testdata.
func (t *texts) read() error {
	listed, err := exec.Command("git", "ls-files", "*.go", "*.md").Output()
	if err != nil {
		return fmt.Errorf("list the files: %w", err)
	}

	var all []error
	for path := range strings.FieldsSeq(string(listed)) {
		if strings.Contains(path, "docs/research/") || strings.Contains(path, "testdata/") {
			continue
		}

		if strings.HasSuffix(path, ".go") {
			all = append(all, t.readGo(path))
		} else {
			all = append(all, t.readDocument(path))
		}
	}

	return errors.Join(all...)
}

// readGo adds the comments of one file, and its functions.
func (t *texts) readGo(path string) error {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
	if err != nil {
		return fmt.Errorf("parse %s: %w", path, err)
	}

	if ast.IsGenerated(file) {
		return nil
	}

	for _, group := range file.Comments {
		first := set.Position(group.Pos()).Line
		text := group.Text() // without directives such as //go:build
		t.comments = append(t.comments, paragraphs(path, first, text)...)
	}

	for _, declaration := range file.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok || function.Doc == nil {
			continue
		}

		t.functions++
		first, _, _ := strings.Cut(function.Doc.Text(), "\n")
		words := strings.Fields(first)
		if len(words) > 1 && words[0] == function.Name.Name && (words[1] == "is" || words[1] == "are") {
			t.verbless = append(t.verbless, place{set.Position(function.Pos()).String(), first})
		}
	}

	return nil
}

// paragraphs returns the paragraphs of a text, which empty lines separate. The text begins at a line of a file.
func paragraphs(path string, first int, text string) []place {
	var found []place
	isOpen := false
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			isOpen = false
		case isOpen:
			found[len(found)-1].text += " " + line
		default:
			isOpen = true
			found = append(found, place{fmt.Sprintf("%s:%d", path, first+i), line})
		}
	}

	return found
}

// readDocument adds the paragraphs of one document, without its blocks of code.
func (t *texts) readDocument(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}

	isCode := false
	lines := strings.Split(string(content), "\n")
	for i, line := range lines {
		isFence := strings.HasPrefix(strings.TrimSpace(line), "```")
		if isFence {
			isCode = !isCode
		}

		if isFence || isCode {
			lines[i] = ""
		}
	}

	t.documents = append(t.documents, paragraphs(path, 1, strings.Join(lines, "\n"))...)

	return nil
}
