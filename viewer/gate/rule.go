package gate

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/viewer"
)

// Rule says what fails a gate. Its text is one of
//
//	time > 5%                  grew by more than 5 %
//	tflop16/s < -3%            fell by more than 3 %
//	time > +2ms                grew by more than 2 ms: a sign makes it a change
//	time > 120ms               is more than 120 ms now: without a sign it is a limit, whatever it was before
//	util < 0.4                 is less than 0.4 now
//	time > 2% @ total          the whole program only
//	time > 10% @ 'forward/.*gemm'  call paths only, joined with /, in which the regular expression is found: of names
//	                           as recorded, or as reports show them
//
// A rule of a change that would hold where nothing changed, such as time > -5%, is refused.
type Rule struct {
	Text   string
	Metric string // by the viewer's name: "time", "tflop16/s"
	Above  bool   // the rule fails above the amount; otherwise below it
	Kind   Compared
	Amount float64 // 0.05 for 5%
	Unit   string  // of Amount, as written: "ms"; "" if none was written
	Total  bool    // the whole program only
	Scope  *regexp.Regexp
}

// Compared says what a rule compares with its amount.
type Compared uint8

// The kinds of rules.
const (
	Relative Compared = iota // the change as a part of the baseline
	Absolute                 // the change
	Limit                    // the new value
)

// A SyntaxError reports what is wrong with a rule, and where.
type SyntaxError struct {
	Text    string
	Offset  int // in bytes
	Problem string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("read --fail-on %q: at character %d: %s; examples: 'time > 5%%', 'tflop16/s < -3%%', 'time > +2ms', \"time > 10%% @ 'gemm'\"",
		e.Text, utf8.RuneCountInString(e.Text[:e.Offset])+1, e.Problem)
}

// ParseRule reads a rule.
func ParseRule(text string) (Rule, error) {
	p := parser{text: text}
	r := Rule{Text: strings.TrimSpace(text)}
	for _, part := range []func(*Rule) error{p.metric, p.amount, p.unit, p.scope, p.end, p.sense} {
		if err := part(&r); err != nil {
			return Rule{}, err
		}
	}
	return r, nil
}

type parser struct {
	text     string
	at       int
	amountAt int
}

func (p *parser) rest() string { return p.text[p.at:] }

func (p *parser) skipSpace() {
	p.at = len(p.text) - len(strings.TrimLeft(p.rest(), " \t\n"))
}

func (p *parser) wrong(at int, format string, args ...any) error {
	return &SyntaxError{p.text, at, fmt.Sprintf(format, args...)}
}

// metric reads up to the comparison. Names of metrics may hold anything but < and >.
func (p *parser) metric(r *Rule) error {
	p.skipSpace()
	n := strings.IndexAny(p.rest(), "<>")
	switch {
	case n < 0:
		return p.wrong(len(p.text), "there is no > or <")
	case strings.TrimSpace(p.rest()[:n]) == "":
		return p.wrong(p.at, "there is no metric before the comparison")
	}
	r.Metric = strings.TrimSpace(p.rest()[:n])
	r.Above = p.rest()[n] == '>'
	p.at += n + 1
	if strings.HasPrefix(p.rest(), "=") {
		return p.wrong(p.at, "write > or < without =")
	}
	return nil
}

// amount reads a number with an optional sign.
func (p *parser) amount(r *Rule) error {
	p.skipSpace()
	p.amountAt = p.at
	end := p.at
	for end < len(p.text) && (strings.IndexByte("+-.0123456789", p.text[end]) >= 0 || end > p.at && p.isExponent(end)) {
		end++
	}
	number := p.text[p.at:end]
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || v-v != 0 {
		return p.wrong(p.at, "there is no number behind the comparison")
	}
	r.Amount, r.Kind = v, Limit
	if number[0] == '+' || number[0] == '-' {
		r.Kind = Absolute
	}
	p.at = end
	return nil
}

// isExponent reports whether the e at an offset is part of a number: the e of 1e6 is, that of 5edges is not.
func (p *parser) isExponent(at int) bool {
	if p.text[at] != 'e' && p.text[at] != 'E' || at+1 == len(p.text) {
		return false
	}
	return strings.IndexByte("+-0123456789", p.text[at+1]) >= 0
}

// prefixes of amounts that are not times.
var prefixes = map[string]float64{"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}

func (p *parser) unit(r *Rule) error {
	p.skipSpace()
	end := p.at + strings.IndexAny(p.rest()+" ", " \t\n@")
	unit := p.text[p.at:end]
	switch prefix, _ := strings.CutSuffix(unit, "B"); {
	case unit == "":
	case unit == "%":
		r.Kind = Relative
		r.Amount /= 100
	case figures.Nanos(unit) > 0:
		r.Unit = strings.ReplaceAll(unit, "µ", "u")
	case prefixes[prefix] != 0:
		r.Amount *= prefixes[prefix]
	case unit != "B":
		return p.wrong(p.at, "there is no unit %q; use %%, ns, us, ms, s, or k, M, G, T, P", unit)
	}
	p.at = end
	return nil
}

// scope reads "@ total", "@ 'regexp'" or "@ word".
func (p *parser) scope(r *Rule) error {
	p.skipSpace()
	if !strings.HasPrefix(p.rest(), "@") {
		return nil
	}
	p.at++
	p.skipSpace()
	start, pattern := p.at, p.rest()
	if quote := strings.IndexAny(pattern, `'"`); quote == 0 {
		end := strings.IndexByte(pattern[1:], pattern[0])
		if end < 0 {
			return p.wrong(start, "the quote is not closed")
		}
		pattern = pattern[1 : end+1]
		p.at += len(pattern) + 2
	} else {
		pattern = strings.TrimSpace(pattern)
		p.at = len(p.text)
		if pattern == "total" {
			r.Total = true
			return nil
		}
	}
	if pattern == "" {
		return p.wrong(start, "there is nothing behind @; write @ total or @ 'regular expression'")
	}
	var err error
	if r.Scope, err = regexp.Compile(pattern); err != nil {
		return p.wrong(start, "%v", err)
	}
	return nil
}

func (p *parser) end(*Rule) error {
	if p.skipSpace(); p.at < len(p.text) {
		return p.wrong(p.at, "%q is too much", p.rest())
	}
	return nil
}

// sense rejects rules that fail where nothing changed.
func (p *parser) sense(r *Rule) error {
	if r.Kind == Limit {
		return nil
	}
	if r.Above && r.Amount < 0 {
		return p.wrong(p.amountAt, "a change above a negative amount is also no change at all; did you mean %s < %s?", r.Metric, p.text[p.amountAt:])
	}
	if !r.Above && r.Amount > 0 {
		return p.wrong(p.amountAt, "a change below a positive amount is also no change at all; did you mean a fall, %s < -%s?", r.Metric, strings.TrimPrefix(p.text[p.amountAt:], "+"))
	}
	return nil
}

// In reports whether a call path is in the scope of a rule, by its names or as reports show it.
func (r *Rule) In(at At) bool {
	switch {
	case r.Total:
		return at.Whole()
	case r.Scope != nil:
		return !at.Whole() && (r.Scope.MatchString(strings.Join(at.Path(), "/")) || r.Scope.MatchString(strings.Join(at.row.Labels()[1:], "/")))
	}
	return true
}

// holds reports whether the condition of the rule, which fails the gate, is true of a median before and one after. The
// amount is in the unit of the values.
func (r *Rule) holds(before, after, amount float64) bool {
	v := after
	switch r.Kind {
	case Absolute:
		v = after - before
	case Relative:
		v = relative(before, after)
	}
	if r.Above {
		return v > amount
	}
	return v < amount
}

func relative(before, after float64) float64 {
	if before == after {
		return 0
	}
	if before < 0 {
		return (after - before) / -before
	}
	return (after - before) / before
}

// amountIn converts a rule's amount to the unit of a column.
func (r *Rule) amountIn(unit string) (float64, error) {
	size := figures.Nanos(unit) // 0 for what is not a time
	switch {
	case r.Kind == Relative:
		return r.Amount, nil
	case r.Unit != "" && size == 0:
		return 0, &viewer.OptionError{Err: fmt.Errorf("rule %q: %s is not a time; write the amount without %s", r.Text, r.Metric, r.Unit)}
	case r.Unit != "":
		return r.Amount * figures.Nanos(r.Unit) / size, nil
	case size > 0 && r.Amount != 0 && !strings.HasSuffix(r.Metric, "/"+unit):
		return 0, &viewer.OptionError{Err: fmt.Errorf("rule %q: the amount has no unit; write for example %gms", r.Text, r.Amount)}
	}
	return r.Amount, nil
}

// metricsOf lists the metrics of rules, each once.
func metricsOf(rules []Rule) []string {
	var all []string
	for _, r := range rules {
		if !slices.Contains(all, r.Metric) {
			all = append(all, r.Metric)
		}
	}
	return all
}
