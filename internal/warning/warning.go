// Package warning is the registry of the warnings of a run and of the notes of its trials:
// their codes, how severe each is, when it is given, what it does to the result and how to
// fix it. The texts are those of docs/warnings.md and docs/tools.md; a test keeps the pages
// and the registry the same.
package warning

import (
	"slices"
	"sync"
)

// Code names a warning or a note in a run's files.
type Code string

// Severity says what a warning does to the comparison of modes.
type Severity int

// The severities, in ascending order.
const (
	Note   Severity = iota // good to know: no effect on a comparison
	Spread                 // affects all modes alike: values are lower or vary more, ratios are valid
	Bias                   // voids or biases a comparison between modes
)

// String is the severity as docs/warnings.md writes it.
func (s Severity) String() string {
	switch s {
	case Spread:
		return "spread"
	case Bias:
		return "bias"
	}
	return "note"
}

// Section is a section of docs/warnings.md.
type Section string

// The sections, in the order of the page. Those of [Machine], [Existing] and
// [Link] are known before a run, and tare doctor lists them. The notes of [Tools] are in docs/tools.md.
const (
	Verdicts Section = "The verdicts"
	Traffic  Section = "The traffic"
	Run      Section = "The run"
	Machine  Section = "The machine"
	Existing Section = "The host of an existing engine"
	Link     Section = "The link between two machines"
	Foreign  Section = "Numbers from elsewhere"
	Tools    Section = "External tools"
)

// Entry is a warning of the registry.
type Entry struct {
	Code     Code
	Severity Severity
	Section  Section
	Scope    string // what the scope of such a warning names: "run", or words of "mode workload metric", or both

	// Short is the warning in one line of at most 80 columns. Braces enclose the part that Say
	// replaces where a warning has values; in it $1 is the first value.
	Short, Say string

	When   string // what was seen
	Effect string // what it does to the result; empty for notes of tools
	Fix    string

	// Causes are the warnings that explain this one. Where one of them is given as well, a
	// short report shows only that one.
	Causes []Code
}

// All lists the registry in the order of docs/warnings.md, which is that of importance.
func All() []Entry {
	var out []Entry
	for _, part := range []struct {
		section Section
		entries []Entry
	}{
		{Verdicts, verdicts()}, {Traffic, traffic()}, {Run, run()}, {Machine, machine()}, {Existing, existing()}, {Link, link()}, {Foreign, foreign()}, {Tools, tools()},
	} {
		for _, e := range part.entries {
			e.Section, e.Causes = part.section, causes()[e.Code]
			out = append(out, e)
		}
	}
	return out
}

// registry is [All], made once: nothing changes it.
var registry = sync.OnceValue(All)

// Find is the entry of a code and its place in [All]; ok is false for a code that this
// version does not know.
func Find(code string) (e Entry, place int, ok bool) {
	all := registry()
	i := slices.IndexFunc(all, func(e Entry) bool { return string(e.Code) == code })
	if i < 0 {
		return Entry{}, len(all), false
	}
	return all[i], i, true
}

// causes lists the warnings of which others are consequences.
func causes() map[Code][]Code {
	return map[Code][]Code{
		CPUPressure:     {FewCores, SMT, CPUQuota},
		OneCPU:          {FewCores},
		BusyMachine:     {FewCores, BusyTurns, OthersNow},
		BusyTurns:       {BusyRun},
		MemoryPressure:  {MemoryLimit},
		Swapping:        {MemoryLimit, MemoryPressure},
		OOMKill:         {MemoryLimit, MemoryPressure},
		ConntrackFilled: {ConntrackFull},
		HostFiltered:    {BaselineFiltered},
	}
}
