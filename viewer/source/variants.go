package source

import (
	"fmt"

	"github.com/goproton/goproton/internal/term"
)

// listed splits the requested kernels. Those of whole are printed with all their lines. Those of variants are compiled from the
// same kernel as a hotter one, for different arguments, and get one line each: an autotuned kernel has a variant for each
// configuration that was tried.
func (p *printer) listed() (whole, variants []*Kernel) {
	if p.All {
		return p.s.Kernels, nil
	}
	hottest := map[string]*Kernel{}
	for _, k := range p.s.Kernels {
		if h := hottest[k.Function.Name]; h != nil && h.Function != k.Function {
			variants = append(variants, k)
			continue
		}
		hottest[k.Function.Name] = k
		whole = append(whole, k)
	}
	return whole, variants
}

// mostVariants is how many variants are listed.
const mostVariants = 10

// variants prints a line for each variant, and one for all that are not listed.
func (p *printer) variants(variants []*Kernel) {
	if len(variants) == 0 {
		return
	}
	p.line("")
	p.line("compiled for different arguments; --all shows the lines of each, -i and -e choose by call path:")
	for i, k := range variants {
		if i == mostVariants && len(variants) > mostVariants+1 {
			rest := Counts{}
			for _, k := range variants[i:] {
				rest.Add(k.Counts)
			}
			p.line(fmt.Sprintf("  %6s  %s %d more", percent(rest.Share(p.s.All)), p.marks.gap, len(variants)-i))
			return
		}
		p.line("  " + p.fit(fmt.Sprintf("%6s  %s: %s", percent(k.Share(p.s.All)), term.Printable(k.Name), p.identity(k)), 2))
	}
}

// identity distinguishes a function from others of its name.
func (p *printer) identity(k *Kernel) string {
	if p.IR != nil {
		if facts := p.IR.Facts(k); len(facts) > 0 {
			return facts[0]
		}
	}
	f := k.Function
	if f.Module == "" {
		return "of an unknown module"
	}
	return fmt.Sprintf("module %s, %d registers", term.Printable(f.Module), f.Registers)
}
