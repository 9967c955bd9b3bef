package hub

import (
	"github.com/nats-io/jwt/v2"

	"github.com/postroom/postroom/internal/link/natslink"
)

// guestName is the user that everybody is who shows no key: he may ask to join.
// No station can be called so.
const guestName = "guest_"

// memberMay is what a station may do, and all of it: publish as itself, its own
// card, read through its own consumer, which the hub has made. That it can make
// none is what parts the stations: whoever may create a consumer reads everything.
//
// Acks have this one form (v1) and no wildcard before the stream's name: with
// "$JS.ACK.*.*.STREAM.NAME.>", which is the other form (v2), a station called 12
// could acknowledge the 12th message for anybody.
func memberMay(team natslink.Team) jwt.UserPermissionLimits {
	const me = "{{name()}}"
	stream, cards := team.Stream(), team.CardStream()
	return limits(
		[]string{
			team.Subject(me, "*", "*"), team.CardSubject(me),
			"$JS.API.CONSUMER.MSG.NEXT." + stream + "." + me, "$JS.API.CONSUMER.INFO." + stream + "." + me,
			"$JS.ACK." + stream + "." + me + ".*.*.*.*.*",
			"$JS.API.STREAM.INFO." + cards, "$JS.API.DIRECT.GET." + cards + "." + team.CardSubject("*"),
			team.Service("rotate." + me), team.Service("leave." + me),
		},
		[]string{natslink.InboxPrefix(me) + ".>", team.CardSubject("*")})
}

// guestMay is what somebody may do who has only a join line.
func guestMay(team natslink.Team) jwt.UserPermissionLimits {
	l := limits([]string{team.Service("join")}, []string{natslink.InboxPrefix(guestName) + ".>"})
	l.BearerToken = true // it is nobody's: the invitation in the request is what counts
	l.Subs, l.Payload = 4, 4096
	return l
}

// adminMay is for the hub's own connection, and for commands beside it that can
// read its directory.
func adminMay() jwt.UserPermissionLimits { return limits([]string{">"}, []string{">"}) }

func limits(publish, subscribe []string) jwt.UserPermissionLimits {
	var l jwt.UserPermissionLimits
	l.Pub.Allow.Add(publish...)
	l.Sub.Allow.Add(subscribe...)
	l.NatsLimits = jwt.NatsLimits{Subs: jwt.NoLimit, Data: jwt.NoLimit, Payload: jwt.NoLimit}
	l.AllowedConnectionTypes.Add(jwt.ConnectionTypeStandard, jwt.ConnectionTypeInProcess)
	return l
}
