package source

import (
	"fmt"

	"github.com/goproton/goproton/internal/term"
)

// listed parts the kernels that are printed whole from those that a line each must do for: functions that the compiler made of
// a kernel for other arguments than those of a hotter one. An autotuned kernel has one for each configuration that was tried.
func (p *printer) listed() (whole, twins []*Kernel) {
	if p.All {
		return p.s.Kernels, nil
	}
	hottest := map[string]*Kernel{}
	for _, k := range p.s.Kernels {
		if h := hottest[k.Function.Name]; h != nil && h.Function != k.Function {
			twins = append(twins, k)
			continue
		}
		hottest[k.Function.Name] = k
		whole = append(whole, k)
	}
	return whole, twins
}

// mostTwins have a line each.
const mostTwins = 10

// twins prints a line for each of them.
func (p *printer) twins(twins []*Kernel) {
	if len(twins) == 0 {
		return
	}
	p.line("")
	p.line("compiled for other arguments; --all shows the lines of each, -i and -e choose by call path:")
	for i, k := range twins {
		if i == mostTwins && len(twins) > mostTwins+1 {
			rest := Counts{}
			for _, k := range twins[i:] {
				rest.Add(k.Counts)
			}
			p.line(fmt.Sprintf("  %6s  %s %d more", percent(rest.Share(p.s.All)), p.marks.gap, len(twins)-i))
			return
		}
		p.line("  " + p.fit(fmt.Sprintf("%6s  %s: %s", percent(k.Share(p.s.All)), term.Printable(k.Name), p.identity(k)), 2))
	}
}

// identity tells a function from others of its name.
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
