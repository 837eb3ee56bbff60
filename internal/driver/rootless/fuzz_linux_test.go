package rootless

import (
	"strings"
	"testing"
)

// FuzzIdentify checks that any output of slirp4netns or pasta is an error or a version that is
// part of the output.
func FuzzIdentify(f *testing.F) {
	f.Add("slirp4netns version 1.2.0\ncommit: 656041d45cfca7a4176f6b7eed9e4fe6c11e8383\nlibslirp: 4.7.0\n")
	f.Add("slirp4netns version 1.2\x1b[31m\nlibslirp: 4\x1b[31m\n")
	f.Add("slirp4netns version 0.3.9")
	f.Add("pasta 0.0~git20230309.7c7625d-1\nCopyright Red Hat\n")
	f.Add("pasta " + strings.Repeat("\u00e9", 100))
	f.Fuzz(func(t *testing.T, said string) {
		if v, err := (slirp4netns{}).identify(said); err == nil {
			version, library, _ := strings.Cut(v, ", libslirp ")
			if version == "" || strings.ContainsAny(v, "\n\x1b") || !strings.Contains(said, version) || !strings.Contains(said, library) {
				t.Errorf("%q is version %q of slirp4netns", said, v)
			}
		}
		if v, err := (passt{}).identify(said); err == nil && (v == "" || len(v) > 80 || strings.Contains(v, "\n") || firstLine(said) != "pasta "+v) {
			t.Errorf("%q is version %q of pasta", said, v)
		}
	})
}
