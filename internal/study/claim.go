package study

// Claim is something that somebody published and that this study can check. Of names what is
// measured, each a scenario or a mode of the study: one for a claim about a value, two for a
// claim about the ratio of the first to the second, more for an order. With Over, the claim is
// about the ratio of Of[0]/Of[1] to Over[0]/Over[1]. HoldsIf is the condition under which the
// claim holds here; see [published.ParseCondition]. A claim with Needs is about something that tare cannot
// build on this system, and has no Of.
type Claim struct {
	ID, Claim, Source string
	Of, Over          Names
	Workload, Metric  string
	Published         string
	HoldsIf           string
	Needs, Differs    string
}

// Names is a list of names, in the order given.
type Names []string

// Fields declares the keys of a Claim and their rules.
func (c *Claim) Fields() []Field {
	return []Field{
		required("id", idText(&c.ID), "name in results, such as tcp-same"),
		required("claim", titleText(&c.Claim), "what was claimed, one sentence"),
		key("source", titleText(&c.Source), "who claimed it, when, and what was run"),
		key("of", namesOf(&c.Of), "scenarios or modes: one for its value, two for the ratio of the first to the second, more for an order"),
		key("over", namesOf(&c.Over), "two scenarios or modes, by whose ratio that of the two under of is divided"),
		key("workload", nameOf(&c.Workload), "the workload, where of names modes and the study has several"),
		key("metric", nameOf(&c.Metric), "the metric that the claim is about"),
		key("published", publishedText(&c.Published), "the published value, such as 0.992, or with its spread, such as 0.992 (0.97-1.01)"),
		key("holds_if", titleText(&c.HoldsIf), "the condition: same, lower, higher, order, or bounds such as below 0.7, between 0.4 and 0.7, below 1% to 700Mbit/s"),
		key("needs", titleText(&c.Needs), "what would be needed to check the claim, where tare cannot"),
		key("differs", descriptionText(&c.Differs), "how the published set-up differed from this study, and what that can change"),
	}
}

// publishedText is one line, which may also be written as a plain number.
func publishedText(at *string) Plain {
	form := textForm()
	form.unit.Number = true
	form.read = func(at *string, l Literal) bool {
		*at = l.Text
		return l.Kind == TextLiteral || l.Kind == WholeLiteral || l.Kind == FractionLiteral
	}
	return plainOf(at, form, titleText(at).Rule())
}

func namesOf(at *Names) Sequence {
	return sequence[Names, string]{held[Names]{at}, Rule{Words: "a name", Name: true}, textForm(), "a list of names, such as [docker, raw]"}
}
