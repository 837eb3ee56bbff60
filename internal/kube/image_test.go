package kube_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"tare/internal/kube"
	"tare/internal/testkit/must"
)

// unpack reads a tar archive.
func unpack(t *testing.T, from io.Reader) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for r := tar.NewReader(from); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		must.Do(t, err)
		out[h.Name] = must.Get(io.ReadAll(r))(t)
	}
}

// An archive is complete: from its index, each descriptor leads to a part of that size and digest,
// down to the program.
func TestImageArchive(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	must.Do(t, os.WriteFile(program, bytes.Repeat([]byte("program"), 1000), 0o700))
	write := func() []byte {
		t.Helper()
		var b bytes.Buffer
		must.Do(t, kube.WriteImage(&b, "localhost/x:1", "arm64", program, "/bin/x"))
		return b.Bytes()
	}
	archive := write()
	if !bytes.Equal(archive, write()) {
		t.Error("the same program made another archive")
	}
	files := unpack(t, bytes.NewReader(archive))
	part := func(d ocispec.Descriptor, into any) []byte {
		t.Helper()
		raw := files["blobs/sha256/"+d.Digest.Encoded()]
		if int64(len(raw)) != d.Size || digest.FromBytes(raw) != d.Digest {
			t.Fatalf("%s: %d bytes with digest %s", d.Digest, len(raw), digest.FromBytes(raw))
		}
		if into != nil {
			must.Do(t, json.Unmarshal(raw, into))
		}
		return raw
	}
	var index ocispec.Index
	if err := json.Unmarshal(files["index.json"], &index); err != nil || len(index.Manifests) != 1 {
		t.Fatalf("%s: %v", files["index.json"], err)
	}
	if got := index.Manifests[0]; got.Platform.Architecture != "arm64" || got.Annotations["io.containerd.image.name"] != "localhost/x:1" {
		t.Errorf("the index names %+v", got)
	}
	var manifest ocispec.Manifest
	part(index.Manifests[0], &manifest)
	var config ocispec.Image
	part(manifest.Config, &config)
	if config.Architecture != "arm64" || len(config.Config.Entrypoint) != 1 || config.Config.Entrypoint[0] != "/bin/x" || config.RootFS.DiffIDs[0] != manifest.Layers[0].Digest {
		t.Errorf("configuration %+v", config)
	}
	layer := unpack(t, bytes.NewReader(part(manifest.Layers[0], nil)))
	if want, _ := os.ReadFile(program); !bytes.Equal(layer["bin/x"], want) || len(layer) != 2 {
		t.Errorf("the layer has %d files", len(layer))
	}
	must.Contain(t, string(files["oci-layout"]), "1.0.0")
	must.FailFor(t, "an image of no program was written", kube.WriteImage(io.Discard, "x", "amd64", filepath.Join(t.TempDir(), "none"), "/x"))
}
