package prometheus

import (
	"strconv"
	"strings"
)

// contentType is that of Text: the format that every version of Prometheus reads.
const contentType = "text/plain; version=0.0.4; charset=utf-8"

var (
	escapeValue = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
	escapeHelp  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
)

// Text is the page for Prometheus. The format is three kinds of lines, so no library writes them. Families without series are there, too:
// a reader sees that there is nothing.
func Text(families []Family) (page []byte) {
	for _, f := range families {
		kind := "counter"
		if f.Gauge {
			kind = "gauge"
		}
		page = append(page, "# HELP "+f.Name+" "+escapeHelp.Replace(f.Help)+"\n# TYPE "+f.Name+" "+kind+"\n"...)
		for _, s := range f.Series {
			page = append(page, f.Name...)
			for i, l := range s.Labels {
				page = append(page, "{,"[min(i, 1)])
				page = append(page, l.Name+`="`+escapeValue.Replace(l.Value)+`"`...)
			}
			if len(s.Labels) > 0 {
				page = append(page, '}')
			}
			page = append(strconv.AppendFloat(append(page, ' '), s.Value, 'f', -1, 64), '\n')
		}
	}
	return page
}
