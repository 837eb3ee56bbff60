package tare_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Names and sentences use the terms of the field, so that a stranger can guess and search
// for them. These words were once used here in a sense of their own.
func TestPlainLanguage(t *testing.T) {
	banned := []struct {
		words *regexp.Regexp
		term  string // what to write instead
	}{
		{regexp.MustCompile(`(?i)\bweigh(s|ed|ing)?\b`), "measure"},
		{regexp.MustCompile(`(?i)\bmend(s|ed|ing)?\b`), "fix"},
		{regexp.MustCompile(`(?i)\bdear(er|est)?\b`), "expensive"},
		{regexp.MustCompile(`(?i)\b(booked|books)\b`), "attributed to, attributes"},
		{regexp.MustCompile(`(?i)\b((the|CPU) bill|billed)\b`), "CPU cost"},
		{regexp.MustCompile(`(?i)\bboth ends\b|\bthe ends\b`), "client and server, or endpoints"},
		{regexp.MustCompile(`(?i)\bstood\b|\bis to stand\b|\bmade to stand\b`), "is up, is set up"},
		{regexp.MustCompile(`(?i)\banew\b`), "again; made anew: recreated"},
		{regexp.MustCompile(`(?i)\bvoid comes out\b|\bcomes? out void\b`), "is reported as void"},
		{regexp.MustCompile(`(?i)\btakes so long\b`), "takes N s"},
		{regexp.MustCompile(`(?i)\bis asked of\b`), "is required"},
		{regexp.MustCompile(`(?i)\bsays? nothing of\b`), "does not tell"},
		{regexp.MustCompile(`(?i)\ba figure of\b|\b(main|all|these|those|its|no) figures\b`), "value, metric"},
		{regexp.MustCompile(`(?i)\bin turns\b`), "interleaved"},
		{regexp.MustCompile(`(?i)\bwithout glass\b|\bown weather\b`), "in memory, background load"},
		{regexp.MustCompile(`(?i)\bnobody shall\b|\bmay not be read\b`), "prevents, lacks permission to read"},
		{regexp.MustCompile(`(?i)\bsaid no hello\b`), "the handshake timed out"},
		{regexp.MustCompile(`(?i)\btwins\b`), "verification"},
	}
	exempt := []string{
		"language_test.go",
		"internal/browser/testdata/",               // recorded runs of older versions, and a library
		"internal/cli/testdata/script/usage.txtar", // an unknown command
	}
	read := 0
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		for _, x := range exempt {
			if strings.HasPrefix(filepath.ToSlash(path)+"/", strings.TrimSuffix(x, "/")+"/") {
				if e.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
		}
		if e.IsDir() {
			if path == ".git" || path == ".cache" || path == "bin" || path == "dist" {
				return fs.SkipDir
			}
			return nil
		}
		switch filepath.Ext(path) {
		case ".go", ".md", ".yaml", ".yml", ".c", ".h", ".js", ".css", ".html", ".1", ".txtar", "":
		default:
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		read++
		for i, line := range bytes.Split(text, []byte("\n")) {
			for _, b := range banned {
				if w := b.words.Find(line); w != nil {
					t.Errorf("%s:%d: instead of %q write: %s", path, i+1, w, b.term)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if read < 1000 {
		t.Errorf("read %d files, expected more than 1000", read)
	}
}
