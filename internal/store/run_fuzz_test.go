package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

// FuzzParseRun checks that any run.json is an error, or a run that is written and read again
// without change.
func FuzzParseRun(f *testing.F) {
	f.Add([]byte(`{"schema":"tare.run/1","id":"0123abcd","status":"complete","modes":[{"id":"host","status":"measured"}],"trials":{"ok":3},"cells":[{"mode":"host","value":1.5}]}`))
	f.Add([]byte(`{"schema":"tare.run/1.9","trials":{"ok":4000000000000000000,"failed":9223372036854775807}}`))
	f.Add([]byte(`{"schema":"tare.run/2"}`))
	f.Add([]byte(`{"schema":"tare.run/1","started":"0000-00-00T00:00:00Z"}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		run, err := parseRun(data)
		if err != nil {
			must.True(t, unreadable(err).Error() != "", "an error without text")
			return
		}
		first, err := json.Marshal(run)
		must.Do(must.Named(t, "cannot be written"), err)
		again, err := parseRun(first)
		must.Require(t, err == nil, "cannot be read back: %v\n%s", err, first)
		if second, err := json.Marshal(again); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%v\n%s\n%s", err, first, second)
		}
	})
}

// FuzzDirectory checks that a run's directory from a stranger is an error on one line that names
// it, or a run with as many trials as it has lines, and that it is listed either way.
func FuzzDirectory(f *testing.F) {
	run := []byte(`{"schema":"tare.run/1","status":"complete","trials":{"ok":2},"modes":[{"id":"m"}]}`)
	f.Add(run, []byte(lineOf(1)+"\n"+lineOf(2)+"\n"))
	f.Add(run, []byte(lineOf(1)))
	f.Add([]byte(`{"schema":"tare.run/1","trials":{"ok":4000000000000000000}}`), []byte(lineOf(1)+"\n"))
	f.Add([]byte(`{`), []byte("\x00\n\n"))
	f.Add([]byte{}, []byte(`{"schema":"tare.trial/9"}`+"\n"))
	top := f.TempDir()
	dir := filepath.Join(top, "run")
	must.Do(f, os.Mkdir(dir, 0o700))
	f.Fuzz(func(t *testing.T, run, trials []byte) {
		must.Do(t, errors.Join(os.WriteFile(filepath.Join(dir, RunFile), run, 0o600), os.WriteFile(filepath.Join(dir, TrialsFile), trials, 0o600)))
		d := must.Get(Open(dir))(t)
		defer d.Close()
		_, all, err := d.Load()
		must.True(t, err == nil || strings.Contains(err.Error(), dir) && !strings.ContainsAny(err.Error(), "\n\r\x1b"), "the error %q", err)
		must.True(t, len(all) <= bytes.Count(trials, []byte("\n"))+1, "%d trials in %d lines", len(all), bytes.Count(trials, []byte("\n")))
		_, some, lean := d.LoadPartial()
		must.True(t, err != nil || lean == nil && len(some) == len(all), "%v: %d of %d trials in part", lean, len(some), len(all))
		found, err := List(top)
		must.True(t, err == nil && len(found) == 1, "%v: %v", err, found)
	})
}
