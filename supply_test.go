package tare_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// copied copies a script into an otherwise empty directory: scripts work in the one above theirs.
func copied(t *testing.T, script string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	text, err := os.ReadFile(script)
	if err == nil {
		err = errors.Join(os.Mkdir(filepath.Join(dir, "scripts"), 0o755), os.WriteFile(filepath.Join(dir, script), text, 0o755))
	}
	must.Do(t, err)
	return dir
}

// A module under a licence that the program cannot have, or under none, fails the list of
// licences.
func TestReleaseLicences(t *testing.T) {
	testneed.NotShort(t) // go list, for each
	const (
		mit  = "MIT License\n\nPermission is hereby granted, free of charge, to any person\nobtaining a copy of this software"
		bsd4 = "Redistribution and use in source and binary forms, with or without modification, are permitted\n3. All advertising materials mentioning features"
	)
	for name, c := range map[string]struct{ file, text, want string }{
		"MIT":           {"LICENSE", mit, ""},
		"Apache":        {"LICENSE.txt", "  Apache License\n  Version 2.0, January 2004", ""},
		"GPL":           {"LICENSE", "GNU GENERAL PUBLIC LICENSE\nVersion 3", "none of Apache-2.0"},
		"both":          {"COPYING", mit + "\nor the GNU Lesser General Public License", "none of Apache-2.0"},
		"BSD of old":    {"LICENSE", bsd4, "none of Apache-2.0"},
		"unknown":       {"LICENSE", "All rights reserved.", "none of Apache-2.0"},
		"notice only":   {"NOTICE", mit, "has no file of its licence"},
		"documentation": {"LICENSE.docs", mit, "has no file of its licence"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := copied(t, "scripts/licences")
			for file, text := range map[string]string{
				"go.mod":            "module m\n\ngo 1.26.0\n\nrequire example.invalid/x v1.0.0\n\nreplace example.invalid/x => ./x\n",
				"cmd/tare/main.go":  "package main\n\nimport _ \"example.invalid/x\"\n\nfunc main() {}\n",
				"x/go.mod":          "module example.invalid/x\n\ngo 1.26.0\n",
				"x/x.go":            "package x\n",
				"x/" + c.file:       c.text,
				"x/LICENSE_test.go": "package x\n",
			} {
				path := filepath.Join(dir, file)
				must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600))
			}
			list := exec.Command(filepath.Join(dir, "scripts/licences"))
			list.Env = append(os.Environ(), "SYSTEMS=linux/amd64", "GOFLAGS=-mod=mod")
			out, err := list.CombinedOutput()
			said := string(out)
			switch {
			case c.want == "" && (err != nil || !strings.Contains(said, "==== example.invalid/x v1.0.0") || !strings.Contains(said, c.text)):
				t.Errorf("%v:\n%.300s", err, said[max(0, len(said)-300):])
			case c.want != "" && (err == nil || !strings.Contains(said, c.want)):
				t.Errorf("%v, want %q:\n%s", err, c.want, said[max(0, len(said)-300):])
			}
		})
	}
}

// What cannot be checked for vulnerabilities is said in one line, and fails except in the inner
// loop; a finding and any other failure always fail.
func TestReleaseVulnerabilities(t *testing.T) {
	const unreachable = `echo 'govulncheck: fetching vulnerabilities: Get "https://x": no such host' >&2; exit 1`
	for name, c := range map[string]struct {
		program, argument, want string
		fails                   bool
	}{
		"none found":                       {"echo No vulnerabilities found.", "", "vuln: linux/arm64 checked", false},
		"found":                            {"echo GO-2026-0001; exit 3", "--offline-ok", "can reach the vulnerabilities above", true},
		"unreachable":                      {unreachable, "", "vuln: not checked: ", true},
		"unreachable, in the inner loop":   {unreachable, "--offline-ok", "vuln: not checked: ", false},
		"broken":                           {"echo 'govulncheck: loading packages' >&2; exit 1", "--offline-ok", "govulncheck failed on linux/amd64", true},
		"broken by a signal":               {"kill -9 $$", "--offline-ok", "govulncheck failed on linux/amd64", true},
		"unreachable, in the second round": {`[ $GOARCH = amd64 ] || { ` + unreachable + `; }`, "", "vuln: not checked: ", true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := copied(t, "scripts/vuln")
			program := filepath.Join(dir, "govulncheck")
			must.Do(t, os.WriteFile(program, []byte("#!/bin/sh\n"+c.program+"\n"), 0o755))
			check := exec.Command(filepath.Join(dir, "scripts/vuln"))
			if c.argument != "" {
				check.Args = append(check.Args, c.argument)
			}
			check.Env = append(os.Environ(), "SYSTEMS=linux/amd64 linux/arm64", "GOVULNCHECK="+program)
			out, err := check.CombinedOutput()
			must.True(t, (err != nil) == c.fails && strings.Contains(string(out), c.want), "%v, want %q, failure %v:\n%s", err, c.want, c.fails, out)
			if n := strings.Count(string(out), "not checked"); n > 1 || n == 1 && strings.Count(string(out), "\n") > 2 {
				t.Errorf("that nothing was checked is not one line:\n%s", out)
			}
		})
	}
}
