package stacks

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Kind is the kind of program to which a stack belongs.
type Kind string

// The kinds. Idle is the kernel's idle thread, in which soft interrupts may run.
const (
	Generator Kind = "generator" // an endpoint of a trial
	Proxy     Kind = "proxy"     // a program that carries the mode's traffic
	Observer  Kind = "tare"      // the program that controls the run
	Other     Kind = "other"     // any other program
	Kernel    Kind = "kernel"    // a kernel thread
	Idle      Kind = "idle"
)

// Stack is one stack, outermost frame first. A sample taken inside a program has no kernel
// frames.
type Stack struct {
	Kind   Kind
	Name   string   // of the program
	User   []string // frames of the program
	Kernel []string // frames of the kernel that it called or that interrupted it
}

// kernelFrame is the suffix of kernel frames in flame graphs.
const kernelFrame = "_[k]"

// Fold formats a stack as one line without a count: the kind with the program's name, then
// the frames, outermost first, joined by semicolons. Kernel frames end in _[k].
func Fold(s Stack) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)", s.Kind, clean(s.Name))
	for _, f := range s.User {
		b.WriteByte(';')
		b.WriteString(clean(f))
	}
	for _, f := range s.Kernel {
		b.WriteByte(';')
		b.WriteString(clean(f))
		b.WriteString(kernelFrame)
	}
	return b.String()
}

// clean removes characters from another program's name that would break a line or a frame.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == ';' || r == 0x7f || r == 0xfffd {
			return '?'
		}
		return r
	}, s)
}

// Unfold parses a stack written by Fold. It accepts any line: a root without a kind is
// another program.
func Unfold(line string) Stack {
	root, rest, more := strings.Cut(line, ";")
	s := Stack{Kind: Other, Name: root}
	if k, name, ok := strings.Cut(root, " ("); ok && slices.Contains([]Kind{Generator, Proxy, Observer, Other, Kernel, Idle}, Kind(k)) {
		s.Kind, s.Name = Kind(k), strings.TrimSuffix(name, ")")
	}
	if !more {
		return s
	}
	for f := range strings.SplitSeq(rest, ";") {
		if name, ok := strings.CutSuffix(f, kernelFrame); ok {
			s.Kernel = append(s.Kernel, name)
		} else {
			s.User = append(s.User, f)
		}
	}
	return s
}

// Write writes counted stacks in the folded form, a line each, in alphabetical order.
func Write(w io.Writer, counted map[string]int) error {
	b := bufio.NewWriter(w)
	for _, s := range slices.Sorted(maps.Keys(counted)) {
		if _, err := fmt.Fprintf(b, "%s %d\n", s, counted[s]); err != nil {
			return err
		}
	}
	return b.Flush()
}

// Read parses counted stacks in the folded format; it sums the counts of repeated stacks. A
// line without a count is an error that has its number.
func Read(data []byte) (map[string]int, error) {
	out := map[string]int{}
	at := 0
	for line := range bytes.Lines(data) {
		at++
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			continue
		}
		i := bytes.LastIndexByte(line, ' ')
		if i < 0 {
			return nil, fmt.Errorf("line %d of the folded stacks has no count", at)
		}
		n, err := strconv.Atoi(string(line[i+1:]))
		if err != nil || n < 0 {
			return nil, fmt.Errorf("line %d of the folded stacks: %q is not a count", at, line[i+1:])
		}
		stack := string(line[:i])
		if n > math.MaxInt-out[stack] {
			return nil, fmt.Errorf("line %d of the folded stacks: the counts of this stack exceed what a count can hold", at)
		}
		out[stack] += n
	}
	return out, nil
}
