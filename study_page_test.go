package tare_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
	"tare/internal/traffic/workloads"
	"tare/studies"
)

// docs/study-keys.md has every key of a study as it is declared: what it takes, and what it is.
func TestStudyKeysPage(t *testing.T) {
	var page strings.Builder
	page.WriteString("# Keys of a study\n\n*Reference. Answers: which keys does a study file have, what does each take, and what is it for?*\n\n" +
		"This page is generated from the keys as the program declares them; [study files](study.md) explains how they are used, and has the defaults of the\n" +
		"profiles. `tare workloads NAME` lists the keys of one workload with their defaults.\n")
	keyTables(&page, "The study", new(study.Study).Fields())
	generated(t, "docs/study-keys.md", page.String())
}

// keyTables writes a table of keys, and after it those of the mappings in it.
func keyTables(page *strings.Builder, title string, fields []study.Field) {
	type mapping struct {
		title  string
		fields []study.Field
	}
	var inside []mapping
	fmt.Fprintf(page, "\n## %s\n\n| key | takes | meaning |\n|---|---|---|\n", title)
	for _, f := range fields {
		takes := f.Value.Want(f.Key)
		var keys []study.Field
		switch v := f.Value.(type) {
		case study.Section:
			keys = v.Fields()
		case study.Items:
			keys = v.New()
			takes = "a list of mappings"
			if short, _ := v.Short(); short != "" {
				takes = "a list of mappings, or of values of `" + short + "`"
			}
		}
		if keys != nil {
			at := "`" + f.Key + "`"
			if title != "The study" {
				at = strings.TrimSuffix(title, "`") + "." + f.Key + "`"
			}
			inside = append(inside, mapping{at, keys})
			if _, list := f.Value.(study.Items); !list {
				takes = "a mapping"
			}
			takes += ", [below](#" + strings.ReplaceAll(strings.Trim(at, "`"), ".", "") + ")"
		}
		doc := f.Doc
		if f.Required {
			doc += "; required"
		}
		fmt.Fprintf(page, "| `%s` | %s | %s |\n", f.Key, cell(takes), cell(doc))
	}
	for _, m := range inside {
		keyTables(page, m.title, m.fields)
	}
}

// cell is text for a table of Markdown.
func cell(s string) string { return strings.NewReplacer("|", "\\|", "<", "&lt;").Replace(s) }

// The page of each workload has its keys with their defaults, and its lengths by profile.
func TestWorkloadPages(t *testing.T) {
	for _, w := range workloads.Offered() {
		spec := w.Spec()
		var page strings.Builder
		page.WriteString("| key | default | meaning |\n|---|---|---|\n")
		for _, k := range spec.Described() {
			fmt.Fprintf(&page, "| `%s` | %s | %s |\n", k.Key, k.Default, cell(k.Doc))
		}
		page.WriteString("\n| profile | set by it |\n|---|---|\n")
		for _, profile := range study.Profiles() {
			set := spec.Profiles[profile]
			if l, has := spec.Lengths[profile]; has {
				set.Warmup, set.Duration, set.Slice = quantity.WaitOf(l.Warmup.Std()), l.Duration, l.Slice
			}
			var of []string
			for _, s := range set.Settings() {
				of = append(of, "`"+s.Key+": "+s.Value+"`")
			}
			fmt.Fprintf(&page, "| %s | %s |\n", profile, strings.Join(of, ", "))
		}
		generatedPart(t, "docs/workloads/"+spec.Kind+".md", page.String())
	}
}

// The page about all workloads lists them with what each stands for and its main metric.
func TestWorkloadsPage(t *testing.T) {
	table := "| workload | stands for | measures |\n|---|---|---|\n"
	for _, w := range workloads.Offered() {
		spec := w.Spec()
		metric, known := result.MetricNamed(spec.Metric)
		must.True(t, known, "%s has the metric %q, which is none", spec.Kind, spec.Metric)
		table += fmt.Sprintf("| [%s](%s.md) | %s | %s |\n", spec.Kind, spec.Kind, cell(spec.StandsFor), strings.ToLower(metric.Title))
	}
	generatedPart(t, "docs/workloads/README.md", table)
}

// The page about study files lists the built-in studies by their titles, and says which judge published claims.
func TestStudiesPage(t *testing.T) {
	table := "| study | content | published claims |\n|---|---|---|\n"
	for _, name := range studies.Names() {
		src, _ := studies.Builtin(name)
		title := regexp.MustCompile(`(?m)^title: (.+)$`).FindSubmatch(src)
		if title == nil {
			t.Errorf("the study %s has no title", name)
			continue
		}
		claims := ""
		if bytes.Contains(src, []byte("\nclaims:\n")) {
			claims = "[yes](claims/" + name + ".md)"
		}
		table += fmt.Sprintf("| [%s](../studies/%s.yaml) | %s | %s |\n", name, name, cell(string(title[1])), claims)
	}
	generatedPart(t, "docs/study.md", table)
}
