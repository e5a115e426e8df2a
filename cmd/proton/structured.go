package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/pflag"
)

// structured gives the value of a flag options, which follow colons as those of --mode: --trace DIR:sass:tensor-limit=1G stands for --trace DIR
// --trace-sass --trace-tensor-limit=1G. These flags, whose names begin with that of the first, are hidden.
func structured(flags *pflag.FlagSet, name string) {
	flag := flags.Lookup(name)
	flag.Value = &structuredValue{Value: flag.Value, flags: flags, name: name}
	flags.VisitAll(func(f *pflag.Flag) {
		if strings.HasPrefix(f.Name, name+"-") {
			annotate(flags, f.Name, optionKey, name)
			f.Hidden = true
		}
	})
}

// optionsOf are the flags that are options of the value of one.
func optionsOf(flags *pflag.FlagSet, name string) (options []*pflag.Flag) {
	flags.VisitAll(func(f *pflag.Flag) {
		if of := f.Annotations[optionKey]; of != nil && of[0] == name {
			options = append(options, f)
		}
	})
	return options
}

type structuredValue struct {
	pflag.Value
	flags *pflag.FlagSet
	name  string
}

// option is one behind a colon. A port or the time in the name of a folder is none, nor is a path.
var option = regexp.MustCompile(`:[a-z][a-z-]*(=[^:]*)?$`)

// Set takes the options off the end of a value. What is between two of them belongs to the first: a label may have colons.
func (v *structuredValue) Set(text string) error {
	options := optionsOf(v.flags, v.name)
	var known []string
	for _, f := range options {
		known = append(known, strings.TrimPrefix(f.Name, v.name+"-"))
	}
	head, rest := text, ""
	words := known
	if v.flags.Lookup(v.name+"-metrics") != nil { // an older name of counters
		words = append(words, "metrics")
	}
	each := regexp.MustCompile(`:(` + strings.Join(words, "|") + `)(=|:|$)`)
	if at := each.FindStringIndex(text); at != nil {
		head, rest = text[:at[0]], text[at[0]:]
	}
	if unknown := option.FindString(head); unknown != "" {
		return fmt.Errorf("there is no option %s: the options are %s", unknown[1:], strings.Join(known, ", "))
	}
	for rest != "" {
		end := len(rest)
		if next := each.FindStringIndex(rest[1:]); next != nil {
			end = next[0] + 1
		}
		key := each.FindStringSubmatch(rest)[1]
		value, given := strings.CutPrefix(rest[1+len(key):end], "=")
		f := v.flags.Lookup(v.name + "-" + key)
		switch {
		case !given && value != "":
			return fmt.Errorf("there is no option %s: the options are %s", value[1:], strings.Join(known, ", "))
		case !given && f.NoOptDefVal == "":
			return fmt.Errorf("the option %s has no value: write %s=…", key, key)
		case !given:
			value = f.NoOptDefVal
		}
		if err := v.flags.Set(f.Name, value); err != nil {
			return errors.New(strings.Replace(flagError(err).Error(), "--"+f.Name, "the option "+key+" of --"+v.name, 1))
		}
		rest = rest[end:]
	}
	return v.Value.Set(head)
}
