package view

import (
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/report/view/model"
	"tare/internal/testkit/must"
	"tare/internal/testkit/reports"
	"tare/internal/wording"
)

var update = flag.Bool("update", false, "write the golden files")

func golden[T ~string | ~[]byte](t *testing.T, name string, got T) {
	t.Helper()
	must.File(t, filepath.Join("testdata", name), got, *update)
}

func TestReports(t *testing.T) {
	forms := map[string]func(model.Input) string{
		"txt":      func(in model.Input) string { return Text(in, TextOptions{}) },
		"wide.txt": func(in model.Input) string { return Text(in, TextOptions{Width: 120, Color: true}) },
		"md":       Markdown,
		// Of the page, which is the document in another medium, TestPageStructure is the test.
		"view": func(in model.Input) string { return dump(New(in).Document()) },
	}
	for name, in := range reports.Inputs() {
		for ext, write := range forms {
			t.Run(name+"."+ext, func(t *testing.T) {
				got := write(in)
				must.EqualFor(t, "two reports of one run", write(in), got)
				golden(t, name+"."+ext, got)
			})
		}
	}
}

func TestFigures(t *testing.T) {
	figures := New(reports.Sample()).Figures()
	var names []string
	for name, svg := range figures {
		names = append(names, name)
		golden(t, name, svg)
	}
	slices.Sort(names)
	want := []string{"path-host.svg", "path-netns_bridge.svg", "path-netns_published.svg", "path-netns_vxlan.svg", "tcp_rr-rtt_p50.svg", "tcp_rr-rtt_p99.svg", "tcp_rr-transaction_rate.svg", "tcp_stream-goodput.svg", "tcp_stream-retransmits.svg"}
	must.Equal(t, want, names)
}

func TestTextFits(t *testing.T) {
	for name, in := range reports.Inputs() {
		for _, width := range []int{40, 60, 80, 132} {
			text, _, _ := strings.Cut(Text(in, TextOptions{Width: width}), "Repeat:") // a command may be longer
			for _, line := range strings.Split(text, "\n") {
				w := wording.Width(line)
				must.True(t, w <= width, "%s at %d: %d columns: %s", name, width, w, line)
				must.EqualFor(t, fmt.Sprintf("%s at %d: trailing space", name, width), strings.TrimRight(line, " "), line)
			}
		}
	}
}
