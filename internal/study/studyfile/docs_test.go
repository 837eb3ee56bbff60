package studyfile_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"tare/internal/study"
	"tare/internal/study/studyfile"
	"tare/internal/testkit/must"
	"tare/internal/testkit/studytest"
)

// TestDocs holds the pages about studies against the code: the profiles' figures, and examples that work. The page of
// the keys is generated.
func TestDocs(t *testing.T) {
	page := string(must.Get(os.ReadFile("../../../docs/study.md"))(t))
	claims := string(must.Get(os.ReadFile("../../../docs/study-claims.md"))(t))
	examples := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(page+claims, -1)
	must.True(t, len(examples) >= 10, "only %d examples", len(examples))
	for _, e := range examples {
		s, err := studyfile.Decode("study.md", []byte(e[1]), studytest.Catalog())
		if err == nil {
			_, err = study.Resolve(s, studytest.Catalog())
		}
		must.True(t, err == nil, "%v\n%s", err, e[1])
	}

	rows := []string{"blocks", "min_blocks", "width", "extra_blocks", "pilot", "renew", "margin", "settle"}
	cells := map[string]string{}
	for _, p := range study.Profiles() {
		s := must.Get(study.Resolve(study.Study{Profile: p, Modes: study.ModesOf("host"), Workloads: []study.Workload{{Kind: "tcp_rr"}}}, studytest.Catalog()))(t)
		value := map[string]string{}
		text := must.Get(studyfile.Marshal(s))(t)
		for line := range strings.Lines(string(text)) {
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
		want := "| `" + key + "` |" + cells[key]
		must.True(t, strings.Contains(page, want+"\n"), "the table of profiles has no row %q", want)
	}
}
