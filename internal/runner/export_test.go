package runner

import "time"

// WithServerLate is a run whose measured set-ups have servers that listen later.
func WithServerLate(cfg Config, by time.Duration) Config {
	cfg.serverLate = by
	return cfg
}
