package kube

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Program is the path of this program in its image.
const Program = "/tare"

// repository is the name of the image. No registry has it: localhost is never asked for one.
const repository = "localhost/tare"

// OwnImage returns the name of the image with this program. The tag is of its content, so that
// a node never runs another version than the controller.
func OwnImage() (string, error) {
	path, _, err := source()
	if err != nil {
		return "", err
	}
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read this program: %w", err)
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("read this program: %w", err)
	}
	return repository + ":" + hex.EncodeToString(sum.Sum(nil))[:12], nil
}

// SaveImage writes an OCI archive of this program, as ctr images import, podman load, kind load
// image-archive and k3s ctr read it, and returns the image's name.
func SaveImage(to io.Writer) (name string, err error) {
	path, arch, err := source()
	if err != nil {
		return "", err
	}
	if name, err = OwnImage(); err != nil {
		return "", err
	}
	return name, WriteImage(to, name, arch, path, Program)
}

// WriteImage writes an OCI archive of an image with one program and a directory for temporary
// files. The same program makes the same archive.
func WriteImage(to io.Writer, name, arch, program, at string) error {
	file, err := os.Open(program)
	if err != nil {
		return fmt.Errorf("write image %s: %w", name, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("write image %s: %w", name, err)
	}
	// The layer is read twice: its digest is part of what precedes it.
	sum := digest.SHA256.Digester()
	size := &counter{to: sum.Hash()}
	if err := writeLayer(size, file, info.Size(), at); err != nil {
		return fmt.Errorf("write image %s: read %s: %w", name, program, err)
	}
	layer := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageLayer, Digest: sum.Digest(), Size: size.n}
	config, configBlob, err := blob(ocispec.MediaTypeImageConfig, ocispec.Image{
		Platform: ocispec.Platform{OS: "linux", Architecture: arch},
		Config: ocispec.ImageConfig{Entrypoint: []string{at}, Labels: map[string]string{
			"org.opencontainers.image.title":       "tare",
			"org.opencontainers.image.description": "tare measures the network overhead of containers; this image has only the program",
		}},
		RootFS: ocispec.RootFS{Type: "layers", DiffIDs: []digest.Digest{layer.Digest}},
	})
	if err != nil {
		return err
	}
	manifest, manifestBlob, err := blob(ocispec.MediaTypeImageManifest, ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, Config: config, Layers: []ocispec.Descriptor{layer},
	})
	if err != nil {
		return err
	}
	manifest.Platform = &ocispec.Platform{OS: "linux", Architecture: arch}
	manifest.Annotations = map[string]string{ocispec.AnnotationRefName: name, "io.containerd.image.name": name}
	_, index, err := blob(ocispec.MediaTypeImageIndex, ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{manifest}})
	if err != nil {
		return err
	}
	t := tar.NewWriter(to)
	for _, f := range []struct {
		name    string
		content []byte
	}{
		{ocispec.ImageLayoutFile, []byte(`{"imageLayoutVersion":"` + ocispec.ImageLayoutVersion + `"}`)},
		{ocispec.ImageIndexFile, index},
		{blobPath(config.Digest), configBlob},
		{blobPath(manifest.Digest), manifestBlob},
	} {
		if err := t.WriteHeader(header(f.name, int64(len(f.content)), 0o644)); err != nil {
			return fmt.Errorf("write image %s: %w", name, err)
		}
		if _, err := t.Write(f.content); err != nil {
			return fmt.Errorf("write image %s: %w", name, err)
		}
	}
	err = t.WriteHeader(header(blobPath(layer.Digest), layer.Size, 0o644))
	if err == nil {
		err = writeLayer(t, file, info.Size(), at)
	}
	if err == nil {
		err = t.Close()
	}
	if err != nil {
		return fmt.Errorf("write image %s: %w", name, err)
	}
	return nil
}

// counter counts what is written.
type counter struct {
	to io.Writer
	n  int64
}

func (c *counter) Write(b []byte) (int, error) {
	c.n += int64(len(b))
	return c.to.Write(b)
}

func blobPath(d digest.Digest) string {
	return ocispec.ImageBlobsDir + "/" + d.Algorithm().String() + "/" + d.Encoded()
}

// blob returns a part of an image with its descriptor.
func blob(kind string, v any) (ocispec.Descriptor, []byte, error) {
	raw, err := json.Marshal(v)
	return ocispec.Descriptor{MediaType: kind, Digest: digest.FromBytes(raw), Size: int64(len(raw))}, raw, err
}

// header returns the header of a file. Equal content gets equal times, whenever it is packed.
func header(name string, size, mode int64) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: mode, ModTime: time.Unix(0, 0)}
}

// writeLayer writes the file system of the image.
func writeLayer(to io.Writer, program io.ReadSeeker, size int64, at string) error {
	if _, err := program.Seek(0, io.SeekStart); err != nil {
		return err
	}
	t := tar.NewWriter(to)
	tmp := header("tmp/", 0, 0o1777)
	tmp.Typeflag = tar.TypeDir
	if err := t.WriteHeader(tmp); err != nil {
		return err
	}
	if err := t.WriteHeader(header(at[1:], size, 0o755)); err != nil {
		return err
	}
	if _, err := io.CopyN(t, program, size); err != nil {
		return err
	}
	return t.Close()
}
