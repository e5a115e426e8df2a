package validate

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
)

func (r *record) compilation(members []jsontext.Member, wrong func(string) report) {
	payload, err := jsontext.Members(ndjson.Get(members, "payload"))
	if err != nil {
		return
	}
	metadata := ndjson.Get(payload, "metadata")
	r.inferred = string(ndjson.Get(members, "is_fake")) == "true"
	extra := ndjson.Get(members, "goproton")
	r.cubin, r.image = jsontext.Text(jsontext.Get(extra, "cubin")), jsontext.Text(jsontext.Get(extra, "image"))
	if r.hash == "" && jsontext.Get(metadata, "hash") != nil {
		wrong(Joins)("payload.metadata.hash", "is empty: launches cannot name this compilation")
	}
	checkMaps(ndjson.Get(payload, "source_mappings"), ndjson.Get(payload, "file_content"), wrong(Maps))
}

// checkMaps checks that source maps point to existing lines.
func checkMaps(maps, content []byte, wrong report) {
	stages, err := jsontext.Members(maps)
	if err != nil {
		return
	}
	lengths := map[string]int{}
	texts, _ := jsontext.Members(content)
	for _, t := range texts {
		if dot := strings.LastIndexByte(t.Name, '.'); dot >= 0 {
			lengths[t.Name[dot+1:]] = 1 + strings.Count(jsontext.Text(t.Value), "\n")
		}
	}
	for _, s := range stages {
		path := "payload.source_mappings." + s.Name
		entries, err := jsontext.Members(s.Value)
		if err != nil {
			continue
		}
		if _, ok := lengths[s.Name]; !ok && s.Name != "python" && len(entries) > 0 {
			wrong(path, "maps a text that is not in file_content")
			continue
		}
		for _, e := range entries {
			n, err := strconv.Atoi(e.Name)
			if s.Name == "python" && n == 0 && err == nil {
				continue // LLVM's mark for no line, which tritonparse takes for one
			}
			if err != nil || n < 1 {
				wrong(join(path, e.Name), "is not a line number")
			} else if s.Name != "python" && n > lengths[s.Name] {
				wrong(join(path, e.Name), fmt.Sprintf("is beyond the last of %d lines of %s", lengths[s.Name], s.Name))
			}
			checkEntry(e.Value, join(path, e.Name), lengths, wrong)
		}
	}
}

// checkEntry checks the lists of lines of an entry, which are numbers or texts.
func checkEntry(entry []byte, path string, lengths map[string]int, wrong report) {
	members, err := jsontext.Members(entry)
	if err != nil {
		wrong(path, "is not an object")
		return
	}
	for _, m := range members {
		stage, ok := strings.CutSuffix(m.Name, "_lines")
		if !ok {
			continue
		}
		length, known := lengths[stage]
		if !known {
			wrong(join(path, m.Name), "leads into a text that is not in file_content")
			continue
		}
		for _, l := range jsontext.Elements(m.Value) {
			n, err := strconv.Atoi(strings.Trim(string(l), `"`))
			if err != nil || n < 1 || n > length {
				wrong(join(path, m.Name), fmt.Sprintf("leads to line %s of %d lines of %s", l, length, stage))
				break
			}
		}
	}
}
