#!/usr/bin/env python3
"""Checks testdata/vectors with nothing but docs/spool-format.md and Python's
standard library: proof that a client in another language can be written from
the document. Usage: python3 scripts/check-vectors.py [VECTORS-DIR]"""
import base64, datetime, hashlib, json, os, re, struct, sys, unicodedata, zlib

DIR = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testdata", "vectors")
failed = checked = 0


def load(name):
    with open(os.path.join(DIR, name), encoding="utf-8") as f:
        return json.load(f)


def same(what, got, want):
    global failed, checked
    checked += 1
    if got != want:
        failed += 1
        print(f"FAIL {what}\n  got  {got!r}\n  want {want!r}")


def sha(data):
    return hashlib.sha256(data if isinstance(data, bytes) else data.encode()).hexdigest()


def sized(text):  # a string with its length before it: 8 bytes, big-endian
    b = text.encode()
    return struct.pack(">Q", len(b)) + b


# --- §3: ids -----------------------------------------------------------------

ID = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d)-(\d\d)-(\d\d)-(\d{3})Z-(\d{4})-[0-9a-f]{8}", re.A)


def valid_id(s):
    m = ID.fullmatch(s)
    if not m or int(m[1]) < 1970:
        return False
    try:
        datetime.datetime(*map(int, m.groups()[:6]))
    except ValueError:
        return False
    return True


def owner_tag(aid, stem):
    return sha(aid + "\n" + stem)[:8]


def derived_id(cause, parts):
    b = sized(cause) + b"".join(map(sized, parts))
    while True:
        h = hashlib.sha256(b).digest()
        if h.hex()[:8] != cause[30:]:
            return cause[:30] + h.hex()[:8]
        b = h


def conversation(id):
    return "conv-" + sha("conversation\n" + id)[:10]


UTC, MS = datetime.timezone.utc, datetime.timedelta(milliseconds=1)


def stem(t, counter):
    return f"{t:%Y-%m-%dT%H-%M-%S}-{t.microsecond // 1000:03}Z-{counter:04}"


def next_id(last, now, aid):
    t, counter = now, 0
    if last:
        seen = datetime.datetime.strptime(last[:23] + "000", "%Y-%m-%dT%H-%M-%S-%f").replace(tzinfo=UTC)
        if seen >= t:
            t, counter = seen, int(last[25:29]) + 1
            if counter > 9999:
                t, counter = t + MS, 0
    s = stem(t, counter)
    return s + "-" + owner_tag(aid, s)


def check_ids():
    v = load("ids.json")
    for c in v["owner_tags"]:
        same("owner tag", owner_tag(c["aid"], c["stem"]), c["tag"])
        same("id", c["stem"] + "-" + c["tag"], c["id"])
    for c in v["derived"]:
        same("derived id", derived_id(c["cause"], c["parts"]), c["id"])
    for c in v["conversations"]:
        same("conversation", conversation(c["id"]), c["conversation"])
    for c in v["clock"]:
        now = datetime.datetime.fromisoformat(c["now"].replace("Z", "+00:00"))
        same("clock", next_id(c["last"], now, c["aid"]), c["next"])
    for s in v["valid"] + v["invalid"]:
        same("valid " + s, valid_id(s), s in v["valid"])


# --- §4: names, messages -----------------------------------------------------

RESERVED = {"human", "broadcast", "all", "postroom", "god"}
NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,62}[a-z0-9])?", re.A)


def valid_name(s):
    base = s.split(".")[0]
    device = base in ("con", "prn", "aux", "nul") or re.fullmatch(r"(com|lpt)[0-9]", base)
    return bool(NAME.fullmatch(s)) and ".." not in s and ".tmp-" not in s and not device and s.removeprefix("agent.") not in RESERVED


def recipient(s):
    name, at, station = s.partition("@")
    kind = {"human": "human", "broadcast": "broadcast", "all": "broadcast", "god": "god"}.get(name, "agent")
    if kind == "agent" and not valid_name(name) or at and (not valid_name(station) or kind in ("broadcast", "god")):
        return None
    return kind, ("broadcast" if kind == "broadcast" else name) + at + station


def valid_sender(s):
    name, at, station = s.partition("@")
    return (name in ("human", "postroom") or valid_name(name)) and (not at or valid_name(station))


def quote(s):
    """A JSON string as every mail file has it: DEL and C1 are escaped too."""
    short = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return '"' + "".join(short.get(c) or (f"\\u{ord(c):04x}" if c < " " or "\x7f" <= c <= "\x9f" else c) for c in s) + '"'


def quote_list(l):
    return "[" + ", ".join(map(quote, l)) + "]"


def members(text):
    """The members of one JSON object with the raw text of each value."""
    dec, space, out = json.JSONDecoder(), re.compile(r"[ \t\n\r]*"), {}
    at = space.match(text).end()
    if text[at:at + 1] != "{":
        raise ValueError("no object")
    at = space.match(text, at + 1).end()
    while text[at] != "}":
        key, at = dec.raw_decode(text, at)
        at = space.match(text, at).end()
        if text[at] != ":" or not isinstance(key, str) or key in out:
            raise ValueError("member")
        start = space.match(text, at + 1).end()
        value, at = dec.raw_decode(text, start)
        out[key] = (value, text[start:at])
        at = space.match(text, at).end()
        if text[at] == ",":
            at = space.match(text, at + 1).end()
            if text[at] == "}":
                raise ValueError("comma")
        elif text[at] != "}":
            raise ValueError("separator")
    if text[at + 1:].strip(" \t\n\r"):
        raise ValueError("something follows")
    return out


FIELDS = ["schema", "id", "conversation", "in_reply_to", "from", "to", "cc", "act", "subject", "body", "hops", "requires_reply",
          "needs_human", "deadline", "created_at", "office", "station", "sent_with", "envelope"]
REQUIRED = ["schema", "id", "conversation", "from", "to", "act", "subject", "body", "hops", "requires_reply", "created_at"]
ACTS = ["request", "query", "propose", "inform", "agree", "refuse", "done"]
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.A)


def whole(n):
    return isinstance(n, int) and not isinstance(n, bool) and 0 <= n < 1 << 31


def decode(text):
    """A stamped message: its fields, and the raw text of unknown ones."""
    all_ = members(text)
    m = {k: v for k, (v, _) in all_.items() if k in FIELDS}
    extra = {k: raw for k, (_, raw) in all_.items() if k not in FIELDS}
    m = {"in_reply_to": None, "cc": [], "needs_human": False, "deadline": None, "office": "", "station": "", "sent_with": "", **m}
    ok = all(k in m for k in REQUIRED) and m["schema"] == 1 and whole(m["schema"]) and whole(m["hops"])
    ok = ok and all(isinstance(m[k], str) for k in ("id", "conversation", "from", "to", "act", "subject", "body", "created_at", "office", "station", "sent_with"))
    ok = ok and all(isinstance(m[k], bool) for k in ("requires_reply", "needs_human"))
    ok = ok and valid_id(m["id"]) and (m["in_reply_to"] is None or valid_id(m["in_reply_to"])) and m["act"] in ACTS
    ok = ok and valid_sender(m["from"]) and recipient(m["to"]) and isinstance(m["cc"], list) and all(isinstance(c, str) and recipient(c) for c in m["cc"])
    ok = ok and TIME.fullmatch(m["created_at"]) and (m["deadline"] is None or TIME.fullmatch(m["deadline"]))
    ok = ok and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", m["conversation"]) and ".." not in m["conversation"]
    ok = ok and m["subject"] == clean_subject(m["subject"]) and extra.get("attachments", "[]") in ("[]", "null")
    if not ok:
        raise ValueError("not a message")
    return m, extra


def encode(m, extra):
    lines = []
    for k in FIELDS[:-1]:
        v = m[k]
        lines.append(f'  "{k}": ' + ("null" if v is None else "true" if v is True else "false" if v is False else
                                     str(v) if isinstance(v, int) else quote_list(v) if isinstance(v, list) else quote(v)))
    if "envelope" in m:
        e = m["envelope"]
        sub = ['    "recipients": ' + quote_list(e["recipients"])]
        if e.get("cc"):
            sub.append('    "cc": ' + quote_list(e["cc"]))
        if e.get("turns"):
            sub.append(f'    "turns": {e["turns"]}')
        if e.get("key"):
            sub.append('    "key": ' + quote(e["key"]))
        if e.get("again"):
            sub.append('    "again": true')
        if "origin" in e:
            o = e["origin"]
            sub.append(f'    "origin": {{"name": {quote(o["name"])}, "inode": {o["inode"]}, "digest": {quote(o["digest"])}}}')
        if e.get("claimed_id"):
            sub.append('    "claimed_id": ' + quote(e["claimed_id"]))
        lines.append('  "envelope": {\n' + ",\n".join(sub) + "\n  }")
    lines += [f"  {quote(k)}: {extra[k]}" for k in sorted(extra, key=str.encode)]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def content_key(m):
    b = sized(m["from"]) + sized(m["to"]) + struct.pack(">I", len(m["cc"]))
    b += b"".join(map(sized, sorted(m["cc"], key=str.encode)))
    return sha(b + sized(m["act"] or "inform") + sized(m["subject"]) + sized(m["body"]) + sized(m["in_reply_to"] or ""))


def refused(parse, text):
    try:
        parse(text)
        return False
    except (ValueError, KeyError, IndexError, TypeError):
        return True


def check_messages():
    v = load("names.json")
    for c in v["names"]:
        same("name " + c["name"], valid_name(c["name"]), c["valid"])
    for c in v["recipients"]:
        same("recipient " + c["address"], recipient(c["address"]), (c["kind"], c["canonical"]) if c["valid"] else None)
    v = load("messages.json")
    for c in v["accepted"]:
        m, extra = decode(c["file"])
        same("message " + c["name"], encode(m, extra), c["file"])
        same("digest", sha(c["file"]), c["digest"])
        same("content key", content_key(m), c["content_key"])
        same("key file", "c-" + content_key(m)[:32] + ".json", c["key_file"])
    for c in v["refused"]:
        same("refused: " + c["error"], refused(decode, c["file"]), True)


# --- §6, §7: index, receipts -------------------------------------------------

def index_line(f):
    s = f'{{"seq":{f["seq"]}' + "".join(f',"{k}":{quote(f[k])}' for k in ("id", "digest", "from", "act", "subject", "conversation", "as"))
    s += "".join(f',"{k}":{f[k]}' for k in ("turns", "chain") if f.get(k))
    return s + (f',"since":{quote(f["since"])}' if f.get("since") else "") + "}\n"


def parse_index(line):
    f = {k: v for k, (v, _) in members(line).items()}
    if not (isinstance(f["seq"], int) and f["seq"] >= 0 and valid_id(f["id"]) and re.fullmatch("[0-9a-f]{64}", f["digest"]) and f["as"] in ("to", "cc", "all")):
        raise ValueError(line)
    return f


def receipt_line(f):
    s = f'{{"at":{quote(f["at"])},"event":{quote(f["event"])},"id":{quote(f["id"])}'
    if f.get("parts"):
        s += f',"part":{f["part"]},"parts":{f["parts"]}'
    return s + (f',"evidence":{quote(f["evidence"])}' if f.get("evidence") else "") + "}\n"


def parse_receipt(line):
    f = {k: v for k, (v, _) in members(line).items()}
    if not (f["event"] in ("surfaced", "read", "done", "sent", "arrived", "refused") and valid_id(f["id"]) and TIME.fullmatch(f["at"])):
        raise ValueError(line)
    return f


def parse_receipts(text):
    good = bad = at = 0
    while at < len(text):
        line, end, _ = text[at:].partition("\n")
        if line.strip():
            if not refused(parse_receipt, line):
                good += 1
            elif not end:
                break  # still being written
            else:
                bad += 1
        at += len(line) + len(end)
    return good, bad, at


def check_lines():
    for name, write, parse in (("index.json", index_line, parse_index), ("receipts.json", receipt_line, parse_receipt)):
        v = load(name)
        for c in v["accepted"]:
            same(name, write(c["fields"]), c["line"])
            same(name, parse(c["line"]), c["fields"])
        for c in v["refused"]:
            same(name + " refused", refused(parse, c["line"]), True)
        for c in v.get("files", []):
            same("receipts file", parse_receipts(c["file"]), (c["receipts"], c["bad_lines"], c["next"]))


# --- §8: journal -------------------------------------------------------------

def chain(texts):
    """The head of a journal; an error names the first record that breaks it."""
    n, prev = 0, ""
    for text in texts:
        for line in text.splitlines():
            r = json.loads(line)
            if r["n"] != n + 1 or r["prev"] != prev:
                raise ValueError(f"record {r['n']} does not follow record {n}")
            n, prev = r["n"], sha(line)
    return n, prev


def check_journal():
    v = load("journal.json")
    texts = [f["text"] for f in v["files"]]
    same("journal head", chain(texts), (v["head"]["n"], v["head"]["hash"]))
    same("journal changed", refused(chain, [v["changed"]] + texts[1:]), True)


# --- §9: transcripts ---------------------------------------------------------

SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
HEADER = re.compile(rf"([>\ufeff{SPACE}]*)(\\*)(?=##[\ufeff{SPACE}]*\[)")
LINE = re.compile("[^\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]*[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]?")


def escape(s):
    return "".join(HEADER.sub(r"\1\\\2", l, count=1) if HEADER.match(l) else l for l in LINE.findall(s))


def unescape(s):
    out = ""
    for l in LINE.findall(s):
        m = HEADER.match(l)
        out += m[1] + m[2][1:] + l[m.end():] if m and m[2] else l
    return out


PREPENDED = {*range(0x600, 0x606), 0x6dd, 0x70f, 0x890, 0x891, 0x8e2, 0x110bd, 0x110cd}
BLANK = {0x34f, 0x115f, 0x1160, 0x3164, 0xffa0, 0x17b4, 0x17b5, 0x2028, 0x2029, 0x2800, 0xfffc}


def unseen(r):
    cat = unicodedata.category(chr(r))
    return r in BLANK or 0xfe00 <= r <= 0xfe0f or 0xe0000 <= r <= 0xe0fff or cat == "Cc" or cat == "Cf" and r not in PREPENDED


def hidden(prev, r, after):
    visible = lambda c: c >= 0x80 and c != 0xfffd and not unseen(c)
    if r < 0x80:
        return False
    if r in (0x200c, 0x200d):
        return not (visible(prev) or prev in (0xfe0e, 0xfe0f)) or not visible(after)
    if r in (0xfe0e, 0xfe0f):
        return prev < ord("#") or 0xfe00 <= prev <= 0xfe0f or prev in (0x200c, 0x200d)
    return unseen(r)


def neutralise(s, multiline):
    out, prev = "", -1
    for i, c in enumerate(s):
        r, after = ord(c), ord(s[i + 1]) if i + 1 < len(s) else 0xfffd
        if multiline and c in "\n\t":
            out += c
        elif multiline and c == "\r" and after == 10:
            pass
        elif c == "\t":
            out += " "
        elif r < 32:
            out += chr(0x2400 + r)
        elif r == 127:
            out += "\u2421"
        elif hidden(prev, r, after):
            out, r = out + f"[U+{r:04X}]", ord("]")
        else:
            out += c
        prev = r
    return out


def clean_subject(s):
    breaks = lambda c: unicodedata.category(c) == "Cc" or c in "\u2028\u2029"
    blank = lambda c: breaks(c) or c in SPACE
    parts = re.split(f"([{SPACE}\x00-\x1f\x7f-\x9f]+)", s) if s else [""]
    if not any(map(breaks, s)) and s.strip(SPACE) == s:
        return s
    text = "".join(" " if i % 2 and any(map(breaks, p)) else p for i, p in enumerate(parts))
    start, end = 0, len(text)
    while start < end and blank(text[start]):
        start += 1
    while end > start and blank(text[end - 1]):
        end -= 1
    return text[start:end]


def section(c):
    one = lambda s: neutralise(s, False).strip(SPACE)
    body = escape(neutralise(c["body"], True).rstrip("\n"))
    at = datetime.datetime.fromisoformat(c["at"].replace("Z", "+00:00"))
    s = f"## [{one(c['header']).replace('→', c['arrow'])}] {at:%Y-%m-%d %H:%M} UTC\n\n> {one(c['act'])} · {one(c['subject'])} · {c['id']}\n\n"
    return s + (body + "\n\n" if body else "") + "---\n\n"


def channel_file(members_):
    names = sorted(members_, key=str.encode)
    joined = "_".join(names)
    if len(joined) <= 200:
        return f"_channel_{joined}.md"
    head, n = "", 0
    for name in names:
        if len(head) + len(name) + 1 > 160:
            break
        head, n = head + name + "_", n + 1
    return f"_channel_{head}+{len(names) - n}_{sha(joined)[:16]}.md"


def check_transcripts():
    v = load("transcripts.json")
    for c in v["escape"]:
        same("escape", escape(c["body"]), c["escaped"])
        same("unescape", unescape(c["escaped"]), c["body"])
        same("no header", any(l.startswith("## [") for l in LINE.findall(escape(c["body"]))), False)
    for c in v["neutralise"]:
        s = base64.b64decode(c["base64"]).decode("utf-8", "replace")
        same("neutralise", (neutralise(s, True), neutralise(s, False), clean_subject(s)), (c["multiline"], c["one_line"], c["subject"]))
    for c in v["sections"]:
        same("section", section(c), c["section"])
    for c in v["channel_files"]:
        same("channel file", channel_file(c["members"]), c["file"])


# --- §10, §2: approvals, registry --------------------------------------------

def check_rest():
    v = load("approvals.json")
    for c in v["ids"]:
        same("approval", "ap-" + sha("\n".join((c["kind"], c["message"], c["cause"])))[:10], c["id"])
        same("answer", derived_id(c["message"], ["answer", c["id"]]), c["answer_id"])
    for c in v["fuses"]:
        what = "conv:" + c["conversation"] if "conversation" in c else "agent:" + c["agent"]
        same("fuse", sha(what)[:16] + ".json", c["file"])
    for text in load("registry.json").values():
        for a in check_crc(text)["agents"]:
            for name in [a["name"], *a.get("aliases", [])]:  # §11: a far agent's name ends in its station, no other has one
                same("station of " + name, name.partition("@")[2], a.get("station", ""))


def check_crc(text):
    body, end = text[:-20], text[-20:]
    same("registry crc", f'"crc32":"{zlib.crc32(body.encode()):08x}"}}\n', end)
    return json.loads(text)


# --- a whole office ----------------------------------------------------------

def check_office():
    v = load("office.json")
    files, aids = v["files"], v["aids"]
    chain([files[f] for f in sorted(files) if f.startswith("journal/")])
    reg = check_crc(files["registry.json"])
    same("aids", {a["name"]: a["aid"] for a in reg["agents"]}, aids)
    records = [json.loads(l) for f in sorted(files) if f.startswith("journal/") for l in files[f].splitlines()]
    for path, text in files.items():
        name = os.path.basename(path)
        if path.startswith("messages/"):
            m, extra = decode(text)
            same("canonical " + name, encode(m, extra), text)
            if m["from"] in aids:
                same("owner of " + name, m["id"][30:], owner_tag(aids[m["from"]], m["id"][:29]))
        if name == "index.jsonl":
            box = os.path.dirname(path)
            for n, l in enumerate(text.splitlines(), 1):
                f = parse_index(l)
                same("sequence", f["seq"], n)
                mail = files.get(f"{box}/inbox/{f['id']}.json") or files[f"{box}/inbox/.done/{f['id']}.json"]
                same("delivered bytes", sha(mail), f["digest"])
    for r in records:
        if r["event"] == "transcript":
            text = files["transcripts/" + r["file"]].encode()
            at = r.get("offset", 0)
            same("section of " + r["id"], sha(text[at:at + r["length"]]), r["digest"])


for check in (check_ids, check_messages, check_lines, check_journal, check_transcripts, check_rest, check_office):
    check()
print(f"{checked} checks, {failed} failed")
sys.exit(1 if failed or not checked else 0)
