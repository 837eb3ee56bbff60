package stacks

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Kind says whose stack it is.
type Kind string

// The kinds. Idle is the kernel's idle thread, in which soft interrupts may be at work.
const (
	Generator Kind = "generator" // an end of a trial
	Proxy     Kind = "proxy"     // a program that carries the mode's traffic
	Observer  Kind = "tare"      // the program that leads the run
	Other     Kind = "other"     // any other program
	Kernel    Kind = "kernel"    // a thread of the kernel
	Idle      Kind = "idle"
)

// Stack is one stack, outermost frame first. A sample that was taken in a program has
// no frames of the kernel.
type Stack struct {
	Kind   Kind
	Name   string   // of the program
	User   []string // frames of the program
	Kernel []string // frames of the kernel that it called or that interrupted it
}

// kernelFrame marks a frame of the kernel, as flame graphs know it.
const kernelFrame = "_[k]"

// Fold writes a stack as one line without a count: the kind with the program's name,
// then the frames, outermost first, joined by semicolons. Frames of the kernel end in
// _[k].
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

// clean keeps what another program calls itself from breaking a line or a frame.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == ';' || r == 0x7f || r == 0xfffd {
			return '?'
		}
		return r
	}, s)
}

// Unfold reads a stack that Fold wrote. Of anything else it makes what it can: a root
// without a kind is another program's.
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

// Read reads counted stacks in the folded form; a stack that is there twice counts as
// both together. Errors: a line without a count, named by its number.
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
			return nil, fmt.Errorf("line %d of the folded stacks: %q is no count", at, line[i+1:])
		}
		out[string(line[:i])] += n
	}
	return out, nil
}
