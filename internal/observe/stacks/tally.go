package stacks

import (
	"encoding/binary"
	"slices"

	"tare/internal/observe"
)

// mostStacks bounds how many different stacks are kept; what comes beyond is lost, and
// counted as that.
const mostStacks = 200_000

// tally counts samples as they come, by process and addresses.
type tally struct {
	counts map[string]int
	lost   int
	broken error // of the first record that made no sense
}

// take reads what a ring had.
func (t *tally) take(b []byte) {
	err := eachRecord(b, func(kind uint32, body []byte) {
		if kind != recordSample {
			t.lost += lostIn(kind, body)
			return
		}
		s, ok := parseSample(body)
		if !ok {
			t.lost++
			return
		}
		key := s.key()
		if _, seen := t.counts[key]; !seen && len(t.counts) >= mostStacks {
			t.lost++
			return
		}
		t.counts[key]++
	})
	if t.broken == nil {
		t.broken = err
	}
}

// key is a sample as the key of a map.
func (s sample) key() string {
	b := make([]byte, 0, 8+8*(len(s.kernel)+len(s.user)))
	b = binary.NativeEndian.AppendUint32(b, uint32(s.pid))         //nolint:gosec // back again below
	b = binary.NativeEndian.AppendUint32(b, uint32(len(s.kernel))) //nolint:gosec // some hundred at most
	for _, a := range s.kernel {
		b = binary.NativeEndian.AppendUint64(b, a)
	}
	for _, a := range s.user {
		b = binary.NativeEndian.AppendUint64(b, a)
	}
	return string(b)
}

// sampleOf is the sample of a key.
func sampleOf(key string) sample {
	b := []byte(key)
	s := sample{pid: int(int32(binary.NativeEndian.Uint32(b)))} //nolint:gosec // as it was
	kernel := int(binary.NativeEndian.Uint32(b[4:]))
	for i := 8; i < len(b); i += 8 {
		a := binary.NativeEndian.Uint64(b[i:])
		if (i-8)/8 < kernel {
			s.kernel = append(s.kernel, a)
		} else {
			s.user = append(s.user, a)
		}
	}
	return s
}

// names turns addresses into what they are called.
type names struct {
	kernel   *symbols
	programs map[int]observe.Program
	outside  bool // see kind
	// function names a function of tare's own binary, in which agents run, too; own
	// tells which processes do. Both may be nil.
	function func(address uint64) string
	own      func(pid int) bool
}

// stack puts names to a sample.
func (n names) stack(s sample) Stack {
	p, known := n.programs[s.pid]
	out := Stack{Kind: kind(p, known, n.outside), Name: p.Name}
	switch {
	case s.pid == 0:
		out.Kind, out.Name = Idle, "swapper"
	case !known:
		out.Name = "gone"
	}
	for i, a := range s.kernel {
		if i > 0 {
			a-- // the address that it returns to may be behind the end of the caller
		}
		name, ok := n.kernel.at(a)
		if !ok {
			name = "unlisted"
		}
		out.Kernel = append(out.Kernel, name)
	}
	slices.Reverse(out.Kernel)
	if len(s.user) == 0 {
		return out
	}
	if n.own == nil || !n.own(s.pid) {
		out.User = []string{"[" + out.Name + "]"}
		return out
	}
	for i, a := range s.user {
		if i > 0 {
			a--
		}
		if name := n.function(a); name != "" {
			out.User = append(out.User, name)
		}
	}
	if len(out.User) == 0 {
		out.User = []string{"[" + out.Name + "]"}
	}
	slices.Reverse(out.User)
	return out
}

// sampled puts names to all of a tally and sets aside what was idle.
func (t *tally) sampled(n names) Profile {
	out, sorter := Profile{Stacks: map[string]int{}, Lost: t.lost}, NewClassifier()
	for key, count := range t.counts {
		s := n.stack(sampleOf(key))
		if sorter.Component(s) == idle {
			out.Idle += count
			continue
		}
		out.Busy += count
		out.Stacks[Fold(s)] += count
	}
	return out
}
