package study_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"tare/internal/study"
)

// TestDocs holds docs/study.md against the code: a row for every key with its
// bounds, the profiles' figures, and examples that work.
func TestDocs(t *testing.T) {
	raw, err := os.ReadFile("../../docs/study.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	row := func(key string) string {
		return strings.Join(regexp.MustCompile("(?m)^\\| (?:`[a-z_]+`, )?`"+key+"`(?:, `[a-z_]+`)? \\|.*$").FindAllString(page, -1), "\n")
	}
	for key, texts := range study.Documented() {
		if row(key) == "" {
			t.Errorf("no row for %s", key)
		}
		for _, text := range texts {
			if !strings.Contains(row(key), text) {
				t.Errorf("the row of %s does not have %q: %s", key, text, row(key))
			}
		}
	}

	examples := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(page, -1)
	if len(examples) < 3 {
		t.Errorf("only %d examples", len(examples))
	}
	for _, e := range examples {
		s, err := study.Decode("study.md", []byte(e[1]), sample())
		if err == nil {
			_, err = study.Resolve(s, sample())
		}
		if err != nil {
			t.Errorf("%v\n%s", err, e[1])
		}
	}

	rows := []string{"blocks", "min_blocks", "width", "extra_blocks", "pilot", "renew", "margin", "settle"}
	cells := map[string]string{}
	for _, p := range study.Profiles() {
		s, err := study.Resolve(study.Study{Profile: p, Modes: study.ModesOf("host"), Workloads: []study.Workload{{Kind: "tcp_rr"}}}, sample())
		if err != nil {
			t.Fatal(err)
		}
		value := map[string]string{}
		for line := range strings.Lines(marshal(t, s)) {
			key, x, _ := strings.Cut(strings.TrimSpace(line), ": ")
			value[key] = x
		}
		for _, key := range rows {
			x, ok := value[key]
			if !ok {
				x = "-"
			}
			cells[key] += " " + x + " |"
		}
	}
	for _, key := range rows {
		if want := "| `" + key + "` |" + cells[key]; !strings.Contains(page, want+"\n") {
			t.Errorf("the table of profiles has no row %q", want)
		}
	}
}
