package section

import (
	"fmt"

	"tare/internal/analysis/verdict"
	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/wording"
)

// Chance says how many of the run's verdicts are expected to be wrong; nothing where none was judged.
func Chance(b *model.Builder) []doc.Block {
	c := verdict.ChanceOf(b.Run)
	if c.Comparisons == 0 {
		return nil
	}
	text := fmt.Sprintf("%s of %s: at most %.2g wrong expected by chance, and a difference that does not exist in at most %.2g of %s.",
		wording.Count(c.Verdicts, "verdict", "verdicts"), wording.Count(c.Comparisons, "comparison", "comparisons"), c.Wrong(), c.WrongFamilies(),
		wording.Count(c.Families, "family of comparisons", "families of comparisons"))
	return []doc.Block{doc.Section{ID: "chance", Head: doc.Heading{Text: "Wrong verdicts by chance"}, Blocks: []doc.Block{doc.Paragraph{Text: text}}}}
}
