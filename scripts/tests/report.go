package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// report passes the events of go test to gotestsum, which prints them and writes JUnit, and counts them.
type report struct {
	name   string
	cmd    *exec.Cmd
	in     io.WriteCloser
	failed atomic.Bool // go test failed
	mu     sync.Mutex
}

// newReport starts the report of a stage.
func newReport(ctx context.Context, name string) (*report, error) {
	r := &report{name: name}
	base := filepath.Join(outDir, name)
	// Interrupted, it still prints what it has when its input ends.
	r.cmd = exec.CommandContext(context.WithoutCancel(ctx), "bin/gotestsum", "--format=pkgname", "--format-hide-empty-pkg", "--hide-summary=skipped",
		"--jsonfile="+base+".json", "--junitfile="+base+".xml", "--raw-command", "--", "cat")
	r.cmd.Stdout, r.cmd.Stderr = os.Stdout, os.Stderr
	detach(r.cmd)
	var err error
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := r.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start gotestsum (make builds it): %w", err)
	}
	return r, nil
}

// lines passes whole lines of one go test to a report, which has those of several.
type lines struct {
	to   *report
	part []byte // of a line
}

func (l *lines) Write(p []byte) (int, error) {
	l.part = append(l.part, p...)
	whole := bytes.LastIndexByte(l.part, '\n') + 1
	l.to.mu.Lock()
	defer l.to.mu.Unlock()
	if _, err := l.to.in.Write(l.part[:whole]); err != nil {
		return 0, err
	}
	l.part = slices.Clone(l.part[whole:])
	return len(p), nil
}

// close ends the report and counts its events.
func (r *report) close(t *tally) error {
	err := r.in.Close()
	var exit *exec.ExitError
	if werr := r.cmd.Wait(); werr != nil && !errors.As(werr, &exit) {
		err = errors.Join(err, werr)
	}
	if err != nil {
		return err
	}
	events, err := os.Open(filepath.Join(outDir, r.name+".json"))
	if err != nil {
		return err
	}
	defer events.Close()
	t.broken = r.failed.Load()
	return t.count(events)
}

// tally is the result of a stage.
type tally struct {
	passed, failed  int
	skipped         map[string]int // by reason
	packages        []packageTime
	broken          bool     // go test failed, with or without a failed test
	unset           string   // why the set-up is not complete
	changed         []string // of the machine, by all stages
	took, settingUp time.Duration
}

type packageTime struct {
	name    string
	seconds float64
}

func (t tally) skippedCount() (n int) {
	for _, c := range t.skipped {
		n += c
	}
	return n
}

// green reports whether nothing failed. What was not set up fails in CI only: elsewhere its tests skip.
func (t tally) green() bool {
	return t.failed == 0 && !t.broken && len(t.changed) == 0 && (t.unset == "" || os.Getenv("CI") == "")
}

func (t *tally) add(o tally) {
	t.passed += o.passed
	t.failed += o.failed
	t.broken = t.broken || o.broken
	if o.unset != "" {
		t.unset = o.unset
	}
	if t.skipped == nil {
		t.skipped = map[string]int{}
	}
	for reason, n := range o.skipped {
		t.skipped[reason] += n
	}
}

// event is one of `go test -json`.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// count reads the events of go test. A line that is none of them is part of some program's output.
func (t *tally) count(events io.Reader) error {
	if t.skipped == nil {
		t.skipped = map[string]int{}
	}
	last := map[string]string{} // line of each test that gives the reason for skipping it
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if json.Unmarshal(bytes.TrimSpace(line), &e) == nil && e.Action != "" {
			t.take(e, last)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the events of go test: %w", err)
		}
	}
}

func (t *tally) take(e event, last map[string]string) {
	key := e.Package + " " + e.Test
	switch {
	case e.Test == "":
		if e.Action == "pass" || e.Action == "fail" {
			t.packages = append(t.packages, packageTime{strings.TrimPrefix(e.Package, "tare/"), e.Elapsed})
		}
	case e.Action == "output":
		if m := logLine.FindStringSubmatch(e.Output); m != nil {
			last[key] = m[1]
		}
	case e.Action == "pass":
		t.passed++
	case e.Action == "fail":
		t.failed++
	case e.Action == "skip":
		t.skipped[reasonOf(last[key])]++
	}
}

var (
	logLine = regexp.MustCompile(`^\s+\w+\.go:\d+: (.*)\n?$`)
	needs   = regexp.MustCompile(`^(needs .+?): `)
)

// reasonOf shortens what a test says about why it is skipped to what it needs.
func reasonOf(said string) string {
	if m := needs.FindStringSubmatch(said); m != nil {
		return m[1]
	}
	switch {
	case said == "":
		return "no reason given"
	case strings.HasPrefix(said, "WORK="): // the log of a script, which skips for want of labs only
		return "needs labs for the rest of a script"
	}
	return said
}

// write prints the result of a stage, and writes it as Markdown.
func (t tally) write(name string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d passed, %d failed, %d skipped in %s", name, t.passed, t.failed, t.skippedCount(), t.took.Round(time.Second))
	if t.settingUp > 0 {
		fmt.Fprintf(&b, " (set-up %s)", t.settingUp.Round(time.Second))
	}
	head := b.String()
	var rows []string
	for _, reason := range slices.SortedFunc(maps.Keys(t.skipped), func(a, b string) int {
		if d := t.skipped[b] - t.skipped[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	}) {
		rows = append(rows, fmt.Sprintf("skipped %4d: %s", t.skipped[reason], reason))
	}
	if t.broken && t.failed == 0 {
		rows = append(rows, "failed: go test, without a failed test: see above")
	}
	if t.unset != "" {
		rows = append(rows, "not set up: "+t.unset)
	}
	slices.SortFunc(t.packages, func(a, b packageTime) int { return int(1000 * (b.seconds - a.seconds)) })
	var slow []string
	for _, p := range t.packages[:min(8, len(t.packages))] {
		slow = append(slow, fmt.Sprintf("%s %.0f s", p.name, p.seconds))
	}
	rows = append(rows, "longest: "+strings.Join(slow, ", "))
	fmt.Printf("%s\n  %s\n", head, strings.Join(rows, "\n  "))
	return os.WriteFile(filepath.Join(outDir, name+".md"), fmt.Appendf(nil, "**%s**\n\n- %s\n", head, strings.Join(rows, "\n- ")), 0o644)
}
