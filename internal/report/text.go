package report

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"tare/internal/report/say"
	"tare/internal/result"
)

// TextOptions says how to write for a terminal.
type TextOptions struct {
	Width int  // columns; 80 when 0, at least 40
	Color bool // ANSI colours on the verdicts; they are words in any case
}

// mostLost is how many ruled-out trials a terminal is shown one by one.
const mostLost = 10

// Text writes the report for a terminal: no line is wider than opt.Width, but for
// a quoted command, and only opt.Color brings in escape sequences. Its only error
// is that of w.
func Text(w io.Writer, in Input, opt TextOptions) error { return Prepare(in).Text(w, opt) }

// Text writes the report as [Text] does.
func (r Prepared) Text(w io.Writer, opt TextOptions) error {
	if opt.Width == 0 {
		opt.Width = 80
	}
	p := &printer{width: max(opt.Width, 40), color: opt.Color, told: map[string]bool{}}
	v := r.view
	p.head(v)
	p.scenarios(v)
	p.comparisons(v)
	p.sweeps(v)
	for _, wl := range v.Workloads {
		p.workload(wl)
	}
	if len(v.Workloads) == 0 && len(v.Answers) > 0 {
		p.modes(v)
	}
	p.evidence(v.Evidence)
	p.agreements(v)
	p.course(v)
	p.trials(v)
	p.notes(v)
	_, err := w.Write(p.buf.Bytes())
	return err
}

// printer writes lines that fit.
type printer struct {
	buf   bytes.Buffer
	width int
	color bool
	told  map[string]bool // modes with the reason why they were not measured
}

// wrap writes text with a first prefix and the other lines indented as far.
func (p *printer) wrap(prefix, text string) {
	indent := say.Width(prefix)
	for i, l := range say.Wrap(text, p.width-indent) {
		if i > 0 {
			prefix = strings.Repeat(" ", indent)
		}
		p.buf.WriteString(strings.TrimRight(prefix+l, " ") + "\n")
	}
}

func (p *printer) blank() { p.buf.WriteString("\n") }

func (p *printer) head(v view) {
	p.wrap("", say.Cut(v.Title, 4*p.width))
	p.wrap("", strings.Join(particulars(v), ", "))
	for _, n := range v.Notices {
		p.blank()
		text := n.Text
		if n.Grave {
			text = "! " + text
		}
		p.wrap("", text)
	}
	for _, text := range v.Evidence.Lead {
		p.blank()
		p.wrap("", text)
	}
}

// particulars are what identifies a run, in one line.
func particulars(v view) []string {
	if v.Run.Source != "" {
		return []string{paired(v.Run), "judged by tare " + version(v.Run)}
	}
	out := []string{"run " + orUnknown(v.Run.ID)}
	if v.Run.Profile != "" {
		out = append(out, "profile "+v.Run.Profile)
	}
	out = append(out, "seed "+seed(v.Run), say.Time(v.Run.Started))
	if d := took(v.Run); d != "" {
		out = append(out, "took "+d)
	}
	return append(out, "tare "+version(v.Run))
}

// modes lists what became of the modes where there is no table to do so.
func (p *printer) modes(v view) {
	p.blank()
	for _, a := range v.Answers {
		p.wrap("  ", a.String())
	}
}

func (p *printer) agreements(v view) {
	for i, a := range agreements(v) {
		if i == 0 {
			p.blank()
			p.buf.WriteString("Two tools\n")
		}
		p.wrap("  ", a)
	}
}

func (p *printer) trials(v view) {
	p.blank()
	p.wrap("", "Trials: "+v.Tally.String())
	for i, t := range v.Lost {
		if i == mostLost {
			p.wrap("  ", "and "+say.Count(len(v.Lost)-i, "more", "more"))
			break
		}
		p.wrap("  ", lost(t, 200))
	}
}

func (p *printer) notes(v view) {
	if len(v.Run.Warnings) > 0 {
		p.blank()
		p.buf.WriteString("Warnings\n")
		for _, w := range v.Run.Warnings {
			p.wrap("  - ", say.Cut(warning(w), 800))
		}
	}
	if len(v.Run.Hosts) > 0 {
		p.blank()
		p.buf.WriteString("Hosts\n")
		for _, h := range alike(v.Run.Hosts) {
			p.wrap("  ", say.Cut(h.Name+": "+facts(h.Facts), 600))
		}
	}
	p.standings(v)
	if v.Command != "" {
		p.blank()
		p.command(v.Command)
	}
}

// command writes a command so that it can be copied: continued over lines where
// it is too long, or on one line, however long, where quotes forbid that.
func (p *printer) command(c string) {
	p.buf.WriteString("Repeat:\n")
	lines := []string{c}
	if !strings.ContainsAny(c, "'\"\\`") {
		lines = say.Wrap(c, p.width-4)
	}
	p.buf.WriteString(gap + strings.Join(lines, " \\\n"+gap) + "\n")
}

// alike joins hosts of which the same is known: "a, b".
func alike(hosts []result.Host) []result.Host {
	var out []result.Host
	for _, h := range hosts {
		i := slices.IndexFunc(out, func(o result.Host) bool { return slices.Equal(o.Facts, h.Facts) })
		if i < 0 {
			out = append(out, h)
			continue
		}
		out[i].Name += ", " + h.Name
	}
	return out
}

// lost says which trial does not count and why.
func lost(t result.Trial, reason int) string {
	text := string(t.Status) + ": " + place(t)
	if t.Reason == "" {
		return text + ": no reason is recorded"
	}
	return text + ": " + say.Cut(t.Reason, reason)
}

// warning is a warning with what it is about.
func warning(w result.Warning) string {
	text := w.Text
	if text == "" {
		text = w.Code
	}
	if w.Scope == "" || w.Scope == "run" {
		return text
	}
	return w.Scope + ": " + text
}

func facts(fs []result.Fact) string {
	var parts []string
	for _, f := range fs {
		parts = append(parts, f.Name+" "+f.Value)
	}
	if len(parts) == 0 {
		return "nothing is known"
	}
	return strings.Join(parts, "; ")
}
