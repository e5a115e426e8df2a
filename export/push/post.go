package push

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// outcome is what a server did with a series.
type outcome int

const (
	taken   outcome = iota
	refused         // it will never take this series
	later           // it may take it later: it is away, busy, or something must be corrected
)

// answer is the outcome of one request.
type answer struct {
	outcome
	why  string        // a reason for people; "" when it was taken
	wait time.Duration // that the server asked for, 0 if it did not

	wrong bool // with later: a user has to correct something first, and no program waits for that
}

// mostAnswer is how much of an answer is read.
const mostAnswer = 64 << 10

// post sends one series.
func (t *Target) post(ctx context.Context, s Series) (answer, int) {
	body, err := t.protocol.encode(s)
	if err != nil {
		return answer{outcome: refused, why: err.Error()}, 0
	}
	return t.postTo(ctx, t.url, body)
}

// postTo sends a message of the target's protocol. It returns how many bytes were sent.
func (t *Target) postTo(ctx context.Context, url string, body []byte) (answer, int) {
	if t.protocol.gzip {
		var err error
		if body, err = compress(body); err != nil {
			return answer{outcome: refused, why: err.Error()}, 0
		}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return answer{outcome: later, why: "the request cannot be made"}, 0
	}
	if err := t.authorize(r); err != nil {
		return answer{outcome: later, why: err.Error()}, 0
	}
	response, err := t.client.Do(r)
	if err != nil {
		return answer{outcome: later, why: t.unreachable(err)}, 0
	}
	defer response.Body.Close()
	said, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
	if err != nil {
		return answer{outcome: later, why: t.unreachable(err)}, 0
	}
	return t.judge(response, said, time.Now()), len(body)
}

// judge decides what an answer means.
func (t *Target) judge(r *http.Response, said []byte, now time.Time) answer {
	wait := retryAfter(r.Header.Get("Retry-After"), now)
	status := fmt.Sprintf("it answered %s", strings.TrimSpace(fmt.Sprint(r.StatusCode, " ", http.StatusText(r.StatusCode))))
	if text := reasonOf(said, r.Header); text != "" {
		status += ": " + t.secrets.said(text)
	}
	switch code := r.StatusCode; {
	case code == http.StatusOK && !t.protocol.speaks(r.Header):
		return answer{outcome: later, why: fmt.Sprintf("it answered 200 with %s, which no %s server does: check the URL", strconv.Quote(t.secrets.said(r.Header.Get("Content-Type"))), t.protocol.name), wait: wait, wrong: true}
	case code == http.StatusOK && t.protocol.refused != nil:
		if why := t.protocol.refused(said); why != "" {
			return answer{outcome: refused, why: "it took a part only: " + t.secrets.said(why)}
		}
		return answer{}
	case code >= 200 && code < 300:
		return answer{}
	case code >= 300 && code < 400:
		return answer{outcome: later, why: fmt.Sprintf("it redirects (%d) to %s: give that URL if it is yours", code, t.secrets.said(location(r))), wait: wait, wrong: true}
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return answer{outcome: later, why: status + "; check the token", wait: wait, wrong: true}
	case code == http.StatusNotFound || code == http.StatusMethodNotAllowed || code == http.StatusNotImplemented:
		return answer{outcome: later, why: status + fmt.Sprintf("; check the URL, and whether the server speaks %s", t.protocol.name), wait: wait, wrong: true}
	case code == http.StatusRequestTimeout || code == http.StatusTooEarly || code == http.StatusTooManyRequests || code >= 500:
		return answer{outcome: later, why: status, wait: wait}
	}
	return answer{outcome: refused, why: status}
}

// mostReason is how much of what a server says is repeated.
const mostReason = 200

// reasonOf is what a server says of an error: the message of a Connect or gRPC error in JSON, or the first line of a text. It may have anything.
func reasonOf(said []byte, h http.Header) string {
	var of struct{ Message, Error string }
	if json.Unmarshal(said, &of) == nil {
		return cmp.Or(of.Message, of.Error)
	}
	if kind := h.Get("Content-Type"); !strings.HasPrefix(kind, "text/plain") {
		return ""
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(said)), "\n")
	return line
}

func location(r *http.Response) string {
	to, err := r.Location()
	if err != nil {
		return "nowhere"
	}
	to.User, to.RawQuery, to.Fragment = nil, "", ""
	return to.String()
}

// mostWait is how long a server can ask us to wait.
const mostWait = time.Hour

// retryAfter reads seconds or a date; 0 if there is neither.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(text); err == nil {
		return min(max(time.Duration(min(seconds, int(mostWait/time.Second)))*time.Second, 0), mostWait)
	}
	if date, err := http.ParseTime(text); err == nil {
		return min(max(date.Sub(now), 0), mostWait)
	}
	return 0
}

// unreachable says why there is no answer, without the URL, which the message around it has.
func (t *Target) unreachable(err error) string {
	var of *url.Error
	if errors.As(err, &of) {
		err = of.Err
	}
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case errors.Is(err, context.Canceled):
		return "it did not answer before the end"
	case errors.As(err, &dns):
		return fmt.Sprintf("its name %s cannot be resolved", dns.Name)
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("it did not answer within %v", requestPatience)
	}
	return t.secrets.said(err.Error())
}
