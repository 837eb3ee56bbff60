package piece

import "slices"

// Rank turns the classes of items into ranks without gaps from 0 on; items of one class rank in their order. at returns
// the place of an item's class, which becomes its rank.
func Rank[T any](items []T, at func(*T) *int) {
	order := make([]*int, len(items))
	for i := range items {
		order[i] = at(&items[i])
	}
	slices.SortStableFunc(order, func(x, y *int) int { return *x - *y })
	for rank, class := range order {
		*class = rank
	}
}
