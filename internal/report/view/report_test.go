package view

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/net/html"

	page "tare/internal/report/html"
	"tare/internal/report/view/model"
	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/testkit/reports"
	"tare/internal/wording"
)

func TestHostileStrings(t *testing.T) {
	for form, text := range everything(reports.Hostile()) {
		for _, r := range text {
			must.True(t, r == '\n' || !unicode.In(r, unicode.Cc, unicode.Cf), "%s holds the control character %U", form, r)
		}
		must.True(t, !strings.Contains(text, "777") && !strings.Contains(text, "7.77"), "%s shows a value of a mode that failed", form)
		scripts := strings.Count(text, "<script")
		must.True(t, form == "text" || form == "Markdown" || scripts <= 0 || form == "HTML" && scripts <= 1, "%s holds %d scripts", form, scripts)
		if form == "Markdown" {
			body, _, _ := strings.Cut(text, "\n```") // what repeats the run is quoted
			for _, bad := range []string{"<", "a](", " **b**"} {
				must.True(t, !strings.Contains(body, bad), "Markdown holds %q", bad)
			}
		}
	}
}

// Nothing in the page leads anywhere else, nothing runs but its own script, and the
// policy allows that, its style and nothing more.
func TestPageIsSelfContained(t *testing.T) {
	script, _ := page.Script()
	for name, d := range documents() {
		doc := must.Get(html.Parse(bytes.NewReader(page.Write(d))))(t)
		ids := map[string]bool{}
		var refs []string
		scripts := 0
		for n := range doc.Descendants() {
			switch n.Data {
			case "script":
				if n.FirstChild == nil || n.FirstChild.Data != script || n.NextSibling != nil && n.NextSibling.Type == html.ElementNode {
					t.Errorf("%s: a script that is not the page's own", name)
				}
				scripts++
			case "img", "link", "iframe", "object", "embed", "base", "form", "image", "foreignObject":
				must.True(t, n.Type != html.ElementNode, "%s: <%s>", name, n.Data)
			}
			for _, a := range n.Attr {
				switch {
				case a.Key == "style" || a.Key == "src" || strings.HasPrefix(a.Key, "on"):
					t.Errorf("%s: <%s %s=%q>", name, n.Data, a.Key, a.Val)
				case a.Key == "href" && strings.HasPrefix(a.Val, "#"):
					refs = append(refs, a.Val[1:])
				case a.Key == "href":
					t.Errorf("%s: link to %q", name, a.Val)
				case a.Key == "aria-labelledby":
					refs = append(refs, strings.Fields(a.Val)...)
				case a.Key == "id" && ids[a.Val]:
					t.Errorf("%s: the id %q is there twice", name, a.Val)
				case a.Key == "id":
					ids[a.Val] = true
				}
			}
		}
		must.EqualFor(t, name+": scripts", 1, scripts)
		for _, r := range refs {
			must.True(t, ids[r], "%s: nothing has the id %q", name, r)
		}
	}
}

// A run without a value says of each mode why.
func TestModesWithoutWorkloads(t *testing.T) {
	in := model.Input{Run: result.Run{Modes: []result.Mode{{ID: "host", Status: result.ModeMeasured}, {ID: "m", Baseline: "host", Status: result.ModeVoid, Reason: "the bridge rested"}}}}
	must.Contain(t, Text(in, TextOptions{}), "host has no valid trial.", "m is void, its path was not proven: the bridge rested.")
}

func TestFigureNames(t *testing.T) {
	in := reports.Sample()
	for i := range in.Run.Cells {
		if in.Run.Cells[i].Workload == "tcp_rr" {
			in.Run.Cells[i].Workload = "../tcp/stream"
		} else {
			in.Run.Cells[i].Workload = "..\\tcp stream"
		}
		in.Run.Cells[i].Metric = "goodput"
	}
	in.Trials, in.Run.Modes = nil, in.Run.Modes[:1]
	in.Run.Modes[0].ID, in.Run.Modes[0].Baseline = "../../host", ""
	for i := range in.Run.Cells {
		in.Run.Cells[i].Mode = "../../host"
	}
	figures := New(in).Figures()
	for _, want := range []string{"___tcp_stream-goodput.svg", "___tcp_stream-goodput-2.svg", "path-______host.svg"} {
		must.True(t, figures[want] != nil, "no %s", want)
	}
	must.Equal(t, 3, len(figures))
}

// A report must not change what it is given.
func TestInputUntouched(t *testing.T) {
	in, want := reports.Hostile(), reports.Hostile()
	everything(in)
	must.Equal(t, want, in, cmpopts.EquateNaNs())
	must.True(t, wording.Clean(in.Title) != in.Title, "the sample is not hostile")
}
