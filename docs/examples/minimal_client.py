#!/usr/bin/env python3
"""A Postroom agent in one file, after docs/spool-format.md. MAILBOX is the
directory that holds inbox/ and outbox/. Somebody has to route: any post command.
  minimal_client.py MAILBOX send TO ACT SUBJECT [IN_REPLY_TO] < body
  minimal_client.py MAILBOX read        print the unread mail, oldest delivery first
  minimal_client.py MAILBOX done ID"""
import contextlib, datetime, fcntl, json, os, sys, uuid
box = sys.argv[1] if len(sys.argv) > 2 else sys.exit(__doc__)
path = lambda *p: os.path.join(box, *p)

def sync_dir(d):
    fd = os.open(path(d), os.O_RDONLY)
    os.fsync(fd), os.close(fd)

@contextlib.contextmanager
def lock():                                    # §6: two processes of one agent never collide
    with open(path(".lock"), "a") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        yield

def send(to, act, subject, reply=None):        # §5: whole or not at all; the router stamps it
    name = f"{uuid.uuid4()}.json"
    with open(path("outbox", ".tmp-" + name), "x", encoding="utf-8") as f:
        json.dump({"to": to, "act": act, "subject": subject, "body": sys.stdin.read(), "in_reply_to": reply}, f)
        f.flush(), os.fsync(f.fileno())
    os.link(path("outbox", ".tmp-" + name), path("outbox", name))
    os.unlink(path("outbox", ".tmp-" + name))
    sync_dir("outbox")

def lines(name):                               # whole lines; a torn one is not there
    with open(path(name), "rb") as f:
        for line in f.read().split(b"\n"):
            with contextlib.suppress(ValueError):
                yield json.loads(line)

def receipt(event, id):                        # §7: after the bytes are out, never before
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    with open(path("receipts.jsonl"), "ab+") as f:
        f.seek(max(0, f.tell() - 1))
        torn = f.read(1) not in (b"", b"\n")
        f.write((b"\n" if torn else b"") + json.dumps({"at": now, "event": event, "id": id, "evidence": "minimal_client"}).encode() + b"\n")
        f.flush(), os.fsync(f.fileno())

def read():                                    # §6: the order is the index's, the truth is the directory
    seen = {r["id"] for r in lines("receipts.jsonl") if r["event"] in ("read", "done") and r.get("part") == r.get("parts")}
    order = {l["id"]: l["seq"] for l in lines("index.jsonl")}
    ids = {n[:-5] for n in os.listdir(path("inbox")) if n.endswith(".json") and n[0] != "."} - seen
    for id in sorted((i for i in ids if not os.path.exists(path("inbox", ".done", i + ".json"))), key=lambda i: (order.get(i, 1 << 63), i)):
        with open(path("inbox", id + ".json"), encoding="utf-8") as f:
            print(json.dumps(json.load(f)), flush=True)
        receipt("read", id)

def done(id):                                  # §6: link, sync, unlink, sync
    with contextlib.suppress(FileExistsError):
        os.link(path("inbox", id + ".json"), path("inbox", ".done", id + ".json"))
    sync_dir("inbox/.done"), os.unlink(path("inbox", id + ".json")), sync_dir("inbox")
    receipt("done", id)

with lock():
    {"send": send, "read": read, "done": done}[sys.argv[2]](*sys.argv[3:])
