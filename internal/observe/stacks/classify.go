package stacks

import (
	"slices"
	"strings"

	"tare/internal/result"
)

// Classifier sorts stacks into components by the table of rules. It remembers the names
// that it has seen, and is not to be used from several goroutines at once.
type Classifier struct {
	patterns []pattern
	seen     map[string]*rule // nil where no rule knows the name
}

// pattern is one of a rule's: a name, or the beginning of names.
type pattern struct {
	text   string
	prefix bool
	rule   *rule
}

// NewClassifier makes a Sorter.
func NewClassifier() *Classifier {
	s := &Classifier{seen: map[string]*rule{}}
	for _, r := range rules() {
		for p := range strings.FieldsSeq(r.patterns) {
			text, prefix := strings.CutSuffix(p, "*")
			s.patterns = append(s.patterns, pattern{text, prefix, &r})
		}
	}
	return s
}

// rule finds the rule for a function of the kernel, nil if there is none.
func (s *Classifier) rule(function string) *rule {
	if r, ok := s.seen[function]; ok {
		return r
	}
	name := strings.TrimLeft(function, "_")
	i := slices.IndexFunc(s.patterns, func(p pattern) bool {
		return p.text == name || p.prefix && strings.HasPrefix(name, p.text)
	})
	var r *rule
	if i >= 0 {
		r = s.patterns[i].rule
	}
	s.seen[function] = r
	return r
}

// Component names the component of [result.ComponentNames] that a sample belongs to, or
// idle.
//
// A sample from within a program is the program's: the generator's, a proxy's, another's.
// Of one from within the kernel the innermost frame that a rule knows decides. The
// innermost alone would not do: it is a lock or a memory copy that everybody uses, and
// where interrupts were off the sample is only taken as they come on again, in the
// function that turned them on. A stack of a virtual network holds the layers of both
// hosts one inside the other, so that the outermost would not do either.
//
// Some rules are weak: those of memory. If the next frame outwards that a rule knows is
// of a layer in the middle of a path, as a bridge that clones a packet, the sample
// is that layer's; at the ends of the path, at sockets and drivers, it is memory's own.
//
// What the kernel does for another program belongs to that program, unless it was
// interrupted: then only the frames of the interrupt count, for the network's work is
// done on whatever runs.
func (s *Classifier) Component(of Stack) string {
	if len(of.Kernel) == 0 {
		return inProgram(of.Kind)
	}
	frames := of.Kernel
	if of.Kind == Other || of.Kind == Observer {
		at := slices.IndexFunc(frames, interrupts)
		if at < 0 || slices.ContainsFunc(frames[at:], returns) {
			return inProgram(of.Kind)
		}
		frames = frames[at:]
	}
	weak := ""
	for _, f := range slices.Backward(frames) {
		r := s.rule(f)
		switch {
		case r == nil || r.component == caller || weak != "" && r.weak:
		case r.weak:
			weak = r.component
		case weak == "", slices.Contains(owners(), r.component):
			return r.component
		default:
			return weak
		}
	}
	if weak != "" {
		return weak
	}
	return result.Unclassified
}

// inProgram is the component of a sample from within a program.
func inProgram(k Kind) string {
	switch k {
	case Generator:
		return "generator"
	case Proxy:
		return "userspace proxy"
	case Observer:
		return "watching"
	case Other:
		return "other programs"
	}
	return result.Unclassified
}

// returns is whether a frame is of the way back from an interrupt, on which a program may
// be suspended or signalled: that is the program's again.
func returns(frame string) bool { return strings.HasPrefix(frame, "irqentry_exit") }

// interrupts is whether a frame is the entry of a hardware interrupt: what is inside of
// it has nothing to do with what is outside.
func interrupts(frame string) bool {
	for _, p := range []string{"asm_sysvec_", "asm_common_interrupt", "el1h_64_irq", "el0t_64_irq"} {
		if strings.HasPrefix(frame, p) {
			return true
		}
	}
	return false
}
