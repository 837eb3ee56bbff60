package results

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"

	"tare/internal/cli/command"
	"tare/internal/cli/rundir"
	"tare/internal/cli/selection"
	"tare/internal/report"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/testkit/must"
	"tare/internal/wording"
)

var updateClaims = flag.Bool("update-claims", false, "write the pages of docs/claims")

// recordedDir has a directory for each study that was run on the reference machine, with study.yaml
// and, compressed, run.json and the trials; scripts/record-claims fills it.
const (
	claimsDir    = "../../../docs/claims"
	recordedDir  = claimsDir + "/runs"
	recordedSize = 3 << 20 // at most, of all together
)

// The pages of docs/claims show the claims of the built-in studies and what the recorded runs found.
// `make claims` writes them.
func TestClaimPages(t *testing.T) {
	all := must.Get(commands{runs: rundir.Reader{Hosts: selection.New(command.Streams{})}}.builtinClaims(nil))(t)
	runs := unpacked(t)
	all, broken := must.Get2(takeOutcomes(all, runs))(t)
	if len(broken) > 0 {
		t.Error(unreadable(broken, runs))
	}
	pages := map[string]string{"README.md": galleryPage(all)}
	for _, s := range all {
		run := result.Run{Claims: s.Claims}
		if s.Run != "" {
			run = must.Get(evaluated(s.Run))(t)
		}
		pages[s.Study+".md"] = claimPage(t, s, run)
	}
	there := must.Get(filepath.Glob(filepath.Join(claimsDir, "*.md")))(t)
	for _, file := range there {
		if _, known := pages[filepath.Base(file)]; !known && *updateClaims {
			must.Do(t, os.Remove(file))
		} else if !known {
			t.Errorf("%s is of no built-in study with claims; `make claims` removes it", file)
		}
	}
	for name, text := range pages {
		file := filepath.Join(claimsDir, name)
		if *updateClaims {
			must.Do(t, errors.Join(os.MkdirAll(claimsDir, 0o755), os.WriteFile(file, []byte(text), 0o644)))
		}
		have, err := os.ReadFile(file)
		must.Do(must.Named(t, "`make claims` writes it"), err)
		if d := diff.Diff(string(have), text); d != "" {
			t.Errorf("%s is not what the recorded runs show; `make claims` (-file +runs):\n%s", file, d)
		}
	}
	checkRecorded(t, runs, all)
}

// unpacked is a directory with the recorded runs as tare writes them. It checks their size.
func unpacked(t *testing.T) string {
	t.Helper()
	to, size := t.TempDir(), int64(0)
	err := filepath.WalkDir(recordedDir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() != store.StudyFile && filepath.Ext(path) != ".gz" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		size += int64(len(text))
		dir := filepath.Join(to, filepath.Base(filepath.Dir(path)))
		name, packed := strings.CutSuffix(e.Name(), ".gz")
		if packed {
			unzip, err := gzip.NewReader(bytes.NewReader(text))
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			if text, err = io.ReadAll(unzip); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
		return errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, name), text, 0o600))
	})
	must.Require(t, err == nil || errors.Is(err, fs.ErrNotExist), "%v", err)
	must.True(t, size <= recordedSize, "the recorded runs have %d bytes, more than %d: record fewer blocks", size, recordedSize)
	return to
}

// checkRecorded checks that every recorded run is shown, and that it has all the trials that it was
// evaluated from.
func checkRecorded(t *testing.T, runs string, all []result.StudyClaims) {
	t.Helper()
	dirs := must.Get(os.ReadDir(runs))(t)
	for _, d := range dirs {
		path := filepath.Join(runs, d.Name())
		must.True(t, slices.ContainsFunc(all, func(s result.StudyClaims) bool { return s.Run == path && s.Study == d.Name() }),
			"%s/%s is not shown: it is not complete, or of other claims than those of the built-in study; record it again with scripts/record-claims", recordedDir, d.Name())
		dir, err := store.Open(path)
		if err != nil {
			t.Errorf("%s: %v", d.Name(), err)
			continue
		}
		run, trials, err := dir.LoadPartial()
		if err != nil || run.Status != result.RunComplete || len(trials) != run.Trials.Total() {
			t.Errorf("%s: %d trials of a run that is %s and has %d (%v)", d.Name(), len(trials), run.Status, run.Trials.Total(), err)
		}
		if err := dir.Close(); err != nil {
			t.Error(err)
		}
	}
}

// galleryPage is the table of the studies with the outcomes of their claims. The claims are on the pages of the studies.
func galleryPage(all []result.StudyClaims) string {
	var page strings.Builder
	page.WriteString("# The claims\n\n*Reference. Answers: which published claims does tare check, and which of them hold on the reference machine?*\n\n" +
		"This page and those of the studies are generated from the built-in studies and recorded runs by `make claims`. [Published claims](../claims.md) says how a claim is\n" +
		"judged, and how to check it on your machine. " + report.ClaimsOf(all).Sentence + "\n\n| study | content | hold | do not hold | cannot tell |\n|---|---|---|---|---|\n")
	for _, s := range all {
		counts := "not run | | "
		if s.Run != "" {
			of := map[result.ClaimOutcome]int{}
			for _, c := range s.Claims {
				of[c.Outcome]++
			}
			counts = fmt.Sprintf("%d | %d | %d", of[result.ClaimHolds], of[result.ClaimDoesNotHold], of[result.ClaimCannotTell])
		}
		fmt.Fprintf(&page, "| [%s](%s.md) | %s | %s |\n", s.Study, s.Study, cellText(s.Title), counts)
	}
	page.WriteString("\nA study's page has the claims that its run decided, why the published and the found value may differ, and the raw trials.\n")
	return page.String()
}

// decided are the claims that a run has decided, and how many it has not.
func decided(claims []result.Claim) ([]result.Claim, int) {
	of := slices.DeleteFunc(slices.Clone(claims), func(c result.Claim) bool { return c.Outcome == result.ClaimCannotTell })
	return of, len(claims) - len(of)
}

// cellText is text for a cell of a table. The texts come from the built-in studies.
func cellText(s string) string {
	return strings.NewReplacer("|", "\\|", "<", "&lt;", "*", "\\*").Replace(s)
}

// claimPage is the page of a study, with the last recorded run.
func claimPage(t *testing.T, s result.StudyClaims, run result.Run) string {
	t.Helper()
	var page, section bytes.Buffer
	open := 0
	if s.Run != "" {
		run.Claims, open = decided(run.Claims)
	}
	must.Do(t, report.Prepare(report.Input{Run: run}).ClaimsSection(&section))
	fmt.Fprintf(&page, "# Claims: %s\n\n*Reference. Answers: which claims of the study `%s` hold on the reference machine?*\n\n", s.Study, s.Study)
	fmt.Fprintf(&page, "%s. This page is generated by `make claims`; [all claims](README.md), [how a claim is judged](../claims.md).\n\n", strings.TrimRight(cellText(s.Title), "."))
	fmt.Fprintf(&page, "To repeat it: `%s`.\n\n", s.Command)
	if s.Run == "" {
		page.WriteString("**Not run on the reference machine yet.**\n\n")
	} else {
		fmt.Fprintf(&page, "Run on %s, profile %s, %s, on %s, by tare %s.\n\n", wording.Time(s.Started), s.Profile, wording.Count(run.Trials.OK, "valid trial", "valid trials"), s.Machine, run.Tare.Version)
	}
	page.Write(section.Bytes())
	if open > 0 {
		fmt.Fprintf(&page, "This run cannot tell %s of the study. The report has each with its reason: too few blocks, a value that the generator limits, or a mode that the machine does not\nsupport.\n\n", wording.Count(open, "further claim", "further claims"))
	}
	if s.Run != "" {
		dir := "runs/" + s.Study
		fmt.Fprintf(&page, "## The raw trials\n\nThe run, compressed: [run.json.gz](%s/run.json.gz) and [trials.ndjson.gz](%s/trials.ndjson.gz), beside its [study.yaml](%s/study.yaml). To read it as\nany run:\n\n", dir, dir, dir)
		fmt.Fprintf(&page, "```\ncp -r docs/claims/%s /tmp && gunzip /tmp/%s/*.gz\ntare report --claims /tmp/%s\n```\n", dir, s.Study, s.Study)
	}
	return strings.TrimRight(page.String(), "\n") + "\n"
}

// The page of a study has what its run found, or says that there is none.
func TestClaimPage(t *testing.T) {
	s := result.StudyClaims{Study: "ports", Title: "Ports", Command: "tare run ports --claims", Claims: []result.Claim{statedClaim()}}
	if text := claimPage(t, s, result.Run{Claims: s.Claims}); !strings.Contains(text, "Not run on the reference machine yet") || !strings.Contains(text, "| Ports cost nothing | somebody, 2016 | 0.992 | - | not run |") || strings.Contains(text, "runs/ports") {
		t.Errorf("not run:\n%s", text)
	}
	f := found(result.ClaimHolds, "it is so")
	f.Differs = []string{"another kernel"}
	s.Run, s.Started, s.Profile, s.Machine, s.Claims = "x/ports", time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC), "standard", "kernel 6.18, Some CPU", []result.Claim{f}
	undecided := found(result.ClaimCannotTell, "too few blocks")
	undecided.Claim = "Ports cost much"
	s.Claims = append(s.Claims, undecided)
	text := claimPage(t, s, result.Run{Claims: s.Claims, Trials: result.Tally{OK: 40}, Tare: result.Build{Version: "1.0"}})
	must.Contain(t, text, "Run on 2026-08-01 12:00:00 UTC, profile standard, 40 valid trials, on kernel 6.18, Some CPU, by tare 1.0.", "0.90 (0.88-0.92) | holds; it is so |", "- **Ports cost nothing:** Another kernel.", "[trials.ndjson.gz](runs/ports/trials.ndjson.gz)")
	must.Contain(t, text, "cannot tell 1 further claim of the study")
	must.True(t, !strings.Contains(text, undecided.Claim), "the page has a claim that is not decided:\n%s", text)
	must.Contain(t, galleryPage([]result.StudyClaims{s}), "| [ports](ports.md) | Ports | 1 | 0 | 1 |")
}
