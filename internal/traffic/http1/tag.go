package http1

import (
	"crypto/sha256"
	"encoding/hex"
)

// ForwardedFor is the header field in which proxies name the client whose request they forward.
const ForwardedFor = "X-Forwarded-For"

// TagField is the header field that shows that a message belongs to a trial.
const TagField = "Tare-Trial"

// RequestTag returns what the requests of the trial with that token have as TagField, and ResponseTag what its responses
// have. The token cannot be derived from either, nor one from the other.
func RequestTag(token string) string { return tag("request", token) }

// ResponseTag is RequestTag for responses.
func ResponseTag(token string) string { return tag("response", token) }

func tag(of, token string) string {
	sum := sha256.Sum256([]byte("http " + of + " " + token))
	return hex.EncodeToString(sum[:8])
}
