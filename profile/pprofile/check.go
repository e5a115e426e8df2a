package pprofile

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/goproton/goproton/internal/inflate"
)

// message describes a message as far as check needs it: which of its fields hold messages, which numbers (single or packed),
// and which text.
type message struct {
	name    string
	size    int64 // estimate of the memory that pprof's decoder and our tree take for one
	nested  map[protowire.Number]*message
	numbers []protowire.Number
	text    []protowire.Number
}

var (
	valueTypeMessage = &message{name: "sample type", size: 100, numbers: []protowire.Number{1, 2}}
	profileMessage   = &message{
		name: "profile",
		nested: map[protowire.Number]*message{
			1:  valueTypeMessage,
			2:  {name: "sample", size: 200, nested: map[protowire.Number]*message{3: {name: "label", size: 300}}, numbers: []protowire.Number{1, 2}},
			3:  {name: "mapping", size: 250},
			4:  {name: "location", size: 300, nested: map[protowire.Number]*message{4: {name: "line", size: 60}}},
			5:  {name: "function", size: 250},
			11: {name: "period type", size: 100},
		},
		numbers: []protowire.Number{7, 8, 9, 10, 12, 13, 14, 15},
		text:    []protowire.Number{6},
	}
)

// FormatError says what is wrong with a file and where in it, counted after decompression.
type FormatError struct {
	Offset int
	What   string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("decode pprof profile: byte %d: %s", e.Offset, e.What)
}

// check reads the outline of a profile. pprof's own decoder says that something is malformed; this one says where, and
// refuses a file that would take far more memory than its size: an empty message is two bytes, and a hundred when it is
// decoded.
func check(data []byte, memory *inflate.Memory) error {
	if err := checkMessage(data, profileMessage, &outline{memory: memory, size: int64(len(data))}); err != nil {
		return err
	}
	return nil
}

// outline counts the memory that the messages of a profile take.
type outline struct {
	memory *inflate.Memory
	size   int64 // of the file
}

// textSize is about how many bytes an entry of the string table takes in addition to its text, and numberSize how many a
// byte of a packed list of numbers takes.
const (
	textSize   = 64
	numberSize = 12
)

// checkMessage steps through the fields of a message. It goes at most three deep: the nesting is the description's,
// not the data's.
func checkMessage(data []byte, m *message, o *outline) *FormatError {
	if err := o.memory.Keep(m.size, o.size); err != nil {
		return &FormatError{0, err.Error()}
	}
	for at := 0; at < len(data); {
		number, wire, n := protowire.ConsumeTag(data[at:])
		if n < 0 {
			return &FormatError{at, "no field of a " + m.name + " starts here; give a profile that pprof reads"}
		}
		size := protowire.ConsumeFieldValue(number, wire, data[at+n:])
		if size < 0 {
			return &FormatError{at, fmt.Sprintf("field %d of a %s goes past its end; the file is cut off or not a pprof profile", number, m.name)}
		}
		if wire == protowire.BytesType {
			content, _ := protowire.ConsumeBytes(data[at+n:])
			if err := checkContent(content, m, number, o); err != nil {
				err.Offset += at + n + size - len(content)
				return err
			}
		}
		at += n + size
	}
	return nil
}

func checkContent(content []byte, m *message, number protowire.Number, o *outline) *FormatError {
	if nested := m.nested[number]; nested != nil {
		return checkMessage(content, nested, o)
	}
	if !slices.Contains(m.numbers, number) { // text, or a field of a later version
		if err := o.memory.Keep(textSize, o.size); err != nil {
			return &FormatError{0, err.Error()}
		}
		return nil
	}
	if err := o.memory.Keep(int64(numberSize*len(content)), o.size); err != nil {
		return &FormatError{0, err.Error()}
	}
	for at := 0; at < len(content); {
		_, n := protowire.ConsumeVarint(content[at:])
		if n < 0 {
			return &FormatError{at, fmt.Sprintf("no number in field %d of a %s; give a profile that pprof reads", number, m.name)}
		}
		at += n
	}
	return nil
}

// Sniff says whether a file that starts with head is a profile.proto. The format has no magic, so all fields that
// lie in the head whole have to be fields of a profile, in whatever order, and one at least a message such as profiles
// have. This distinguishes it from a Perfetto trace, whose only field has the number and the type of a profile's first one.
func Sniff(head []byte) bool {
	messages := 0
	for at := 0; at < len(head); {
		number, wire, n := protowire.ConsumeTag(head[at:])
		if n < 0 {
			return messages > 0 && errors.Is(protowire.ParseError(n), io.ErrUnexpectedEOF)
		}
		size := protowire.ConsumeFieldValue(number, wire, head[at+n:])
		if !belongs(number, wire) || size < 0 {
			return messages > 0 && belongs(number, wire)
		}
		if nested := profileMessage.nested[number]; nested != nil {
			if !isMessage(head[at+n:at+n+size], number, nested) {
				return false
			}
			messages++
		}
		at += n + size
	}
	return messages > 0
}

func isMessage(field []byte, number protowire.Number, m *message) bool {
	content, n := protowire.ConsumeBytes(field)
	if number == 1 || number == 11 {
		return n >= 0 && isValueType(content)
	}
	return n >= 0 && checkMessage(content, m, &outline{memory: &inflate.Memory{}, size: int64(len(content))}) == nil
}

func belongs(number protowire.Number, wire protowire.Type) bool {
	if profileMessage.nested[number] != nil || slices.Contains(profileMessage.text, number) {
		return wire == protowire.BytesType
	}
	return slices.Contains(profileMessage.numbers, number) && (wire == protowire.VarintType || number == 13 && wire == protowire.BytesType)
}

// isValueType knows a sample type by its two small numbers, places of words in the string table.
func isValueType(content []byte) bool {
	for len(content) > 0 {
		number, wire, n := protowire.ConsumeField(content)
		if n < 0 || number > 2 || wire != protowire.VarintType {
			return false
		}
		content = content[n:]
	}
	return true
}
