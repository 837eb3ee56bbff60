package report

import (
	"slices"
	"strings"

	"tare/internal/result"
)

// limitFact ends the name of a fact that says what an end of a mode was limited
// to: "client limit", "server limit".
const limitFact = "limit"

// limitsOf words what the ends of a mode were limited to: "0.5 CPUs, 64 MiB each",
// or by end where they differ. Empty for no limit.
func limitsOf(m result.Mode) string {
	var parts, bare []string
	for _, f := range m.Facts {
		if name, ok := strings.CutSuffix(f.Name, limitFact); ok && f.Value != "" {
			parts, bare = append(parts, strings.TrimSpace(name+f.Value)), append(bare, f.Value)
		}
	}
	if len(bare) == 2 && bare[0] == bare[1] {
		return bare[0] + " each"
	}
	return strings.Join(parts, "; ")
}

// together says once what is alike on all hosts: "engine 20.10" for "a engine
// 20.10" and "b engine 20.10".
func together(fs []result.Fact, hosts []result.Host) []result.Fact {
	var out []result.Fact
	for _, f := range fs {
		short, everywhere := f, len(hosts) > 1
		for _, h := range hosts {
			if name, ok := strings.CutPrefix(f.Name, h.Name+" "); ok {
				short.Name = name
			}
		}
		for _, h := range hosts {
			everywhere = everywhere && slices.Contains(fs, result.Fact{Name: h.Name + " " + short.Name, Value: f.Value})
		}
		if !everywhere {
			short = f
		}
		if !slices.Contains(out, short) {
			out = append(out, short)
		}
	}
	return out
}

// standing is what modes stood on: which mode of the drivers they are, engines,
// limits.
type standing struct {
	Modes []string
	Facts []result.Fact
}

// Names lists the modes.
func (s standing) Names() string { return strings.Join(s.Modes, ", ") }

// Text is the facts in one line.
func (s standing) Text() string { return facts(s.Facts) }

// standingsOf gathers the modes of which something is known, those alike together.
func standingsOf(modes []result.Mode) []standing {
	var out []standing
	for _, m := range modes {
		known := m.Facts
		if m.Mode != "" && m.Mode != m.ID {
			known = append([]result.Fact{{Name: "mode", Value: m.Mode}}, known...)
		}
		if len(known) == 0 {
			continue
		}
		i := slices.IndexFunc(out, func(s standing) bool { return slices.Equal(s.Facts, known) })
		if i < 0 {
			i = len(out)
			out = append(out, standing{Facts: known})
		}
		out[i].Modes = append(out[i].Modes, m.ID)
	}
	return out
}
