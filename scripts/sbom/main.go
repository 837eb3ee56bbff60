// Command sbom lists what is linked into a Go program, from the program's own build
// information:
//
//	go run ./scripts/sbom PROGRAM DOCUMENT DATE
//
// The document is SPDX 2.3 as JSON. DATE is the time of the program's commit, RFC 3339,
// so that the same program gives the same document.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"time"
)

type document struct {
	Version   string       `json:"spdxVersion"`
	License   string       `json:"dataLicense"`
	ID        string       `json:"SPDXID"`
	Name      string       `json:"name"`
	Namespace string       `json:"documentNamespace"`
	Creation  creation     `json:"creationInfo"`
	Packages  []pkg        `json:"packages"`
	Relations []connection `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

// pkg is a package in SPDX's sense: the program, Go, or a module.
type pkg struct {
	Name      string     `json:"name"`
	ID        string     `json:"SPDXID"`
	Version   string     `json:"versionInfo,omitempty"`
	File      string     `json:"packageFileName,omitempty"`
	Location  string     `json:"downloadLocation"`
	Analyzed  bool       `json:"filesAnalyzed"`
	Concluded string     `json:"licenseConcluded"`
	Declared  string     `json:"licenseDeclared"`
	Copyright string     `json:"copyrightText"`
	Comment   string     `json:"comment,omitempty"`
	Checksums []checksum `json:"checksums,omitempty"`
	Refs      []ref      `json:"externalRefs,omitempty"`
}

type checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type ref struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type connection struct {
	From string `json:"spdxElementId"`
	Type string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "sbom: want a program, the document to write and a date")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintf(os.Stderr, "sbom: list what is linked into %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}

func write(program, to, date string) error {
	made, err := time.Parse(time.RFC3339, date)
	if err != nil {
		return err
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	text, err := json.MarshalIndent(list(info, filepath.Base(program), hex.EncodeToString(sum[:]), made), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(to, append(text, '\n'), 0o644)
}

// list is the document for a program with a name and a SHA-256. It does not determine
// licences: releases contain their texts.
func list(info *debug.BuildInfo, name, sum string, made time.Time) document {
	const root = "SPDXRef-program"
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	system := settings["GOOS"] + "/" + settings["GOARCH"]
	d := document{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: name + " for " + system,
		Namespace: "urn:sha256:" + sum, Creation: creation{made.UTC().Format(time.RFC3339), []string{"Tool: tare-sbom"}},
	}
	d.Relations = append(d.Relations, connection{d.ID, "DESCRIBES", root})
	add := func(p pkg) {
		p.Location, p.Concluded, p.Copyright = "NOASSERTION", "NOASSERTION", "NOASSERTION"
		if p.Declared == "" {
			p.Declared = "NOASSERTION"
		}
		d.Packages = append(d.Packages, p)
		if p.ID != root {
			d.Relations = append(d.Relations, connection{root, "CONTAINS", p.ID})
		}
	}
	add(pkg{Name: info.Main.Path, ID: root, File: name, Declared: "Apache-2.0", Checksums: []checksum{{"SHA256", sum}}, Comment: "built for " + system})
	add(module("stdlib", strings.TrimPrefix(info.GoVersion, "go"), ""))
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		add(module(m.Path, m.Version, m.Sum))
	}
	return d
}

// module is a Go module at a version, with its checksum from go.sum.
func module(path, version, sum string) pkg {
	p := pkg{
		Name: path, Version: version, ID: "SPDXRef-" + regexp.MustCompile(`[^A-Za-z0-9.]+`).ReplaceAllString(path+"-"+version, "-"),
		Refs: []ref{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")}},
	}
	if sum != "" {
		p.Comment = "go.sum " + sum
	}
	return p
}
