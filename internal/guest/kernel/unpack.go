package kernel

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// largestModule bounds an uncompressed module in bytes, so that a broken file cannot fill the
// memory. largestWindow is the largest part of a text that zstd refers back to in kernels and their
// modules, which are compressed with zstd -22 --ultra.
const (
	largestModule = 64 << 20
	largestWindow = 128 << 20
)

// unpack decompresses a module; distributions use different formats.
func unpack(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var r io.Reader = bufio.NewReader(f)
	switch filepath.Ext(path) {
	case ".ko":
	case ".gz":
		r, err = gzip.NewReader(r)
	case ".xz":
		r, err = xz.NewReader(r)
	case ".zst":
		var z *zstd.Decoder
		if z, err = zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(largestWindow)); err == nil {
			defer z.Close()
			r = z
		}
	default:
		err = fmt.Errorf("its compression format is not supported (%s)", filepath.Ext(path))
	}
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(r, largestModule+1))
	if err == nil && len(content) > largestModule {
		err = fmt.Errorf("it is larger than %d bytes", largestModule)
	}
	return content, err
}
