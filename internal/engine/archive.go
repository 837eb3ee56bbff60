package engine

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"strings"
	"time"
)

// layout changes whenever the same program makes another image.
const layout = "tare image 1\n"

// content is the hash of what an image of the program holds.
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

// archive streams the file system of an image: the program, and a place for what
// external generators write. Closing it early ends the stream.
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
	// The same times for the same content, whenever it is packed.
	at := time.Unix(0, 0)
	if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777, ModTime: at}); err != nil {
		return err
	}
	if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: strings.TrimPrefix(program, "/"), Mode: 0o755, Size: size, ModTime: at}); err != nil {
		return err
	}
	if _, err := io.CopyN(t, binary, size); err != nil {
		return err
	}
	return t.Close()
}
