package engine_test

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"tare/internal/engine"
	"tare/internal/engine/locate"
	"tare/internal/runid"
	"tare/internal/testkit/must"
)

// user returns a client of the bench's engine without tare.
func (b bench) user(t *testing.T) *client.Client {
	t.Helper()
	c := must.Get(client.New(client.WithHost("unix://" + b.Socket())))(t)
	t.Cleanup(func() { c.Close() })
	return c
}

// objects returns the ids and names of everything on an engine.
func objects(t *testing.T, c *client.Client) (out []string) {
	t.Helper()
	containers := must.Get(c.ContainerList(t.Context(), client.ContainerListOptions{All: true}))(t)
	for _, x := range containers.Items {
		out = append(out, "container "+x.ID+" "+strings.Join(x.Names, " ")+" "+string(x.State))
	}
	networks := must.Get(c.NetworkList(t.Context(), client.NetworkListOptions{}))(t)
	for _, x := range networks.Items {
		out = append(out, "network "+x.ID+" "+x.Name)
	}
	images := must.Get(c.ImageList(t.Context(), client.ImageListOptions{All: true}))(t)
	for _, x := range images.Items {
		slices.Sort(x.RepoTags)
		out = append(out, "image "+x.ID+" "+strings.Join(x.RepoTags, " "))
	}
	slices.Sort(out)
	return out
}

// Runs share an image, each with its own tag on it. What dead runs leave is removed, and nothing of
// the user or of a live run.
func TestLeftovers(t *testing.T) {
	b := newBench(t)
	c := b.user(t)
	ctx := t.Context()

	const dead, alive, later = "00000001", "00000002", "00000003"
	ids := map[string]string{}
	for _, run := range []string{dead, alive} {
		id, err := b.Image(ctx, run)
		must.True(t, err == nil, "%v", err)
		ids[run] = id
	}
	must.True(t, ids[dead] != "" && ids[alive] == ids[dead], "two runs have images %v of the same content", ids)
	found, err := c.ImageInspect(ctx, ids[dead])
	must.Do(t, err)
	if got := found.Config.Labels; got["org.opencontainers.image.title"] != "tare" || got[engine.LabelPart] != "image" || got[engine.LabelRun] == "" {
		t.Errorf("the image's labels: %v", got)
	}

	// What the user has: an image, containers of both images, a network.
	var file bytes.Buffer
	w := tar.NewWriter(&file)
	must.Do(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "theirs", Mode: 0o755}))
	w.Close()
	reply := must.Get(c.ImageImport(ctx, client.ImageImportSource{Source: &file, SourceName: "-"}, "theirs", client.ImageImportOptions{Tag: "tare"}))(t)
	must.Get(io.Copy(io.Discard, reply))(t)
	reply.Close()
	must.Get(c.ImageTag(ctx, client.ImageTagOptions{Source: ids[dead], Target: "my/tare:mine-too"}))(t)
	for name, image := range map[string]string{"tare-theirs": "theirs:tare", "tare-00000001-theirs": ids[dead]} {
		must.Get(c.ContainerCreate(ctx, client.ContainerCreateOptions{Name: name, Config: &container.Config{Image: image, Cmd: []string{"/theirs"}}}))(t)
	}
	must.Get(c.NetworkCreate(ctx, "tare-00000001-net", client.NetworkCreateOptions{}))(t)

	// What the runs have.
	make := func(run string) {
		n := b.network(t, engine.NetworkSpec{Run: run, Name: engine.Name(run, "network")})
		b.Container(t, engine.ContainerSpec{Run: run, Part: "client", Name: engine.Name(run, "client"), Network: n.Name})
	}
	make(alive)
	before := objects(t, c)
	make(dead)
	before = slices.DeleteFunc(before, func(s string) bool { return strings.HasPrefix(s, "image "+ids[dead]) })

	left := must.Get(b.Leftovers(ctx, runid.Claims{{Run: alive}}))(t)
	var what []string
	for _, l := range left {
		word, _, _ := strings.Cut(l.What, " ")
		what = append(what, word+" of "+l.Run)
		for range 2 { // idempotent
			if err := l.Remove(ctx); err != nil {
				t.Error(err)
			}
		}
	}
	want := []string{"container of " + dead, "network of " + dead, "image of " + dead}
	must.Equal(t, want, what)
	after := slices.DeleteFunc(objects(t, c), func(s string) bool { return strings.HasPrefix(s, "image "+ids[dead]) })
	must.Equal(t, before, after)
	found, err = c.ImageInspect(ctx, ids[dead])
	slices.Sort(found.RepoTags)
	must.True(t, err == nil && len(found.RepoTags) == 2 && found.RepoTags[0] == "my/tare:mine-too" && strings.HasSuffix(found.RepoTags[1], "-"+alive),
		"the image has tags %v: %v", found.RepoTags, err)

	// A run that ends normally removes its tag.
	must.Do(t, b.RemoveRun(ctx, alive))
	must.EqualFor(t, "after its end", 0, len(must.Get(b.Leftovers(ctx, nil))(must.Named(t, "after its end"))))

	// An image that was removed is created again.
	make(later)
	must.Do(t, b.RemoveRun(ctx, later))
	id := must.Get(b.Image(ctx, later))(t)
	for _, x := range []string{"tare-theirs", "tare-00000001-theirs"} {
		must.Get(c.ContainerRemove(ctx, x, client.ContainerRemoveOptions{}))(t)
	}
	must.Get(c.ImageRemove(ctx, id, client.ImageRemoveOptions{Force: true}))(t)
	make(later)
}

// Two processes that import at once do not interfere.
func TestImageAtOnce(t *testing.T) {
	b := newBench(t)
	runs := []string{"00000001", "00000002"}
	var wg sync.WaitGroup
	for _, run := range runs {
		e := must.Get(locate.Connect(t.Context(), "unix://"+b.Socket()))(t)
		t.Cleanup(func() { must.Do(t, e.Disconnect()) })
		wg.Go(func() {
			c, err := e.Run(t.Context(), engine.ContainerSpec{Run: run, Part: "client", Name: engine.Name(run, "client")})
			if err != nil {
				t.Error(err)
				return
			}
			if s, err := c.State(t.Context()); err != nil || !s.Running {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
	wg.Wait()
	for _, run := range runs {
		if err := b.RemoveRun(t.Context(), run); err != nil {
			t.Error(err)
		}
	}
	for _, x := range objects(t, b.user(t)) {
		must.True(t, strings.HasPrefix(x, "network "), "left: %s", x)
	}
}

// A program that cannot be the only file of an image is refused with what to do.
func TestImageRefused(t *testing.T) {
	b := newBench(t)
	own := must.Get(os.ReadFile("/proc/self/exe"))(t)
	dir := t.TempDir()
	write := func(name string, change func([]byte) []byte) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, change(slices.Clone(own)), 0o700))
		return path
	}
	other := byte(0xf3) // EM_RISCV, unlike any test machine
	for path, want := range map[string]string{
		"/bin/ls": "CGO_ENABLED=0",
		write("other", func(b []byte) []byte { b[18] = other; return b }):                 "is for linux/riscv64 and the engine runs linux/" + b.Versions.Arch,
		write("text", func([]byte) []byte { return []byte("#!/bin/sh\n# no program\n") }): "is not a program for Linux",
		filepath.Join(dir, "none"): "no such file",
	} {
		b.Binary = path
		must.Fail(t, must.Err(b.Image(t.Context(), b.ID)), want, path)
	}
	arch := b.Versions.Arch
	b.Binary, b.Versions.Arch = "", "riscv64"
	must.FailFor(t, "an engine of another architecture", must.Err(b.Image(t.Context(), b.ID)), engine.BinaryVariable, "tare-linux-riscv64")

	// A cancelled import leaves nothing.
	b.Binary, b.Versions.Arch = "", arch
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	must.FailFor(t, "a cancelled import returned an image", must.Err(b.Image(ctx, b.ID)))
	must.EqualFor(t, "left", 0, len(must.Get(b.Leftovers(t.Context(), nil))(must.Named(t, "left"))))
}
