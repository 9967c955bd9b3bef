package natslink

import (
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/postroom/postroom/internal/link"
)

// Team says what a team's streams and subjects are called. Team and station
// names are mail.ParseStation's, so they are single tokens of a subject.
type Team string

// Stream is the name of the stream that holds envelopes on their way.
func (t Team) Stream() string { return "POST_" + string(t) }

// CardStream is the name of the stream that holds each station's newest card.
func (t Team) CardStream() string { return t.Stream() + "_DIR" }

// Subject is where from publishes envelopes of a kind for to.
func (t Team) Subject(from, to string, kind link.Kind) string {
	return "post." + string(t) + ".from." + from + ".to." + to + "." + string(kind)
}

// Inbound is the filter for everything that is for a station.
func (t Team) Inbound(station string) string {
	return "post." + string(t) + ".from.*.to." + station + ".>"
}

// CardSubject is where a station's card is; * for all.
func (t Team) CardSubject(station string) string { return "post." + string(t) + ".dir." + station }

// Service is where the hub answers: "join", "rotate.ann-laptop". No stream keeps it.
func (t Team) Service(what string) string { return "post." + string(t) + ".hub." + what }

// InboxPrefix is under which a station, and nobody else, may listen for answers.
func InboxPrefix(station string) string { return "_INBOX_" + station }

// sender is the station that an envelope's subject names, "" if it is none of ours.
func sender(subject string) string {
	part := strings.Split(subject, ".")
	if len(part) != 7 || part[2] != "from" || part[4] != "to" {
		return ""
	}
	return part[3]
}

// What the streams take. An envelope holds a message of at most 1 MiB, and what
// is around it.
const (
	MaxEnvelope = 1<<20 + 64<<10
	maxCard     = 1 << 20
	perPair     = 10000               // envelopes of a kind that may wait between two stations
	keep        = 30 * 24 * time.Hour // then the hub drops them, and the sender sees no receipt
	dedupWindow = 2 * time.Minute     // Publish's dedup is remembered for so long
	ackWait     = 10 * time.Second
	unacked     = 256
)

// Mail is the configuration of the envelopes' stream. It reserves no space: how
// much there is in all is the server's to limit.
func (t Team) Mail(replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: t.Stream(), Description: "Postroom: envelopes on their way", Subjects: []string{"post." + string(t) + ".from.>"},
		Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage, Discard: jetstream.DiscardNew,
		DiscardNewPerSubject: true, MaxMsgsPerSubject: perPair, MaxBytes: -1, MaxMsgSize: MaxEnvelope,
		MaxMsgs: -1, MaxConsumers: -1, MaxAge: keep, Duplicates: dedupWindow, Replicas: max(replicas, 1),
	}
}

// Directory is the configuration of the cards' stream.
func (t Team) Directory(replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: t.CardStream(), Description: "Postroom: the stations' cards", Subjects: []string{t.CardSubject("*")},
		Retention: jetstream.LimitsPolicy, Storage: jetstream.FileStorage, Discard: jetstream.DiscardOld,
		MaxMsgsPerSubject: 1, MaxMsgs: -1, MaxBytes: -1, MaxConsumers: -1, MaxMsgSize: maxCard, AllowDirect: true, Replicas: max(replicas, 1),
	}
}

// Consumer is the configuration of a station's consumer. It never gives up on
// an envelope: a finite MaxDeliver strands what lies beside one that crashes its
// receiver.
func (t Team) Consumer(station string) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable: station, FilterSubject: t.Inbound(station), AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: ackWait, MaxAckPending: unacked, MaxDeliver: -1, DeliverPolicy: jetstream.DeliverAllPolicy,
	}
}
