package push

import (
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/goproton/goproton/export/exporttest"
	"github.com/goproton/goproton/internal/testkit"
)

// What one sender has done is not mixed up with what others have done, and does not fall when they take over.
func TestStatusOfOneSender(t *testing.T) {
	server := exporttest.New(t)
	folder := filepath.Join(t.TempDir(), "spool")
	r := rand.New(rand.NewPCG(1, 2))
	send := func(windows int) *Sender {
		for range windows {
			put(t, folder, window(r, 3, time.Now()))
		}
		s := &Sender{Target: target(t, "pyroscope+"+server.URL), Folder: folder, pace: quick}
		s.Start()
		return s
	}
	earlier := send(3)
	within(earlier, testkit.Patience())
	ours := send(0)
	of := StatusOf(folder, ours.Status().Sender)
	testkit.Await(t, "our sender has left a status", func() bool { st, err := ReadStatus(folder); return err == nil && st.Sender == ours.Status().Sender })
	if st := of(); st.Sent != 0 || st.Bytes != 0 {
		t.Errorf("before our sender sends: %+v", st)
	}
	put(t, folder, window(r, 3, time.Now()), window(r, 3, time.Now()))
	if st := within(ours, testkit.Patience()); st.Sent != 2 || of().Sent != 2 || of().Bytes != st.Bytes {
		t.Errorf("our sender did %+v, and its status says %+v", st, of())
	}
	within(send(1), testkit.Patience())
	put(t, folder, window(r, 3, time.Now()))
	if st := of(); st.Sent != 2 || st.Waiting != 1 {
		t.Errorf("after another has taken over: %+v", st)
	}
	for _, sender := range []string{"", earlier.Status().Sender} {
		if st := StatusOf(folder, sender)(); st.Sent != 0 || st.Waiting != 1 {
			t.Errorf("of sender %q, whose status is gone: %+v", sender, st)
		}
	}
}
