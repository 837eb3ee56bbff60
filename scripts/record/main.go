// Command record puts runs into docs/recorded, from which the samples of the pages are generated:
//
//	bin/tare run docker --out tare-runs/docker
//	go run ./scripts/record tare-runs/docker
//	make drawings
//
// The name below docs/recorded is that of the run's directory, below a directory that -into names.
// Of a run are kept study.yaml and, compressed, run.json and what a report needs of the trials, without their series,
// which are half of them and which no page shows.
// With -cells, only what a history needs. Paths of this machine are shortened to names of files; a
// run that has its host name is refused.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"tare/internal/store"
)

func main() {
	into := flag.String("into", "", "directory below docs/recorded")
	cells := flag.Bool("cells", false, "keep only what a history needs")
	flag.Parse()
	for _, dir := range flag.Args() {
		to := filepath.Join("docs", "recorded", *into, filepath.Base(dir))
		if err := record(dir, to, *cells); err != nil {
			fmt.Fprintf(os.Stderr, "record: %s: %v\n", dir, err)
			os.Exit(1)
		}
	}
}

// record writes what is kept of a run into another directory.
func record(from, to string, cells bool) error {
	d, err := store.Open(from)
	if err != nil {
		return err
	}
	defer d.Close()
	run, trials, err := d.LoadPartial()
	if err != nil {
		return err
	}
	study, err := store.ReadStudy(from)
	if err != nil {
		return err
	}
	if cells {
		if err := store.EachRecord(from, func(store.Summary) bool { return true }, func(r store.Record) error { run = r.Run; return nil }); err != nil {
			return err
		}
	}
	files := map[string][]byte{store.StudyFile: study}
	text, err := json.Marshal(run)
	if err != nil {
		return err
	}
	files[store.RunFile] = text
	var lines bytes.Buffer
	for _, t := range trials {
		t.Series = nil
		if err := json.NewEncoder(&lines).Encode(t); err != nil {
			return err
		}
	}
	if !cells {
		files[store.TrialsFile] = lines.Bytes()
	}
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	size := 0
	for name, text := range files {
		n, err := write(filepath.Join(to, name), text)
		if err != nil {
			return err
		}
		size += n
	}
	fmt.Printf("%s: %d bytes\n", to, size)
	return nil
}

// ownPaths matches the paths of programs and files that belong to this machine, up to the name.
func ownPaths() (*regexp.Regexp, error) {
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	return regexp.Compile(`(?:/root|/home|/tmp|/var/cache|` + regexp.QuoteMeta(filepath.Dir(here)) + `)/[^"\s,;:]*/`)
}

// write writes a file, all but the study compressed, and returns its size.
func write(file string, text []byte) (size int, err error) {
	paths, err := ownPaths()
	if err != nil {
		return 0, err
	}
	text = paths.ReplaceAll(text, nil)
	host, err := os.Hostname()
	if err != nil {
		return 0, err
	}
	if bytes.Contains(text, []byte(`"`+host+`"`)) {
		return 0, fmt.Errorf("%s has the name of this machine, %s", filepath.Base(file), host)
	}
	if filepath.Base(file) != store.StudyFile {
		var packed bytes.Buffer
		z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		if err != nil {
			return 0, err
		}
		_, err = z.Write(text)
		if err := errors.Join(err, z.Close()); err != nil {
			return 0, err
		}
		file, text = file+".gz", packed.Bytes()
	}
	return len(text), errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, text, 0o644))
}
