package studyfile_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/cli"
	"tare/internal/result"
)

// The committed schema is the one that the program's own registries give.
func TestSchema(t *testing.T) {
	const path = "../../../docs/study.schema.json"
	want, err := makeSchema(cli.New(result.Build{}).Catalog())
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is not up to date; run make schema (-want +committed):\n%s", path, diff)
	}
}
