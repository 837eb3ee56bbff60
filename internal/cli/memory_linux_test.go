package cli_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/store"
	"tare/internal/testkit/must"
)

// mostMemory is how much memory the program takes at most, whatever it reads, in bytes.
const mostMemory = 256e6

// Whatever a file, an engine or a pipe holds: an error on one line or a result, in little
// memory.
func TestFaultsMemoryOfAnyInput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	study := func(name string, blocks, workloads int) {
		text := fmt.Sprintf("blocks: %d\nmodes: [host, netns/bridge]\nworkloads:\n", blocks)
		for i := range workloads {
			text += fmt.Sprintf("  - {workload: tcp_rr, id: w%d}\n", i)
		}
		write(t, filepath.Join(dir, name), text)
	}
	study("many.yaml", 1000, 1000)
	study("most.yaml", 1000, 25)
	const head = `{"schema":"tare.run/1","id":"x","status":"complete",`
	trial := `{"schema":"tare.trial/1","seq":1,"block":1,"mode":"m","workload":"w","status":"ok",`
	filled := func(start, part, end string, size int) string {
		return start + strings.Repeat(part, (size-len(start)-len(end))/len(part)) + end
	}
	var many strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&many, `{"schema":"tare.trial/1","seq":%d,"block":1,"mode":"m%[1]d","workload":"w%[1]d","status":"ok"}`+"\n", i+1)
	}
	runDir(t, dir, "claims", head+`"trials":{"ok":4000000000000000000}}`, "", 0, 0)
	runDir(t, dir, "pairs of trials", "", many.String(), 0, 0)
	runDir(t, dir, "sparse run", "", "", 229<<20, 0)
	runDir(t, dir, "sparse trials", head+`"trials":{"ok":1000000000}}`, "", 0, 120<<20)
	runDir(t, dir, "vast trials", head+`"trials":{"ok":1000000000}}`, "", 0, 1<<40)
	runDir(t, dir, "structures", filled(head+`"warnings":[{}`, ",{}", "]}", 12<<20), "", 0, 0)
	runDir(t, dir, "small structures", filled(head+`"cells":[{}`, ",{}", "]}", 700_000), "", 0, 0)
	runDir(t, dir, "text", filled(head+`"profile":"`, "x", `"}`, 15<<20), "", 0, 0)
	runDir(t, dir, "long line", "", filled(trial+`"reason":"`, "x", `"}`, 8<<20), 0, 0)
	runDir(t, dir, "endless line", "", strings.Repeat("x", 40<<20), 0, 0)
	runDir(t, dir, "steps", "", strings.Repeat(filled(trial+`"steps":[{}`, ",{}", "]}\n", 200_000), 40), 0, 0)
	runDir(t, dir, "series", "", strings.Repeat(filled(trial+`"series":{"metric":"goodput","interval":1,"values":[0`, ",0", "]}}\n", 1<<20), 40), 0, 0)
	var metrics strings.Builder
	metrics.WriteString(trial + `"metrics":{`)
	for i := range 90_000 {
		fmt.Fprintf(&metrics, `"a%d":0,`, i)
	}
	runDir(t, dir, "metrics", "", strings.Repeat(metrics.String()+`"z":0}}`+"\n", 36), 0, 0)
	manyPairs(t, dir, "pairs", 600, false)
	manyPairs(t, dir, "most pairs", 100, false)
	manyPairs(t, dir, "dense pairs", 100, true)
	for name, part := range map[string]string{
		"warnings":   `"warnings":[%s]|{"code":"x%d","scope":"run","text":"a"}`,
		"breakdowns": `"breakdowns":[%s]|{"mode":"m%d","workload":"w","trials":1,"samples":1,"unknown":0,"components":[]}`,
		"steps":      `"ladder":{"mode":"a","baseline":"a","rungs":[],"costs":[{"workload":"w","metric":"goodput","unit":"bit/s","steps":[%s]}]}|{"parts":["p%d"],"with":"b","without":"c"}`,
		"metrics":    `"cells":[%s]|{"mode":"a","workload":"w","metric":"x%d","unit":"bit/s"}`,
		"facts":      `"hosts":[{"name":"a","facts":[%s]}]|{"name":"f%d","value":"v"}`,
	} {
		list, element, _ := strings.Cut(part, "|")
		for _, n := range []int{10_000, 20_000} {
			elements := make([]string, n)
			for i := range elements {
				elements[i] = fmt.Sprintf(element, i)
			}
			runDir(t, dir, fmt.Sprint(n, " ", name), head+fmt.Sprintf(list, strings.Join(elements, ","))+"}", "", 0, 0)
		}
	}
	write(t, filepath.Join(dir, "modes.csv"), rows(9_999, 2))
	write(t, filepath.Join(dir, "values.csv"), rows(100, 1_500))
	engine := endlessEngine(t, dir)
	refused, fine := 2, 0
	for _, c := range []struct {
		args  []string
		exit  int // -1 for any
		said  string
		stdin func() io.Reader
	}{
		{args: []string{"plan", "many.yaml"}, exit: refused, said: "the study has 2000000 trials (2 modes x 1000 workloads x 1000 blocks), more than the maximum of"},
		{args: []string{"plan", "most.yaml", "--order"}, exit: fine},
		{args: []string{"plan", "/dev/zero"}, exit: refused, said: "not a regular file"},
		{args: []string{"report", "claims"}, exit: refused, said: "trials.ok is 4000000000000000000"},
		{args: []string{"export", "claims"}, exit: refused, said: "trials.ok is 4000000000000000000"},
		{args: []string{"report", "sparse run"}, exit: refused, said: "run.json: too large"},
		{args: []string{"compare", "sparse run", "sparse run"}, exit: refused, said: "run.json: too large"},
		{args: []string{"report", "sparse trials"}, exit: refused, said: "trials.ndjson:1: line of more than"},
		{args: []string{"export", "vast trials"}, exit: refused, said: "trials.ndjson: too large"},
		{args: []string{"report", "structures"}, exit: refused, said: "run.json: too large"},
		{args: []string{"report", "small structures"}, exit: -1},
		{args: []string{"export", "text"}, exit: -1},
		{args: []string{"report", "long line"}, exit: -1},
		{args: []string{"report", "endless line"}, exit: refused, said: "line of more than"},
		{args: []string{"report", "steps"}, exit: refused, said: "too large"},
		{args: []string{"report", "series"}, exit: refused, said: "too large"},
		{args: []string{"report", "metrics"}, exit: refused, said: "too large"},
		{args: []string{"ls", "sparse run"}, exit: fine},
		{args: []string{"ls", "text"}, exit: fine},
		{args: []string{"ls", "steps"}, exit: fine},
		{args: []string{"judge", "/dev/zero"}, exit: refused, said: "a binary file"},
		{args: []string{"judge", "-"}, exit: refused, said: "longer than 1 MiB", stdin: func() io.Reader { return endless("x") }},
		{args: []string{"judge", "-"}, exit: refused, said: "longer than 1 MiB", stdin: func() io.Reader { return io.MultiReader(strings.NewReader("mode,value\n\""), endless("a,\n")) }},
		{args: []string{"judge", "--format", "bench", "-"}, exit: refused, said: "longer than 1 MiB", stdin: func() io.Reader { return endless("Benchmark") }},
		{args: []string{"judge", "-"}, exit: refused, said: "more than 10000 modes", stdin: func() io.Reader { return strings.NewReader(rows(20_000, 1)) }},
		{args: []string{"judge", "-"}, exit: refused, said: "more than 150000 values", stdin: func() io.Reader { return strings.NewReader(rows(100, 2_000)) }},
		{args: []string{"judge", "--better", "higher", "modes.csv"}, exit: fine},
		{args: []string{"judge", "--better", "higher", "values.csv"}, exit: fine},
		{args: []string{"judge", "--better", "higher", "pairs.csv"}, exit: refused, said: "more than 10000 pairs of a mode and a workload"},
		{args: []string{"judge", "--better", "higher", "--full", "--html", "pairs.html", "most pairs.csv"}, exit: fine},
		{args: []string{"report", "pairs of trials"}, exit: refused, said: "trials.ndjson: too large: 2500 modes and 2500 workloads are more than the maximum of 10000 pairs"},
		{args: []string{"report", "pairs"}, exit: refused, said: "600 modes and 600 workloads are more than the maximum of 10000 pairs"},
		{args: []string{"report", "--full", "most pairs"}, exit: fine},
		{args: []string{"report", "--full", "dense pairs"}, exit: -1},
		{args: []string{"export", "--format", "md", "dense pairs"}, exit: -1},
		{args: []string{"judge", "--better", "higher", "--full", "--html", "pairs.html", "dense pairs.csv"}, exit: fine},
		{args: []string{"export", "--format", "md", "most pairs"}, exit: fine},
		{args: []string{"report", "20000 warnings"}, exit: refused, said: "warnings has 20000 elements, more than the maximum of 10000"},
		{args: []string{"report", "20000 breakdowns"}, exit: refused, said: "breakdowns has 20000 elements"},
		{args: []string{"report", "20000 steps"}, exit: refused, said: "ladder.costs.steps has 20000 elements"},
		{args: []string{"export", "20000 facts"}, exit: refused, said: "hosts.facts has 20000 elements"},
		{args: []string{"report", "--full", "10000 warnings"}, exit: fine},
		{args: []string{"report", "--full", "10000 breakdowns"}, exit: fine},
		{args: []string{"report", "--full", "10000 steps"}, exit: fine},
		{args: []string{"report", "--full", "10000 facts"}, exit: fine},
		{args: []string{"report", "--full", "20000 metrics"}, exit: fine},
		{args: []string{"export", "--format", "md", "20000 metrics"}, exit: fine},
		{args: []string{"gc", "--engine", engine}, exit: -1, said: "the answer has more than 8 MiB"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			t.Parallel()
			p := prepared(dir, c.args...)
			peak := filepath.Join(t.TempDir(), "peak")
			p.cmd.Env = append(os.Environ(), peakFile+"="+peak)
			if c.stdin != nil {
				p.cmd.Stdin = unread(t, c.stdin())
			}
			began := time.Now()
			p.begin(t)
			exit := p.wait(t)
			if c.exit >= 0 && exit != c.exit || !strings.Contains(p.stderr.String(), c.said) || exit != fine && strings.Count(p.stderr.String(), "\n") != 1 {
				t.Errorf("exit %d, %.500s", exit, p.stderr.String())
			}
			if used := peakOf(t, peak); used > mostMemory {
				t.Errorf("%d bytes of memory", used)
			} else {
				t.Logf("%d MB in %s", used/1e6, time.Since(began).Round(time.Millisecond))
			}
		})
	}
}

// Of many runs only the ratios stay in memory.
func TestFaultsCombineManyRuns(t *testing.T) {
	t.Parallel()
	machines := make([]string, 200)
	for i := range machines {
		machines[i] = fmt.Sprint("machine ", i%60)
	}
	p, peak := prepared("", append([]string{"combine"}, onMachines(t, 0.02, machines...)...)...), filepath.Join(t.TempDir(), "peak")
	p.cmd.Env = append(os.Environ(), peakFile+"="+peak) // of its own process: other tests need memory meanwhile
	p.begin(t)
	p.ends(t, 0)
	must.Contain(t, p.stdout.String(), "200 runs of 60 machines")
	must.True(t, peakOf(t, peak) <= mostMemory, "%d bytes of memory", peakOf(t, peak))
}

// unread is an input that a program need not read to its end: nothing waits for the rest.
func unread(t *testing.T, in io.Reader) *os.File {
	t.Helper()
	r, w := must.Get2(os.Pipe())(t)
	go func() {
		_, _ = io.Copy(w, in)
		_ = w.Close()
	}()
	t.Cleanup(func() { _ = r.Close() }) // ends the copy
	return r
}

// peakOf is the most memory that a program had, in bytes.
func peakOf(t *testing.T, file string) int {
	t.Helper()
	status := must.Get(os.ReadFile(file))(t)
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kB := 0
	if _, err := fmt.Sscanf(rest, "%d kB", &kB); err != nil {
		t.Fatalf("%v in %s", err, status)
	}
	return kB << 10
}

// write writes a file of a test.
func write(t *testing.T, path, text string) {
	t.Helper()
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
}

// runDir makes a run's directory; a size above 0 is that of a sparse file. Without text and
// size there is no run.json.
func runDir(t *testing.T, dir, name, run, trials string, runSize, trialsSize int64) {
	t.Helper()
	path := filepath.Join(dir, name)
	must.Do(t, os.Mkdir(path, 0o700))
	for _, f := range []struct {
		name, text string
		size       int64
		absent     bool
	}{{store.RunFile, run, runSize, run == "" && runSize == 0}, {store.TrialsFile, trials, trialsSize, false}} {
		if f.absent {
			continue
		}
		write(t, filepath.Join(path, f.name), f.text)
		if f.size > 0 {
			must.Do(t, os.Truncate(filepath.Join(path, f.name), f.size))
		}
	}
}

// rows is a table of values for judge.
func rows(modes, blocks int) string {
	var b strings.Builder
	b.WriteString("mode,block,value\n")
	for block := range blocks {
		for m := range modes {
			fmt.Fprintf(&b, "m%d,%d,%d\n", m, block, 1000+(m*block)%97)
		}
	}
	return b.String()
}

// manyPairs makes a table and a run of that many modes in one workload and of that many workloads of one mode, or of
// all of them.
func manyPairs(t *testing.T, dir, name string, n int, dense bool) {
	t.Helper()
	table, cells, modes := "mode,workload,value\n", []string{}, []string{}
	add := func(mode, workload int) {
		table += fmt.Sprintf("m%d,w%d,1\nm%[1]d,w%[2]d,2\nm%[1]d,w%[2]d,3\n", mode, workload)
		cells = append(cells, fmt.Sprintf(`{"mode":"m%d","workload":"w%d","metric":"goodput","unit":"bit/s"}`, mode, workload))
	}
	for i := range n {
		modes = append(modes, fmt.Sprintf(`{"id":"m%d"}`, i))
		add(i, 0)
		for j := 1; j < n && (dense || i == 0); j++ {
			add(i, j)
		}
	}
	write(t, filepath.Join(dir, name+".csv"), table)
	runDir(t, dir, name, fmt.Sprintf(`{"schema":"tare.run/1","id":"x","status":"complete","modes":[%s],"cells":[%s]}`, strings.Join(modes, ","), strings.Join(cells, ",")), "", 0, 0)
}

// endless repeats a text without end.
func endless(text string) io.Reader { return &repeated{text: strings.Repeat(text, 64<<10/len(text))} }

type repeated struct {
	text string
	at   int
}

func (r *repeated) Read(b []byte) (int, error) {
	n := copy(b, r.text[r.at:])
	r.at = (r.at + n) % len(r.text)
	return n, nil
}

// endlessEngine is the address of an engine that identifies itself and whose lists do not
// end.
func endlessEngine(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "engine.sock")
	l := must.Get(net.Listen("unix", path))(t)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.45")
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/_ping"):
		case strings.HasSuffix(r.URL.Path, "/version"), strings.HasSuffix(r.URL.Path, "/info"):
			_, _ = io.WriteString(w, `{"Version":"28.0.0","ApiVersion":"1.45","Os":"linux","Arch":"amd64"}`)
		default:
			_, _ = io.Copy(w, io.LimitReader(io.MultiReader(strings.NewReader(`[{"Id":"x"}`), endless(`,{"Id":"0123456789abcdef","Labels":{}}`)), 900e6))
		}
	}))
	s.Listener = l
	s.Start()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return "unix://" + path
}
