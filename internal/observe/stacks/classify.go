package stacks

import (
	"slices"
	"strings"

	"tare/internal/result"
)

// Classifier maps stacks to components by the table of rules. It caches function names and
// is not safe for concurrent use.
type Classifier struct {
	patterns []pattern
	seen     map[string]*rule // nil if no rule matches the name
}

// pattern is a function name or a prefix of names.
type pattern struct {
	text   string
	prefix bool
	rule   *rule
}

// NewClassifier creates a Classifier.
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

// rule returns the rule for a kernel function, or nil if there is none.
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

// Component returns the component of [result.ComponentNames] to which a sample belongs, or
// idle.
//
// A sample inside a program belongs to the program: the generator, a proxy, or another. For
// a sample inside the kernel, the innermost frame that a rule matches decides. The
// innermost frame alone is not enough: it is often a lock or a memory copy that everything
// uses, and with interrupts disabled the sample is taken when they are enabled again, in
// the function that enabled them. The outermost frame is not usable either, because a stack
// of a virtual network contains the layers of both hosts, one inside the other.
//
// Some rules are weak: those for memory. If the next outer frame that a rule matches
// belongs to a layer in the middle of a path, such as a bridge that clones a packet, the
// sample belongs to that layer; at its first and last step, at sockets and drivers, it belongs
// to memory.
//
// Kernel work on behalf of another program belongs to that program, unless it was
// interrupted: then only the frames of the interrupt count, because network processing runs
// on top of whatever is running.
func (s *Classifier) Component(of Stack) string {
	if len(of.Kernel) == 0 {
		return programComponent(of.Kind)
	}
	frames := of.Kernel
	if of.Kind == Other || of.Kind == Observer {
		at := slices.IndexFunc(frames, isInterrupt)
		if at < 0 || slices.ContainsFunc(frames[at:], isReturn) {
			return programComponent(of.Kind)
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

// programComponent returns the component of a sample inside a program.
func programComponent(k Kind) string {
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

// isReturn reports whether a frame is on the return path from an interrupt, where a program
// may be preempted or signalled; that belongs to the program.
func isReturn(frame string) bool { return strings.HasPrefix(frame, "irqentry_exit") }

// isInterrupt reports whether a frame is the entry of a hardware interrupt: frames inside it
// are unrelated to those outside.
func isInterrupt(frame string) bool {
	for _, p := range []string{"asm_sysvec_", "asm_common_interrupt", "el1h_64_irq", "el0t_64_irq"} {
		if strings.HasPrefix(frame, p) {
			return true
		}
	}
	return false
}
