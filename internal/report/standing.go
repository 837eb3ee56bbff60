package report

import (
	"slices"
	"strings"

	"tare/internal/report/say"
	"tare/internal/result"
)

// limitsFact ends the name of a fact that says what an end of a mode was limited
// to: "client limits", "server limits", or "limits" of both.
const limitsFact = "limits"

// limitsOf words what the ends of a mode were limited to: "0.5 CPUs, 64 MiB", or
// by end where they differ. Empty for no limit.
func limitsOf(m result.Mode) string {
	var parts, bare []string
	for _, f := range m.Facts {
		if name, ok := strings.CutSuffix(f.Name, limitsFact); ok && f.Value != "" {
			parts, bare = append(parts, strings.TrimSpace(name+f.Value)), append(bare, f.Value)
		}
	}
	if len(bare) == 2 && bare[0] == bare[1] {
		return bare[0] + " each"
	}
	return strings.Join(parts, "; ")
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

// standings writes them for a terminal.
func (p *printer) standings(v view) {
	for i, s := range standingsOf(v.Run.Modes) {
		if i == 0 {
			p.blank()
			p.buf.WriteString("Modes\n")
		}
		p.wrap("  ", say.Cut(s.Names()+": "+s.Text(), 600))
	}
}
