package wireguard

import "fmt"

// Key is a key, for tests.
type Key = key

// Print formats a configuration that has a key.
func Print(format string) string { return fmt.Sprintf(format, endpointConfig{Private: key{1, 2, 3}}) }
