package tare_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

// A count agrees with its noun in what tests expect to be printed: "1 trial", not "1 trials".
func TestCountsAgree(t *testing.T) {
	wrong := regexp.MustCompile(`(?m)(?:^|[^\w.,])1 (?:modes|workloads|blocks|trials|hosts|metrics|cells|runs|files|rules|claims|warnings|flows|streams|requests|packets|connections|values|queues|peers|lines|groups|steps)\b`)
	read := 0
	must.Do(t, filepath.WalkDir("internal", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(path, "testdata") {
			return err
		}
		switch filepath.Ext(path) {
		case ".txt", ".md", ".txtar", ".golden", ".view", ".plan":
			text := must.Get(os.ReadFile(path))(t)
			for _, found := range wrong.FindAll(text, 3) {
				t.Errorf("%s: %q", path, strings.TrimSpace(string(found)))
			}
			read++
		}
		return nil
	}))
	if read < 50 {
		t.Fatalf("%d files", read)
	}
}
