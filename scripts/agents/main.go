// Command agents builds the program of an agent for each of the systems that its arguments name,
// such as linux/amd64, and writes it where tare's build takes it from, with the identity of the
// sources. `make build` runs it in the root of the sources. What has not changed is not written.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"tare/internal/program/agentfile"
)

// into is the directory of the package that embeds what is written.
const into = "internal/program/agentfile"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "agents:", err)
		os.Exit(1)
	}
}

func run(systems []string) error {
	id, err := identify(os.DirFS("."))
	if err == nil {
		err = store(filepath.Join(into, "id.txt"), []byte(id+"\n"))
	}
	if err != nil {
		return err
	}
	for _, s := range systems {
		goos, arch, ok := strings.Cut(s, "/")
		switch {
		case !ok:
			return fmt.Errorf("%q is not a system, such as linux/amd64", s)
		case goos != "linux":
			continue // tare itself is the agent there
		}
		if err := build(arch); err != nil {
			return fmt.Errorf("build the agent for %s: %w", s, err)
		}
	}
	return nil
}

// identify returns the identity of the sources: it is the same for every system and every
// directory, and differs if any file does that is not only for tests.
func identify(sources fs.FS) (string, error) {
	sum := sha256.New()
	for _, top := range []string{"go.mod", "go.sum", "cmd", "internal", "studies"} {
		err := fs.WalkDir(sources, top, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if e.IsDir() {
				if e.Name() == "testdata" {
					return fs.SkipDir
				}
				return nil
			}
			if strings.HasSuffix(path, "_test.go") || isGenerated(path) || !e.Type().IsRegular() {
				return nil
			}
			text, err := fs.ReadFile(sources, path)
			sum.Write(fmt.Appendf(nil, "%s %d\n", path, len(text)))
			sum.Write(text)
			return err
		})
		if err != nil {
			return "", fmt.Errorf("identify the sources: %w", err)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))[:16], nil
}

// isGenerated reports whether this program writes a file.
func isGenerated(path string) bool {
	dir, file := filepath.Split(path)
	return filepath.Clean(dir) == into && !strings.HasSuffix(file, ".go")
}

// build writes the agent for Linux on an architecture.
func build(arch string) error {
	dir, err := os.MkdirTemp("", "tare-agents-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "agent")
	c := exec.CommandContext(context.Background(), "go", "build", "-trimpath", "-buildvcs=false", "-tags", "buildid", "-ldflags", "-s -w", "-o", program, "./cmd/tare-agent")
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
	c.Stderr = os.Stderr
	if err := c.Run(); err != nil {
		return err
	}
	content, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	if len(content) > agentfile.MaxSize {
		return fmt.Errorf("it has %d bytes, more than %d; `go list -deps ./cmd/tare-agent` lists what it links", len(content), agentfile.MaxSize)
	}
	path := filepath.Join(into, "linux_"+arch+".gz")
	if unchanged(path, content) {
		return nil
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	_, err = w.Write(content)
	if err := errors.Join(err, w.Close()); err != nil {
		return err
	}
	return store(path, packed.Bytes())
}

// unchanged reports whether a gzip file has a content.
func unchanged(path string, content []byte) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		return false
	}
	old, err := io.ReadAll(r)
	return err == nil && bytes.Equal(old, content)
}

// store writes a file unless it has that content. A build beside this one sees the whole file.
func store(path string, content []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Chmod(f.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
