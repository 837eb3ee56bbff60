//go:build linux

package cli_test

import (
	"bytes"
	"compress/gzip"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/cli"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/testkit/must"
)

var update = flag.Bool("update", false, "write the golden files")

// recordedBy is the version of the program that recorded them.
const recordedBy = "6d41c4cd"

// recordedRuns has short runs of every driver, as tare 6d41c4cd wrote them but for the paths of that machine, with all
// lines of their trials, compressed: what docs/recorded has is less. Beside them are the golden files of the test.
const recordedRuns = "testdata/recorded"

// What an earlier tare recorded of each driver is rendered to the byte as it was then, and its trials are judged alike.
func TestRecordedRuns(t *testing.T) {
	golden := must.Get(filepath.Abs(recordedRuns))(t)
	dirs := must.Get(os.ReadDir(recordedRuns))(t)
	t.Chdir(t.TempDir()) // a report names its directory as the command line does
	for _, d := range dirs {
		t.Run(d.Name(), func(t *testing.T) {
			t.Parallel()
			name, golden := d.Name(), filepath.Join(golden, d.Name())
			if _, err := os.Stat(filepath.Join(golden, "numbers.csv")); err == nil {
				judgesRecorded(t, golden, name)
				return
			}
			unpackRecorded(t, golden, name)
			must.File(t, filepath.Join(golden, "report.txt"), printedBy(t, "report", name), *update)
			packedFile(t, filepath.Join(golden, store.TextFile), filepath.Join(name, store.TextFile))
			if _, err := os.Stat(filepath.Join(name, store.RunFile)); err == nil {
				judgedAlike(t, name, store.SessionsFile)
			}
		})
	}
}

// judgesRecorded compares what tare judge prints of numbers with golden files.
func judgesRecorded(t *testing.T, golden, name string) {
	t.Helper()
	numbers, text := name+".csv", name+".md"
	must.Do(t, os.WriteFile(numbers, must.Get(os.ReadFile(filepath.Join(golden, "numbers.csv")))(t), 0o600))
	out := printedBy(t, "judge", "--md", text, numbers)
	must.File(t, filepath.Join(golden, "report.txt"), out, *update)
	packedFile(t, filepath.Join(golden, store.TextFile), text)
}

// unpackRecorded makes the directory of a recorded run as tare writes it.
func unpackRecorded(t *testing.T, from, to string) {
	t.Helper()
	must.Do(t, os.Mkdir(to, 0o700))
	must.Do(t, os.WriteFile(filepath.Join(to, store.StudyFile), must.Get(os.ReadFile(filepath.Join(from, store.StudyFile)))(t), 0o600))
	for _, name := range []string{store.RunFile, store.TrialsFile, store.SessionsFile} {
		if _, err := os.Stat(filepath.Join(from, name+".gz")); err == nil { // a run that was killed has no run.json
			must.Do(t, os.WriteFile(filepath.Join(to, name), unpacked(t, filepath.Join(from, name)), 0o600))
		}
	}
}

// packedFile is must.File for a golden file that is compressed, and what it got in a file.
func packedFile(t *testing.T, golden, got string) {
	t.Helper()
	text := must.Get(os.ReadFile(got))(t)
	if *update {
		var packed bytes.Buffer
		z := must.Get(gzip.NewWriterLevel(&packed, gzip.BestCompression))(t)
		must.Do(t, must.Err(z.Write(text)), z.Close(), os.WriteFile(golden+".gz", packed.Bytes(), 0o644))
	}
	must.EqualFor(t, golden, string(unpacked(t, golden)), string(text))
}

// unpacked is the content of a file that is kept compressed.
func unpacked(t *testing.T, file string) []byte {
	t.Helper()
	packed := must.Get(os.ReadFile(file + ".gz"))(t)
	return must.Get(io.ReadAll(must.Get(gzip.NewReader(bytes.NewReader(packed)))(t)))(t)
}

// printedBy is what tare prints on stdout.
func printedBy(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	app := cli.New(result.Build{Version: recordedBy, Commit: recordedBy}) // tare judge names the program
	app.Stdout, app.Stderr = &out, &errs
	if code := app.Main(t.Context(), args); code != 0 {
		t.Fatalf("tare %s ends with %d: %s%s", strings.Join(args, " "), code, &out, &errs)
	}
	return out.String()
}
