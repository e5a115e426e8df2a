package listing

import (
	"fmt"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/viewer/kernels"
)

// listed splits the requested functions. Those of whole are printed with all their lines. Those of variants are compiled from the
// same kernel as a hotter one, for different arguments, and get one line each: an autotuned kernel has a variant for each
// configuration that was tried.
func (p *printer) listed() (whole, variants []*kernels.Function) {
	if p.All {
		return p.s.Functions, nil
	}
	hottest := map[string]*kernels.Function{}
	for _, f := range p.s.Functions {
		if h := hottest[f.Symbol.Name]; h != nil && h.Symbol != f.Symbol {
			variants = append(variants, f)
			continue
		}
		hottest[f.Symbol.Name] = f
		whole = append(whole, f)
	}
	return whole, variants
}

// mostVariants is how many variants are listed.
const mostVariants = 10

// variants prints a line for each variant, and one for all that are not listed.
func (p *printer) variants(variants []*kernels.Function) {
	if len(variants) == 0 {
		return
	}
	p.paragraph("compiled for different arguments; --all shows the lines of each, -i and -e choose by call path:")
	for i, f := range variants {
		if i == mostVariants && len(variants) > mostVariants+1 {
			rest := kernels.Counts{}
			for _, f := range variants[i:] {
				rest.Add(f.Counts)
			}
			p.line(fmt.Sprintf("  %6s  %s %d more", figures.Share(rest.Share(p.s.All)), p.glyphs.Gap, len(variants)-i))
			return
		}
		p.line("  " + p.fit(fmt.Sprintf("%6s  %s: %s", figures.Share(f.Share(p.s.All)), term.Printable(f.Name), identity(f)), 2))
	}
}

// identity distinguishes a function from others of its name.
func identity(f *kernels.Function) string {
	if facts := f.Compiled().Facts(); len(facts) > 0 {
		return facts[0]
	}
	if f.Symbol.Module == "" {
		return "of an unknown module"
	}
	return "module " + term.Printable(f.Symbol.Module) + ", " + figures.Count(f.Symbol.Registers, "register")
}
