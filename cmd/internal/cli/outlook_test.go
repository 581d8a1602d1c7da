package cli

import (
	"testing"
	"time"

	"fslease/fslease"
)

// Why a holder is not taken over is said in words that fit how it is bound, whether it lives, and how long it has been silent.
func TestStaying(t *testing.T) {
	alive := fslease.Verdict{Life: fslease.Alive, Reason: "keeps its liveness lock"}
	unknown := fslease.Verdict{Life: fslease.Unknown, Reason: "another host"}
	for _, c := range []struct {
		evidence fslease.Evidence
		ttl      time.Duration
		verdict  fslease.Verdict
		silent   time.Duration
		want     string
	}{
		{fslease.EvidenceLock, time.Minute, alive, 29 * time.Second, "it lives and renews: it is taken over only after 60s of silence"},
		{fslease.EvidenceLock, time.Minute, alive, 40 * time.Second, "it lives, and it has been silent for 40s: it is taken over in 20s unless it renews"},
		{fslease.EvidenceLock, time.Minute, unknown, 10 * time.Second,
			"whether it lives cannot be told from here (another host), and it has been silent for 10s: it is taken over in 50s unless it renews"},
		{fslease.EvidencePid, 0, alive, 0, "it lives, and the key is its own as long as it does"},
		{fslease.EvidencePid, 0, unknown, 0, "whether it lives cannot be told from here (another host), and no ttl was agreed: it is never taken over"},
		{fslease.EvidenceNone, time.Hour, unknown, 15 * time.Minute, "it is held for a time that was agreed: if it is not renewed it ends in 45m"},
	} {
		rec := fslease.Record{TTL: c.ttl, Holder: fslease.Holder{Kind: fslease.KindProcess, Evidence: c.evidence}}
		j := fslease.Judgement{Verdict: c.verdict, Silent: c.silent, Wait: max(0, c.ttl-c.silent)}
		if got := staying(rec, j); got != c.want {
			t.Errorf("is   %s\nwant %s", got, c.want)
		}
	}
}
