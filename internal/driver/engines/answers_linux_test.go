package engines_test

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// answersFile is beside a dockerd that only tells its versions of the API: its own and the oldest
// that it accepts, with a space between them.
const answersFile = "api-versions"

// answer is dockerd's part in a test: an engine whose API this program cannot speak.
func answer(args []string) error {
	flag := func(name string) string {
		i := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "--"+name+"=") })
		return strings.TrimPrefix(args[max(0, i)], "--"+name+"=")
	}
	text, err := os.ReadFile(filepath.Join(filepath.Dir(args[0]), answersFile))
	if err != nil {
		return err
	}
	own, oldest, _ := strings.Cut(string(text), " ")
	l, err := net.Listen("unix", strings.TrimPrefix(flag("host"), "unix://"))
	if err != nil {
		return err
	}
	s := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", own)
		if strings.HasSuffix(r.URL.Path, "/_ping") {
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"message":"client version is too old. Minimum supported API version is ` + oldest + `"}`))
	})}
	return s.Serve(l)
}
