// Package doc is a report as a document of blocks with formatted numbers. Renderers write it
// as text, Markdown or HTML and escape it for their medium. They know nothing of runs.
//
// A terminal and a page show the same blocks, but for those that are within [Only]. Markdown has the first screen, and the
// tables of documents that are not of one run.
package doc

import (
	"strings"

	"tare/internal/report/chart"
)

// Media is a set of output media.
type Media uint8

// The media.
const (
	Terminal Media = 1 << iota
	Markdown
	HTML

	Pages = Markdown | HTML
)

// Has reports whether two sets share a medium. The empty set is all media.
func (m Media) Has(o Media) bool { return m == 0 || m&o != 0 }

// Document is a report.
type Document struct {
	Title       string
	Description string
	Generator   string   // the version of tare
	Particulars []string // what identifies the run
	Notices     []Notice // what limits the whole report
	Blocks      []Block
}

// Notice is highlighted text. Grave is set where it limits the conclusions.
type Notice struct {
	Text  string
	Grave bool
}

// Block is a piece of a document: one of the types of this package.
type Block interface{ block() }

// Only holds blocks that are for some media.
type Only struct {
	For    Media
	Blocks []Block
}

// Later makes blocks when they are written, for expensive ones. It must be within [Only].
type Later func() []Block

// Section is a part of a document below a heading, of the first level or within
// another section of the second.
type Section struct {
	ID     string // what links lead to
	Head   Heading
	Nav    string // name in the table of contents; empty for none
	Look   Look
	Group  int  // of a mode: its number
	Fold   bool // a page shows only its heading until it is opened: it decides nothing
	Blocks []Block
}

// Look is the kind of a section, for its style.
type Look string

// The looks of sections.
const (
	Bare   Look = ""         // a heading, and what follows
	Metric Look = "metric"   // a table with what belongs to it
	Mode   Look = "mode"     // a mode with its path
	Work   Look = "workload" // of which a page can show one alone
)

// Heading is "Name: Text, Unit (Small)", of which each may be missing. Name is of foreign
// origin.
type Heading struct {
	Name, Text, Unit, Small string
	Notes                   []string // in small letters, of foreign origin
	Tight                   bool
	// Terminal is what a terminal has in place of Text, Unit and Small, and Of in place of
	// Name. Untold says that it has no heading there; Depth is how far it indents it.
	Of, Terminal string
	Untold       bool
	Depth        int
}

// Role is the purpose of a paragraph or a list.
type Role string

// The roles.
const (
	Plain   Role = ""
	Legend  Role = "legend"   // explains what follows
	Seen    Role = "seen"     // describes what the table above could show, or lacks
	Meta    Role = "meta"     // in small letters
	Lead    Role = "notice"   // stands out
	Reason  Role = "reason"   // why a mode was not measured
	Missing Role = "out"      // why something is not there
	Own     Role = "own"      // of processes
	Summary Role = "answers"  // what each mode costs
	Warning Role = "warnings" // all warnings
	Lost    Role = "lost"     // trials that do not count
)

// Paragraph is text. Name, if any, is of foreign origin and is highlighted before it. Tight
// keeps numbers and their units on one line; Depth is how far a terminal indents it, and Cut
// and Lines, where they are not 0, how many columns and lines of it a terminal shows.
type Paragraph struct {
	Role       Role
	Name, Text string
	Link       *Link // before the full stop
	Tight      bool

	Depth, Cut, Lines int
}

// Link leads to a section.
type Link struct{ Text, To string }

// List is a list of items. Bullets says that a terminal marks them, and Labels that it puts
// their names before them.
type List struct {
	Role    Role
	Items   []Item
	Tight   bool
	Bullets bool
	Labels  bool
	Apart   bool // a terminal leaves a line blank before it
	Cut     int  // how many columns of an item a terminal shows, 0 for all
}

// Item is one of a list. Name is of foreign origin and is highlighted; Group is the number of
// the mode that it is about. Clauses follow Text, each with the mark of its verdict.
type Item struct {
	Name, Text, Code string
	Group            int
	Clauses          []Clause
	Colon            bool // between name and text, in Markdown
}

// Clause is a part of a sentence.
type Clause struct {
	Tone chart.Tone
	Text string
}

// Sentence is the text with its clauses.
func (i Item) Sentence() string {
	var texts []string
	for _, c := range i.Clauses {
		texts = append(texts, c.Text)
	}
	return i.Text + strings.Join(texts, "; ") + "."
}

// Details are blocks that a page folds at first.
type Details struct {
	Summary, Name string // Name is of foreign origin and follows the summary
	Look          string
	Blocks        []Block
}

// Beside puts blocks side by side where they fit.
type Beside struct {
	Blocks []Block
	Single bool
}

// Command is a command to type, with its purpose.
type Command struct{ Text, Line string }

// Drawing is a chart that can be drawn into a page, where its ids begin with id.
type Drawing interface{ Inline(id string) []byte }

// Figure is drawings with their keys, caption and the table behind them.
type Figure struct {
	Look     FigureLook
	ID       string // what the ids of its drawings begin with
	Keys     []Key
	Drawings []Drawing
	Caption  string
	Behind   *Table
}

// FigureLook is what a figure is.
type FigureLook string

// The looks of figures.
const (
	Panels   FigureLook = ""
	Shown    FigureLook = "shown"
	Topology FigureLook = "topology"
)

// Key names a line, or a colour of a bar.
type Key struct {
	No, Group int
	Name      string
}

// Step is a place on a path with its devices.
type Step struct {
	Where string
	Stops []Stop
}

// Stop is a device, a rule or a process on a path.
type Stop struct{ Label, Facts, Look string }

// Path is the packet path of a mode.
type Path struct{ Steps []Step }

func (Only) block()      {}
func (Later) block()     {}
func (Section) block()   {}
func (Paragraph) block() {}
func (List) block()      {}
func (Details) block()   {}
func (Beside) block()    {}
func (Command) block()   {}
func (Figure) block()    {}
func (Path) block()      {}
func (Table) block()     {}
func (Grid) block()      {}

// For lists the blocks that are for a medium.
func For(m Media, blocks []Block) []Block {
	var out []Block
	for _, b := range blocks {
		switch b := b.(type) {
		case Only:
			if b.For.Has(m) {
				out = append(out, For(m, b.Blocks)...)
			}
		case Later:
			out = append(out, For(m, b())...)
		default:
			out = append(out, b)
		}
	}
	return out
}
