package machine

import "context"

func (r *remote) placeOnWindows(ctx context.Context, c *connection, noise string) (far, error) {
	return far{}, r.noAnswer(ctx, c.first, &lines{}, nil)
}
