"""Opens files as they come and says what they are, by rules of their own and not by proton's."""
import gzip
import json
import re
import subprocess
import zlib
from decimal import Decimal


def unpack(data):
    """Removes gzip and zstd, also one in the other. What is damaged is returned as far as it goes."""
    for _ in range(3):
        if data[:2] == b"\x1f\x8b":
            try:
                data = gzip.decompress(data)
            except (OSError, EOFError, zlib.error):
                data = zlib.decompressobj(31).decompress(data)
        elif data[:4] == b"\x28\xb5\x2f\xfd":
            data = subprocess.run(["zstd", "-dcq"], input=data, capture_output=True).stdout
        else:
            break
    return data


def documents(text):
    """The JSON documents of a text, one after another. Numbers keep their digits; control characters in texts are taken."""
    decoder = json.JSONDecoder(parse_float=Decimal, strict=False)
    found, text = [], text.lstrip("\ufeff")
    space = re.compile(r"[\s\0]*")
    at = space.match(text).end()
    while at < len(text):
        document, at = decoder.raw_decode(text, at)
        found.append(document)
        at = space.match(text, at).end()
    return found


def recognise(data):
    """Returns the kind of a file, and its content as far as Python reads it. Kinds in capitals are none that proton reads."""
    if data[:4] in (b"PK\x03\x04", b"Obj\x01", b"PERF") or data[257:262] == b"ustar" or data[:6] == b"SQLite":
        return "ARCHIVE", None
    start = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if start[:1] in (b"{", b"["):
        return json_kind(data, start)
    if data[:1] in (b"\x92", b"\x91") and b"metrics" in data[:4096]:
        return "msgpack", None
    top = fields(data)
    if top and set(top) == {1} and all(is_packet(fields(p)) for p in top[1][:3]):
        return "perfetto", None
    if top and 6 in top and top[6][0] == b"" and set(top) <= set(range(1, 17)):
        return "pprof", None
    return text_kind(data), None


def json_kind(data, start):
    text = re.sub("[\udc80-\udcff]+", "\ufffd", data.decode("utf-8", "surrogateescape"))
    try:
        docs = unclosed(text) or documents(text)
    except RecursionError:
        return "TOO DEEP", None
    except ValueError:
        if re.search(rb'"traceEvents"\s*:|"ph"\s*:\s*"', start):
            return "bad chrome", None
        return ("folded" if text_kind(data) == "folded" else "BAD JSON"), None
    first = docs[0] if docs else None
    if isinstance(first, list) and first and isinstance(first[0], dict) and "frame" in first[0]:
        return "hatchet", docs
    if docs and all(isinstance(d, dict) and "event_type" in d for d in docs):
        return "tritonparse", docs
    if isinstance(first, dict) and "speedscope.app" in str(first.get("$schema", "")):
        return "speedscope", docs
    events = first.get("traceEvents") if isinstance(first, dict) else first
    if isinstance(events, list) and any(isinstance(e, dict) and isinstance(e.get("ph"), str) for e in events):
        return "chrome", docs
    return "OTHER JSON", docs


def unclosed(text):
    """A list of events may end without its bracket, after a comma or not."""
    text = text.rstrip()
    if not text.startswith("[") or text.endswith("]") or '"ph"' not in text[:4096]:
        return None
    try:
        return documents(text.rstrip(",") + "]")
    except ValueError:
        return None


def number(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if byte < 0x80:
            return value, at


def fields(data):
    """The fields of a message of protobuf: number -> values, bytes or ints; None if the data are not a message."""
    found, at = {}, 0
    try:
        while at < len(data):
            key, at = number(data, at)
            wire = key & 7
            if wire == 0:
                value, at = number(data, at)
            elif wire in (1, 5):
                value, at = None, at + (8 if wire == 1 else 4)
            elif wire == 2:
                size, at = number(data, at)
                value, at = data[at : at + size], at + size
            else:
                return None
            found.setdefault(key >> 3, []).append(value)
    except IndexError:
        return None
    return found if at == len(data) and 0 not in found else None


def is_packet(packet):
    """Whether a message is one of Perfetto's: with a sequence (10), a time (8), a trace's config (33), an event of the kernel (1) alone …"""
    return bool(packet) and bool(set(packet) & {8, 10, 33, 36, 60, 6, 44, 2, 56}) and not any(n <= 7 and n not in (1, 2, 3, 4, 6) for n in packet)


def text_kind(data):
    if b"\0" in data and data[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        return "BINARY"
    text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8", "replace")
    lines = [l for l in text.splitlines() if l.strip() and not l.startswith("#")]
    if lines and all(re.search(r"\S.* -?[0-9]+(\.[0-9]+)?$", l) for l in lines) and any(";" in l for l in lines):
        return "folded"
    return "TEXT"
