package tare_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// kinds are the kinds of documentation, with the heading of docs/README.md under which
// pages of that kind are listed.
var kinds = map[string]string{
	"Tutorial":    "## Tutorial",
	"How-to":      "## How-to guides",
	"Reference":   "## Reference",
	"Explanation": "## Explanation",
}

const index = "docs/README.md"

// answers matches the line under the title of a page: its kind and its question.
var answers = regexp.MustCompile(`^\*(\w[\w-]*)\. Answers: [^?]{10,}\?\*$`)

// docsPages returns all Markdown pages under docs, without the index, by path.
func docsPages(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	err := filepath.WalkDir("docs", func(path string, e fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" || path == index {
			return err
		}
		text, err := os.ReadFile(path)
		pages[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 60 {
		t.Fatalf("only %d pages were found under docs", len(pages))
	}
	return pages
}

// kindOf returns the kind that the line under the title gives, or "" if it has not the form.
func kindOf(text string) string {
	lines := strings.SplitN(text, "\n", 4)
	if len(lines) < 4 || !strings.HasPrefix(lines[0], "# ") || lines[1] != "" || len(lines[2]) > 200 {
		return ""
	}
	m := answers.FindStringSubmatch(lines[2])
	if m == nil {
		return ""
	}
	return m[1]
}

// Every page under docs begins with its title, its kind and the question that it answers:
// `*Reference. Answers: what does the mode docker/bridge build, prove and cost?*`.
func TestDocsSayWhatTheyAnswer(t *testing.T) {
	for path, text := range docsPages(t) {
		if _, ok := kinds[kindOf(text)]; !ok {
			t.Errorf("%s: the line under the title is not of the form `*KIND. Answers: QUESTION?*`, in one line of at most 200 characters", path)
		}
	}
}

// The index lists every page under the heading of its kind. Modes and workloads have lists
// of their own there.
func TestDocsIndexListsPagesByKind(t *testing.T) {
	text, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	for path, page := range docsPages(t) {
		heading := kinds[kindOf(page)]
		switch filepath.Dir(path) {
		case "docs/modes":
			heading = "## Modes"
		case "docs/workloads":
			heading = "## Workloads"
		case "docs/settings":
			heading = "## Settings"
		case "docs/claims":
			if path != gallery {
				continue // TestDocsListClaims
			}
		}
		_, section, found := strings.Cut(string(text), heading+"\n")
		if heading == "" || !found {
			continue // TestDocsSayWhatTheyAnswer reports the page
		}
		section, _, _ = strings.Cut(section, "\n## ")
		if name := strings.TrimPrefix(path, "docs/"); !strings.Contains(section, "]("+name+")") {
			t.Errorf("%s does not list %s under %q", index, name, heading)
		}
	}
}

// gallery is the list of the pages of claims.
const gallery = "docs/claims/README.md"

// The page of all claims lists the pages of the studies.
func TestDocsListClaims(t *testing.T) {
	pages := docsPages(t)
	for path := range pages {
		if name, is := strings.CutPrefix(path, "docs/claims/"); is && path != gallery && !strings.Contains(pages[gallery], "]("+name+")") {
			t.Errorf("%s does not list %s", gallery, name)
		}
	}
}

// readmeLines is how long README.md may be: an overview, not a manual.
const readmeLines = 120

func TestReadmeIsShort(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n"); n > readmeLines {
		t.Errorf("README.md has %d lines; at most %d are allowed", n, readmeLines)
	}
}

var (
	fenced  = regexp.MustCompile("(?ms)^```.*?^```")
	coded   = regexp.MustCompile("`[^`\n]+`")
	linked  = regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	named   = regexp.MustCompile(`<a id="([^"]+)"></a>`)
)

// links returns the targets of a page's links within the repository.
func links(text string) (out []string) {
	text = coded.ReplaceAllString(fenced.ReplaceAllString(text, ""), "")
	for _, m := range linked.FindAllStringSubmatch(text, -1) {
		to := m[1] + m[2]
		if !strings.Contains(to, "://") && !strings.HasPrefix(to, "mailto:") {
			out = append(out, to)
		}
	}
	return out
}

// anchors returns the anchors of a page's headings, as GitHub makes them, and those that it
// sets itself.
func anchors(text string) (out []string) {
	for _, m := range named.FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	mark := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		a := strings.ReplaceAll(mark.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")
		out = append(out, a)
	}
	return out
}

// allPages returns the pages of docs, the index and the pages beside README.md.
func allPages(t *testing.T) map[string]string {
	t.Helper()
	pages := docsPages(t)
	for _, path := range []string{index, "README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		pages[path] = string(text)
	}
	return pages
}

// Every link within the repository leads to a file, and to a heading where it names one.
func TestLinks(t *testing.T) {
	pages := allPages(t)
	n := 0
	for path, text := range pages {
		for _, to := range links(text) {
			n++
			file, anchor, _ := strings.Cut(to, "#")
			target := path
			if file != "" {
				target = filepath.Join(filepath.Dir(path), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which does not exist", path, to)
				continue
			}
			if anchor != "" && !slices.Contains(anchors(pages[target]), anchor) {
				t.Errorf("%s links to %s, and %s has no such heading", path, to, target)
			}
		}
	}
	if n < 300 {
		t.Errorf("only %d links were found", n)
	}
}

// Every link of the page of common questions is at most two clicks away from README.md, and
// the page has the five questions that a reader comes with.
func TestAnswersAreTwoClicksAway(t *testing.T) {
	const page = "docs/howto/find-an-answer.md"
	pages := allPages(t)
	if !slices.Contains(links(pages["README.md"]), page) {
		t.Errorf("README.md does not link to %s", page)
	}
	var rows, ways int
	for line := range strings.Lines(pages[page]) {
		if !strings.HasPrefix(line, "| \"") {
			continue
		}
		rows++
		if len(links(line)) > 0 {
			ways++
		}
	}
	if rows < 5 || ways != rows {
		t.Errorf("%s has %d questions, %d of them with a link; want at least 5, each with a link", page, rows, ways)
	}
}
