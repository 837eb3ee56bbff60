package tare_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

var (
	fenced  = regexp.MustCompile("(?ms)^```.*?^```")
	coded   = regexp.MustCompile("`[^`\n]+`")
	linked  = regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	mark    = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
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
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		a := strings.ReplaceAll(mark.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")
		out = append(out, a)
	}
	return out
}

// pages returns the Markdown pages below bench and docs and beside README.md, by path.
func pages(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	for _, dir := range []string{".", "bench", "docs"} {
		must.Do(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if dir == "." && path != dir && e.IsDir() {
				return fs.SkipDir
			}
			if err != nil || filepath.Ext(path) != ".md" {
				return err
			}
			text, err := os.ReadFile(path)
			pages[path] = string(text)
			return err
		}))
	}
	return pages
}

// Every link within the repository leads to a file, and to a heading where it names one. Every page of docs is
// linked from another one.
func TestLinks(t *testing.T) {
	pages := pages(t)
	n, linkedTo, headings := 0, map[string]bool{}, map[string][]string{}
	for path, text := range pages {
		headings[path] = anchors(text)
	}
	for path, text := range pages {
		for _, to := range links(text) {
			n++
			file, anchor, _ := strings.Cut(to, "#")
			target := path
			if file != "" {
				target = filepath.Join(filepath.Dir(path), file)
			}
			if target != path {
				linkedTo[target] = true
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which does not exist", path, to)
				continue
			}
			must.True(t, anchor == "" || slices.Contains(headings[target], anchor), "%s links to %s, and %s has no such heading", path, to, target)
		}
	}
	for path := range pages {
		must.True(t, !strings.HasPrefix(path, "docs/") || linkedTo[path], "no page links to %s", path)
	}
	must.True(t, n >= 300, "only %d links were found", n)
}
