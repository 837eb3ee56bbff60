package engine

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/client"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"tare/internal/runid"
)

// Program is the path of this program in the image.
const Program = "/tare"

// Repository is the name of the images that this program creates of itself. A tag consists of the
// start of the program's content hash, the id of the machine and the id of the run. The tag keeps
// the image for the run; runs share one image.
const Repository = "tare"

// labelContent has the hash of the program in an image.
const labelContent = "io.tare.content"

// partImage is the role of an image in its run.
const partImage = "image"

// images caches the results of Image.
type images struct {
	mu sync.Mutex
	id map[string]string // by run
}

func (i *images) forget(run string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.id, run)
}

// Image returns the id of an image with this program, tagged for a run. Nothing is pulled: if the
// engine has no image with the same content, the program is imported.
func (e *Engine) Image(ctx context.Context, run string) (string, error) {
	e.images.mu.Lock()
	defer e.images.mu.Unlock()
	if id := e.images.id[run]; id != "" {
		return id, nil
	}
	path, err := e.executable()
	if err != nil {
		return "", fmt.Errorf("create an image for engine %s: %w", e.Name, err)
	}
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("create an image for engine %s: %w", e.Name, err)
	}
	defer file.Close()
	id, err := e.image(ctx, run, file)
	if err != nil {
		return "", err
	}
	if e.images.id == nil {
		e.images.id = map[string]string{}
	}
	e.images.id[run] = id
	return id, nil
}

func (e *Engine) image(ctx context.Context, run string, file *os.File) (string, error) {
	hash, err := content(file)
	if err != nil {
		return "", fmt.Errorf("create an image for engine %s: read %s: %w", e.Name, file.Name(), err)
	}
	tag := tagOf(hash, run)
	found, err := e.api.ImageList(ctx, client.ImageListOptions{Filters: client.Filters{}.Add("label", labelContent+"="+hash)})
	if err != nil {
		return "", e.fail(err, "look for the image of this program")
	}
	for _, i := range found.Items {
		// Another run may be removing the image at this moment; then it is imported after all.
		if _, err := e.api.ImageTag(ctx, client.ImageTagOptions{Source: i.ID, Target: Repository + ":" + tag}); err == nil {
			return i.ID, nil
		}
	}
	return e.load(ctx, run, tag, hash, file)
}

func (e *Engine) load(ctx context.Context, run, tag, hash string, file *os.File) (string, error) {
	tar, err := archive(file)
	if err != nil {
		return "", fmt.Errorf("create an image for engine %s: read %s: %w", e.Name, file.Name(), err)
	}
	stop := context.AfterFunc(ctx, func() { tar.Close() })
	defer stop()
	defer tar.Close()
	// The tag is part of the name, because Podman ignores the option for the tag.
	reply, err := e.api.ImageImport(ctx, client.ImageImportSource{Source: tar, SourceName: "-"}, Repository+":"+tag, client.ImageImportOptions{
		Message:  "tare, imported from the running program",
		Platform: ocispec.Platform{OS: e.Versions.OS, Architecture: e.Versions.Arch},
		Changes: []string{
			"ENTRYPOINT [\"" + Program + "\"]",
			label(LabelRun, run), label(LabelPart, partImage), label(labelContent, hash),
			label("org.opencontainers.image.title", "tare"),
			label("org.opencontainers.image.description", "tare measures the network overhead of containers; this image has only the program"),
		},
	})
	if err != nil {
		return "", e.fail(err, "import the image of this program")
	}
	defer reply.Close()
	text, err := io.ReadAll(reply)
	if err != nil {
		return "", e.fail(err, "import the image of this program")
	}
	if _, refused, ok := strings.Cut(string(text), `"error":"`); ok {
		refused, _, _ = strings.Cut(refused, `"`)
		return "", fmt.Errorf("engine %s: import the image of this program: %s", e.Name, refused)
	}
	got, err := e.api.ImageInspect(ctx, Repository+":"+tag)
	if err != nil {
		return "", e.fail(err, "inspect the image of this program")
	}
	return got.ID, nil
}

// tagOf returns a run's tag of the image with that content.
func tagOf(hash, run string) string { return hash[:12] + "-" + runid.MachineID() + "-" + run }

// imageOwner returns the run of this machine that has tagged the image with that content.
func imageOwner(name, hash string) (run string, ok bool) {
	_, tag, ok := strings.Cut(name, Repository+":")
	if !ok || len(hash) < 12 {
		return "", false
	}
	run, ok = strings.CutPrefix(tag, tagOf(hash, ""))
	if !ok || run == "" {
		return "", false
	}
	return run, true
}

func label(name, value string) string { return fmt.Sprintf("LABEL %s=%q", name, value) }

// layout is changed whenever the same program makes a different image.
const layout = "tare image 1\n"

// content returns the hash of the contents of an image of the program.
func content(binary io.ReadSeeker) (string, error) {
	h := sha256.New()
	h.Write([]byte(layout))
	if _, err := binary.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	if _, err := io.Copy(h, binary); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// archive streams the file system of an image: Program, and /tmp for the output of external
// generators. Closing it early ends the stream.
func archive(file *os.File) (io.ReadCloser, error) {
	st, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	r, w := io.Pipe()
	go func() { w.CloseWithError(pack(tar.NewWriter(w), file, st.Size())) }()
	return r, nil
}

func pack(t *tar.Writer, binary io.Reader, size int64) error {
	// Equal content gets equal times, whenever it is packed.
	at := time.Unix(0, 0)
	if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777, ModTime: at}); err != nil {
		return err
	}
	if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: strings.TrimPrefix(Program, "/"), Mode: 0o755, Size: size, ModTime: at}); err != nil {
		return err
	}
	if _, err := io.CopyN(t, binary, size); err != nil {
		return err
	}
	return t.Close()
}
