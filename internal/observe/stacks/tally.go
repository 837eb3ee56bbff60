package stacks

import (
	"encoding/binary"
	"slices"

	"tare/internal/observe"
)

// maxStacks limits the number of distinct stacks; further ones are counted as lost.
const maxStacks = 200_000

// tally counts samples by process and addresses.
type tally struct {
	counts map[string]int
	lost   int
	broken error // error of the first invalid record
}

// add adds the records of a ring.
func (t *tally) add(b []byte) {
	if t.counts == nil {
		t.counts = map[string]int{}
	}
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
		if _, seen := t.counts[key]; !seen && len(t.counts) >= maxStacks {
			t.lost++
			return
		}
		t.counts[key]++
	})
	if t.broken == nil {
		t.broken = err
	}
}

// key converts a sample to a map key.
func (s sample) key() string {
	b := make([]byte, 0, 8+8*(len(s.kernel)+len(s.user)))
	b = binary.NativeEndian.AppendUint32(b, uint32(s.pid))         //nolint:gosec // reversed in sampleOf
	b = binary.NativeEndian.AppendUint32(b, uint32(len(s.kernel))) //nolint:gosec // a few hundred at most
	for _, a := range s.kernel {
		b = binary.NativeEndian.AppendUint64(b, a)
	}
	for _, a := range s.user {
		b = binary.NativeEndian.AppendUint64(b, a)
	}
	return string(b)
}

// sampleOf converts a key back to a sample.
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

// names converts addresses to function names.
type names struct {
	kernel   *symbols
	programs map[int]observe.Program
	outside  bool // see kind
	// function returns what names the functions of a process by their addresses, nil for a
	// process that is not of tare. It may be nil.
	function func(pid int) func(address uint64) string
}

// stack symbolises a sample.
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
			a-- // the return address may be after the end of the caller
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
	var function func(uint64) string
	if n.function != nil {
		function = n.function(s.pid)
	}
	if function == nil {
		out.User = []string{"[" + out.Name + "]"}
		return out
	}
	for i, a := range s.user {
		if i > 0 {
			a--
		}
		if name := function(a); name != "" {
			out.User = append(out.User, name)
		}
	}
	if len(out.User) == 0 {
		out.User = []string{"[" + out.Name + "]"}
	}
	slices.Reverse(out.User)
	return out
}

// sampled symbolises all samples and separates those of idle CPUs.
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
