package tare_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/cli"
	"tare/internal/report"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/testkit/must"
	"tare/internal/wording"
	"tare/studies"
)

// recordedDir has the runs that pages show, as scripts/record keeps them: study.yaml and, compressed, run.json
// and the trials.
const (
	recordedDir  = "docs/recorded"
	recordedSize = 530 << 10 // at most, of all together
)

// sample is a part of a page that shows what a command prints.
type sample struct {
	// page is the file; the part is the first one that is generated below the line below.
	page, below string
	// args are those of tare, in a directory with the recorded runs in tare-runs.
	args []string
	// shown is the command on the page, if it is another one: tare run prints at its end what tare report prints again.
	shown string
	code  int // the exit code
	// show prints it in place of args, of a run without trials.
	show func(*testing.T) string
	// from begins the first line that the page shows, and lines is how many it shows from there; 0 is all.
	from  string
	lines int
}

// samples lists what the pages show of recorded runs.
func samples() []sample {
	asked := []string{"--modes", "docker/published,docker/macvlan,docker/overlay", "--workloads", "tcp_crr", "--profile", "standard"}
	compared := []string{"tare-runs/before", "tare-runs/after"}
	return []sample{
		{page: "README.md", show: dockerScreen},
		{page: "docs/report.md", show: dockerScreen},
		{page: "docs/tutorial.md", below: "## 2.", show: dockerScreen},
		{page: "docs/tutorial.md", below: "## 3.", shown: "sudo bin/tare plan " + strings.Join(asked, " "), args: slices.Concat([]string{"plan", "--seed", "1"}, asked), lines: 3},
		{page: "docs/tutorial.md", below: "## 4.", shown: "sudo bin/tare run " + strings.Join(asked, " ") + " \\\n      --out tare-runs/short-connections",
			args: []string{"report", "tare-runs/short-connections"}},
		{page: "docs/workloads/setup.md", below: "## A run", show: func(t *testing.T) string {
			return setupScreen(t, "setup", "How long until a container or a published port is reachable")
		}},
		{page: "docs/workloads/setup.md", below: "## On a cluster", show: func(t *testing.T) string {
			return "$ tare run k8s-setup --kube --out tare-runs/k8s-setup\n" + setupScreen(t, "k8s-setup", "How long until a pod is reachable through its service")
		}},
		{page: "docs/workloads/http.md", below: "## A run", shown: "sudo tare run http --out tare-runs/http", args: []string{"report", "tare-runs/http"}},
		{page: "docs/engines.md", below: "### Several private", shown: "sudo tare run engines-compared --profile standard --out tare-runs/engines-compared", args: []string{"report", "tare-runs/engines-compared"}},
		{page: "docs/kubernetes.md", below: "**Controllers.**", shown: "tare run --kube --modes k8s/pod,k8s/ingress:traefik,k8s/gateway:web --for web --out tare-runs/ingress", args: []string{"report", "tare-runs/ingress"}},
		{page: "docs/howto/why-is-my-container-slower.md", args: []string{"report", "tare-runs/why-published"}},
		{page: "docs/howto/two-machines.md", shown: "tare run --host local --host ssh://db1 --out tare-runs/machines", args: []string{"report", "tare-runs/machines"}},
		{page: "docs/howto/measure-the-engine-you-have.md", shown: "tare run --engine docker --out tare-runs/engine", args: []string{"report", "tare-runs/engine"}},
		{page: "docs/ci.md", below: "upgrade, wait", args: slices.Concat([]string{"compare"}, compared)},
		{page: "docs/ci.md", below: "## The gate", args: []string{"check", "--baseline", "tare-runs/before", "--fail-on", "worse:5%", "tare-runs/after"}, code: 10, from: "Worse in"},
		{page: "docs/combine.md", below: "## Read the answer", args: []string{"combine", "tare-runs/upgrade/1", "tare-runs/upgrade/2", "tare-runs/upgrade/3", "tare-runs/upgrade/4"}, lines: 21},
		{page: "docs/history.md", below: "## Read the answer", args: []string{"history", "tare-runs/upgrade"}, lines: 24},
		{page: "docs/events.md", below: "## What it looks like", shown: "tare run change --modes netns/published,netns/vxlan,proxy \\\n      --out tare-runs/change", args: []string{"report", "tare-runs/change"}},
		{page: "docs/events.md", below: "## On a cluster", shown: "tare run k8s-change --kube --out tare-runs/k8s-change", args: []string{"report", "tare-runs/k8s-change"}},
		{page: "docs/judge.md", below: "## Ranking", args: []string{"judge", "--rank", "networks.csv"}, from: "tcp_crr: k8s/pod", lines: 18},
		{page: "docs/kubernetes-networks.md", below: "## Networks compared", args: []string{"judge", "--rank", "networks.csv"}, from: "tcp_stream:"},
	}
}

// The pages show what tare prints of the recorded runs.
func TestSamplePages(t *testing.T) {
	dir := unpackedRuns(t)
	for _, s := range samples() {
		var out string
		t.Run(s.page+": "+strings.Join(s.args, " "), func(t *testing.T) {
			if s.show != nil {
				out = "```text\n" + s.show(t) + "```\n"
				return
			}
			t.Chdir(dir)
			out = printed(t, s)
		})
		if out != "" { // it ran, and did not fail
			generatedBelow(t, s.page, s.below, out)
		}
	}
}

// dockerScreen is the screen of the run of what tare measures by default.
func dockerScreen(t *testing.T) string {
	t.Helper()
	const dir = "tare-runs/20261127-170500-docker"
	in := report.Input{Run: recordedRun(t, "docker"), Title: "The overhead of Docker's networks", Page: dir + "/" + store.PageFile, Full: "tare report --full " + dir}
	src, _ := studies.Builtin("docker")
	must.Contain(t, string(src), "title: "+in.Title)
	var screen bytes.Buffer
	must.Do(t, report.Prepare(in).Overview(&screen, report.TextOptions{Width: report.MaxWidth}))
	return screen.String()
}

// setupScreen is the screen of a run of the study setup, and the percentiles of its report.
func setupScreen(t *testing.T, study, title string) string {
	t.Helper()
	dir := "tare-runs/" + study
	in := report.Input{Run: recordedRun(t, study), Page: dir + "/" + store.PageFile, Full: "tare report --full " + dir}
	in.Title = title
	src, _ := studies.Builtin(study)
	must.Contain(t, string(src), "title: "+in.Title)
	var screen, full bytes.Buffer
	r := report.Prepare(in)
	must.Do(t, errors.Join(r.Overview(&screen, report.TextOptions{Width: report.MaxWidth}), r.Text(&full, report.TextOptions{Width: report.MaxWidth})))
	_, times, found := strings.Cut(full.String(), "\nHow long a set-up takes\n")
	must.Require(t, found, "the report has no percentiles")
	times, _, _ = strings.Cut(times, "\n\n")
	return screen.String() + "\n$ tare report --full " + dir + "\n" + cut + "How long a set-up takes\n" + times + "\n" + cut
}

// cut is where a page leaves lines out.
const cut = "[...]\n"

// printed is a sample as a page shows it.
func printed(t *testing.T, s sample) string {
	t.Helper()
	var out bytes.Buffer
	a := cli.New(result.Build{})
	a.Stdout, a.Stderr = &out, &out
	if code := a.Main(t.Context(), s.args); code != s.code {
		t.Fatalf("exit code %d, not %d\n%s", code, s.code, &out)
	}
	lines := slices.Collect(strings.Lines(out.String()))
	if first := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, s.from) }); first > 0 {
		lines = slices.Concat([]string{cut}, lines[first:])
	}
	if s.lines > 0 {
		lines = append(lines[:s.lines], cut)
	}
	text := strings.Join(lines, "")
	if shown := cmp.Or(s.shown, command(s.args)); shown != "" {
		text = "$ " + shown + "\n" + text
	}
	return "```text\n" + text + "```\n"
}

// command is the command that a page shows for args: none where these print again what a run printed.
func command(args []string) string {
	if args[0] == "report" {
		return ""
	}
	return "tare " + strings.Join(args, " ")
}

// unpackedRuns is a directory with the recorded runs as tare writes them, in tare-runs. It checks their size.
func unpackedRuns(t *testing.T) string {
	t.Helper()
	to, size := t.TempDir(), 0
	must.Do(t, filepath.WalkDir(recordedDir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text := must.Get(os.ReadFile(path))(t)
		size += len(text)
		name, packed := strings.CutSuffix(must.Get(filepath.Rel(recordedDir, path))(t), ".gz")
		if packed {
			text = unzipped(t, text)
		}
		file := filepath.Join(to, "tare-runs", name)
		if filepath.Dir(name) == "." { // numbers of another program
			file = filepath.Join(to, name)
		}
		must.Do(t, os.MkdirAll(filepath.Dir(file), 0o755))
		return os.WriteFile(file, text, 0o600)
	}))
	must.True(t, size <= recordedSize, "the recorded runs have %d bytes, more than %d: record fewer blocks", size, recordedSize)
	return to
}

func unzipped(t *testing.T, packed []byte) []byte {
	t.Helper()
	return must.Get(io.ReadAll(must.Get(gzip.NewReader(bytes.NewReader(packed)))(t)))(t)
}

// recordedRun is a run in docs/recorded.
func recordedRun(t *testing.T, name string) result.Run {
	t.Helper()
	var run result.Run
	packed := must.Get(os.ReadFile(filepath.Join(recordedDir, name, store.RunFile+".gz")))(t)
	must.Do(t, json.Unmarshal(unzipped(t, packed), &run))
	return run
}

// generatedPart is generated for the first part of a file between two marks.
func generatedPart(t *testing.T, file, want string) {
	t.Helper()
	generatedBelow(t, file, "", want)
}

// generatedBelow is generatedPart for the first such part below a heading.
func generatedBelow(t *testing.T, file, heading, want string) {
	t.Helper()
	const begin, end = "<!-- generated: make drawings -->\n", "<!-- end -->\n"
	text := string(must.Get(os.ReadFile(file))(t))
	at := strings.Index(text, heading)
	must.Require(t, at >= 0, "%s has no %q", file, heading)
	before, rest, one := strings.Cut(text[at:], begin)
	_, after, two := strings.Cut(rest, end)
	must.Require(t, one && two, "%s has no %q and %q", file, begin, end)
	generated(t, file, text[:at]+before+begin+want+end+after)
}

// The page of namespaces says what Docker adds to each, by a run of both.
func TestNamespacesPage(t *testing.T) {
	run := recordedRun(t, "embedded")
	metrics := []string{"goodput", "transaction_rate", "connection_rate"}
	var out strings.Builder
	out.WriteString("| network | goodput | transactions | connections |\n|---|---|---|---|\n")
	rows := 0
	for _, m := range run.Modes {
		for _, id := range []string{m.ID, m.Like} {
			if m.Like == "" || m.Status != result.ModeMeasured || !slices.ContainsFunc(run.Cells, func(c result.Cell) bool { return c.Mode == m.Like }) {
				continue
			}
			fmt.Fprintf(&out, "| `%s` |", id)
			for _, metric := range metrics {
				at := slices.IndexFunc(run.Cells, func(c result.Cell) bool { return c.Mode == id && c.Metric == metric })
				fmt.Fprintf(&out, " %s |", changeOf(run.Cells[at]))
			}
			out.WriteString("\n")
			rows++
		}
	}
	must.Require(t, rows >= 8, "%d rows: the run lacks modes", rows)
	generatedPart(t, "docs/modes/netns.md", out.String())
}

// changeOf is the change of a cell with the time it adds.
func changeOf(c result.Cell) string {
	text, _ := wording.Delta(c.Ratio, nil)
	if c.Added != nil {
		a, _ := wording.Each(*c.Added)
		added, _ := wording.ScaleFor("s", 1e-6, a.Value).Added(a)
		text += ", " + added
	}
	return text
}
