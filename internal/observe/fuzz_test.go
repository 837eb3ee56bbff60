package observe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

// FuzzParseProcess checks that any line of /proc/PID/stat gives an error or a process whose name
// is that in brackets: a program chooses its own name.
func FuzzParseProcess(f *testing.F) {
	f.Add([]byte("12 (a) S 1 12 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 99 1 1"))
	f.Add([]byte("12 (a) b (c)) R 1 12 12 0 -1 2097152 1 2 3 4 5 6 7 8 20 0 1 0 99 1 1"))
	f.Add([]byte("12 ()) S 1"))
	f.Add([]byte(" ("))
	f.Fuzz(func(t *testing.T, line []byte) {
		p, err := parseProcess(line)
		if err != nil {
			return
		}
		must.True(t, strings.Contains(string(line), "("+p.name+")"), "the name %q is not in %q", p.name, line)
		must.True(t, p.same(p), "%+v is not itself", p)
	})
}

// FuzzControlGroup checks that any content of a control group's files gives an error or counts
// that are numbers of the text.
func FuzzControlGroup(f *testing.F) {
	f.Add([]byte("low 0\nhigh 0\nmax 3\noom 1\noom_kill 1\n"), []byte("7\n"), []byte("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"))
	f.Add([]byte("max\n"), []byte("-1"), []byte("oom_kill x"))
	f.Add([]byte{}, []byte("9223372036854775807"), []byte{})
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, events, failures, control []byte) {
		for _, files := range []map[string][]byte{{"memory.events": events}, {"memory.failcnt": failures, "memory.oom_control": control}} {
			for _, name := range []string{"memory.events", "memory.failcnt", "memory.oom_control"} {
				path := filepath.Join(dir, name)
				text, there := files[name]
				var err error
				if there {
					err = os.WriteFile(path, text, 0o600)
				} else if _, gone := os.Stat(path); gone == nil {
					err = os.Remove(path)
				}
				must.Do(t, err)
			}
			const most = 1 << 53 // the largest that JSON holds exactly
			g, err := readGroup(dir)
			must.True(t, err != nil || g.stalls <= most && g.kills <= most && (!g.noKills || g.kills <= 0), "%+v of %q", g, files)
		}
	})
}
