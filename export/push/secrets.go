package push

import (
	"encoding/base64"
	"encoding/hex"
	"html"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/goproton/goproton/internal/foreign"
)

// secrets are texts that no message and no file may have: tokens, headers and passwords of proxies. A server, or a proxy before it, may repeat
// what it was sent. The zero value is ready for use.
type secrets struct {
	lock  sync.Mutex
	known []string // letters and digits of each, in lower case
}

// mostSecrets bounds how many tokens are remembered of a file whose token is renewed.
const mostSecrets = 64

// add remembers what a request carries.
func (s *secrets) add(token string, headers http.Header) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, values := range headers {
		for _, word := range strings.Fields(strings.Join(values, " ")) { // "Bearer …" has a word that everyone may know
			s.addOne(word, leastOfHeaders)
			for _, unpacked := range unpack(word) { // "Basic …" is a user and a password
				s.addOne(unpacked, leastOfHeaders)
			}
		}
	}
	s.addOne(token, leastOfTokens)
	for _, variable := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		for _, name := range []string{variable, strings.ToLower(variable)} {
			_, proxy, _ := strings.Cut(os.Getenv(name), "://")
			if at := strings.LastIndexByte(proxy, '@'); at >= 0 {
				s.addOne(proxy[:at], leastOfTokens)
			}
		}
	}
}

// How many letters and digits a secret has at least. Values of headers are often a number or a name.
const (
	leastOfTokens  = 4
	leastOfHeaders = 8
)

func (s *secrets) addOne(text string, least int) {
	if text = bare(text); len(text) < least || slices.Contains(s.known, text) {
		return
	}
	if len(s.known) == mostSecrets {
		s.known = s.known[1:]
	}
	s.known = append(s.known, text)
}

// said is what a server or a library says, as a message repeats it; it is left out if it has a secret or a part of one.
func (s *secrets) said(text string) string {
	const examined = 2 * mostReason // what is printed, and what the cut may have divided
	if s.in(foreign.Plain(text, examined)) {
		return "(what it said is left out, because it repeats a token or a header)"
	}
	return foreign.Plain(text, mostReason)
}

func (s *secrets) in(text string) bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	if len(s.known) == 0 {
		return false
	}
	for _, view := range views(text, 2) {
		view = bare(view)
		for _, secret := range s.known {
			if repeats(view, secret) || repeats(view, reversed(secret)) {
				return true
			}
		}
	}
	return false
}

// A text repeats a secret if it has that many of its letters and digits in a row, or pieces of a few that are half of it together.
const (
	inARow = 6
	piece  = 4
)

func repeats(text, secret string) bool {
	if len(secret) <= inARow {
		return strings.Contains(text, secret)
	}
	found := 0
	for at := 0; at+piece <= len(secret); {
		if at+inARow <= len(secret) && strings.Contains(text, secret[at:at+inARow]) {
			return true
		}
		if strings.Contains(text, secret[at:at+piece]) {
			found += piece
			at += piece
			continue
		}
		at++
	}
	return 2*found >= len(secret)
}

// bare drops what a text may be divided or quoted by: everything but letters and digits.
func bare(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, text)
}

func reversed(text string) string {
	runes := []rune(text)
	slices.Reverse(runes)
	return string(runes)
}

var (
	escapes = regexp.MustCompile(`(?:%|=|\\x)[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\[abfnrtv0]`)
	divided = regexp.MustCompile(`[^0-9A-Za-z+/_-]`)
	packed  = regexp.MustCompile(`[0-9A-Za-z+/_-]{6,}`)
	digits  = regexp.MustCompile(`[0-9A-Fa-f]{8,}`)
)

func unescape(escape string) string {
	n, err := strconv.ParseUint(strings.TrimLeft(escape, `%=\xu`), 16, 32)
	if err != nil || len(escape) == 2 {
		return " " // of a line
	}
	return string(rune(n))
}

// views are a text and what it is when escapes of URLs, JSON, HTML and mail, base64 and hexadecimal numbers in it are read, in each
// other down to a depth.
func views(text string, depth int) []string {
	all := []string{text}
	plain := text
	for range 4 { // escapes may be escaped
		next := html.UnescapeString(escapes.ReplaceAllStringFunc(plain, unescape))
		if next == plain {
			break
		}
		plain, all = next, append(all, next)
	}
	if depth == 0 {
		return all
	}
	for _, t := range []string{plain, divided.ReplaceAllString(plain, "")} {
		for _, run := range packed.FindAllString(t, -1) {
			for _, unpacked := range unpack(run) {
				all = append(all, views(unpacked, depth-1)...)
			}
		}
	}
	return all
}

var ofURL = strings.NewReplacer("-", "+", "_", "/")

// unpack reads a run of characters as base64, and the hexadecimal numbers in it, from each position at which a code may begin.
func unpack(run string) (all []string) {
	run = ofURL.Replace(run)
	for from := range min(4, len(run)) {
		code := run[from:]
		if len(code)%4 == 1 {
			code = code[:len(code)-1]
		}
		if bytes, err := base64.RawStdEncoding.DecodeString(code); err == nil {
			all = append(all, string(bytes))
		}
	}
	for _, code := range digits.FindAllString(run, -1) {
		for from := range 2 {
			if bytes, err := hex.DecodeString(code[from : from+(len(code)-from)/2*2]); err == nil {
				all = append(all, string(bytes))
			}
		}
	}
	return all
}
