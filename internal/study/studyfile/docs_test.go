package studyfile_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"tare/internal/must"
	"tare/internal/study"
	"tare/internal/study/studyfile"
	"tare/internal/study/studytest"
)

// TestDocs holds docs/study.md against the code: a row for every key with its
// bounds, the profiles' figures, and examples that work.
func TestDocs(t *testing.T) {
	page := string(must.Get(os.ReadFile("../../../docs/study.md"))(t))
	row := func(key string) string {
		return strings.Join(regexp.MustCompile("(?m)^\\| (?:`[a-z_]+`, )?`"+key+"`(?:, `[a-z_]+`)? \\|.*$").FindAllString(page, -1), "\n")
	}
	for key, texts := range documented() {
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
		s, err := studyfile.Decode("study.md", []byte(e[1]), studytest.Catalog())
		if err == nil {
			_, err = study.Resolve(s, studytest.Catalog())
		}
		if err != nil {
			t.Errorf("%v\n%s", err, e[1])
		}
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
		if want := "| `" + key + "` |" + cells[key]; !strings.Contains(page, want+"\n") {
			t.Errorf("the table of profiles has no row %q", want)
		}
	}
}

// parts lists the keys of all mappings that a study file can have.
func parts() map[string][]study.Field {
	return map[string][]study.Field{
		"Study": new(study.Study).Fields(), "Lab": new(study.Lab).Fields(), "Workload": new(study.Workload).Fields(), "Mode": new(study.Mode).Fields(),
		"Scenario": new(study.Scenario).Fields(), "Comparison": new(study.Comparison).Fields(), "Host": new(study.Host).Fields(),
		"Stop": new(study.Stop).Fields(), "Invalid": new(study.Invalid).Fields(), "Evidence": new(study.Evidence).Fields(),
		"CostPass": new(study.CostPass).Fields(), "Limits": new(study.Limits).Fields(), "Limit": new(study.Limit).Fields(),
	}
}

// documented lists, for each key, the texts that its row of docs/study.md must
// have: the bounds and the allowed names.
func documented() map[string][]string {
	all := map[string][]string{}
	for _, fields := range parts() {
		for _, f := range fields {
			all[f.Key] = append(all[f.Key], "")
			var rule study.Rule
			switch v := f.Value.(type) {
			case study.CountsValue:
				rule = v.One.Rule()
			case study.Plain:
				rule = v.Rule()
			case study.Sequence:
				rule = v.At(0).Rule()
			}
			if rule.Max > 0 {
				all[f.Key] = append(all[f.Key], rule.Span())
			}
			for _, name := range rule.Enum {
				all[f.Key] = append(all[f.Key], "`"+name+"`")
			}
		}
	}
	return all
}
