package section

import (
	"fmt"

	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/result"
	"tare/internal/wording"
)

// lost describes a trial that does not count, with the reason.
func lost(t result.Trial, reason int) string {
	text := string(t.Status) + ": " + place(t)
	if t.Reason == "" {
		return text + ": no reason is recorded"
	}
	return text + ": " + wording.Cut(t.Reason, reason)
}

// mostLost is how many ruled-out trials a terminal lists, and mostLostRows how many a page
// lists.
const (
	mostLost     = 10
	mostLostRows = 200
)

// lostItems are the first trials that do not count, with so many columns of the reason.
func lostItems(b *model.Builder, most, reason int) []doc.Item {
	var out []doc.Item
	for _, t := range b.Lost[:min(len(b.Lost), most)] {
		out = append(out, doc.Item{Text: lost(t, reason)})
	}
	return out
}

// TrialsBriefly are the trials by their status, with the first that do not count.
func TrialsBriefly(b *model.Builder) []doc.Block {
	items := lostItems(b, mostLost, 200)
	if more := len(b.Lost) - len(items); more > 0 {
		items = append(items, doc.Item{Text: "and " + wording.Count(more, "more", "more")})
	}
	return []doc.Block{doc.Section{Head: doc.Heading{Text: "Trials: " + b.TrialCounts.String()}, Blocks: []doc.Block{doc.List{Items: items}}}}
}

// Trials are the trials that do not count, with their reasons.
func Trials(b *model.Builder) []doc.Block {
	text := b.TrialCounts.String() + "."
	if len(b.Lost) == 0 {
		return []doc.Block{doc.Section{ID: "trials", Head: doc.Heading{Text: "Trials that do not count"}, Nav: "Trials", Blocks: []doc.Block{doc.Paragraph{Text: text + " Every trial counts."}}}}
	}
	blocks := []doc.Block{doc.Paragraph{Text: text}, doc.List{Role: doc.Lost, Items: lostItems(b, mostLostRows, 20000)}}
	if n := len(b.Lost); n > mostLostRows {
		blocks = append(blocks, doc.Paragraph{Role: doc.Seen, Text: fmt.Sprintf("The first %d of %d; all are in trials.ndjson.", mostLostRows, n)})
	}
	return []doc.Block{doc.Section{ID: "trials", Head: doc.Heading{Text: "Trials that do not count"}, Nav: "Trials", Fold: true, Blocks: blocks}}
}

// place describes a trial by its place in the run.
func place(t result.Trial) string {
	s := fmt.Sprintf("trial %d, block %d, %s %s", t.Seq, t.Block, t.Mode, t.Workload)
	if t.Pilot {
		s = fmt.Sprintf("trial %d, pilot, %s %s", t.Seq, t.Mode, t.Workload)
	}
	if t.Paces {
		s = fmt.Sprintf("trial %d, to find a rate, %s %s", t.Seq, t.Mode, t.Workload)
	}
	if t.TailRate > 0 {
		s += ", of the tail pass"
	}
	if t.Profiled {
		s += ", to sample stacks"
	}
	if t.Attempt > 1 {
		s += fmt.Sprintf(", attempt %d", t.Attempt)
	}
	if t.Requeued {
		s += ", run again"
	}
	return s
}
