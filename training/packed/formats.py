"""Parsers of translation files; each gives (key, string) pairs and skips what it cannot read."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator

Pairs = Iterator[tuple[str, str]]


def flat(value: object, path: str = "") -> Pairs:
    """Strings of nested JSON, lists of strings joined by commas."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from flat(inner, f"{path}.{key}")
    elif isinstance(value, list):
        if value and all(isinstance(inner, str) for inner in value):
            yield path, ", ".join(value)
        else:
            for place, inner in enumerate(value):
                yield from flat(inner, f"{path}.{place}")
    elif isinstance(value, str):
        yield path, value


def from_json(text: str) -> Pairs:
    try:
        yield from flat(json.loads(text))
    except ValueError:
        return


SCRIPT_TOKEN = re.compile(
    r'"((?:[^"\\]|\\.)*)"|\'((?:[^\'\\]|\\.)*)\'|`((?:[^`\\]|\\.)*)`|([A-Za-z_$][\w$.]*)|([{}\[\]:,;=()])|//[^\n]*|/\*.*?\*/', re.S
)


def unescape(text: str) -> str:
    """\\uXXXX and the usual backslashes; surrogate pairs joined."""
    text = re.sub(r"\\u\{?([0-9a-fA-F]{4,5})\}?", lambda found: chr(int(found.group(1), 16)), text)
    text = text.replace("\\n", " ").replace("\\'", "'").replace('\\"', '"')
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def from_script(text: str) -> Pairs:
    """`key: "string"` and `key = "string"` of a JavaScript or TypeScript file, keys by their path of braces."""
    path: list[str] = []
    key = last = None
    waiting = False
    for found in SCRIPT_TOKEN.finditer(text):
        double, single, template, name, sign = found.groups()
        string = double if double is not None else single if single is not None else template
        if sign == "{":
            path.append(str(last) if waiting else "?")
            waiting, last = False, None
        elif sign == "}":
            if path:
                path.pop()
            waiting, last = False, None
        elif sign in (":", "="):
            waiting, key = last is not None, last
            if sign == "=":
                last = "?"
        elif sign in (",", ";"):
            waiting, last = False, None
        elif string is not None:
            if waiting:
                yield ".".join([*path, str(key)]), unescape(string)
                waiting, last = False, None
            else:
                last = string
        elif name and not waiting:
            last = name


def from_properties(text: str) -> Pairs:
    for found in re.finditer(r"^[ \t]*([^#!\s=:][^=:\n]*?)\s*[=:][ \t]*(.*(?:\\\n.*)*)$", text, re.M):
        yield found.group(1), unescape(found.group(2).replace("\\\n", " "))


def _quoted(text: str) -> str:
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text)).replace("\\n", " ").replace('\\"', '"').replace("\\t", " ")


def from_po(text: str) -> Pairs:
    """The English string is the key; fuzzy and obsolete entries are left out."""
    for block in re.split(r"\n\s*\n", text):
        if "#~" in block or "#, fuzzy" in block:
            continue
        source = re.search(r'^msgid ((?:".*"\s*)+)', block, re.M)
        target = re.search(r'^msgstr(?:\[0\])? ((?:".*"\s*)+)', block, re.M)
        if source and target and _quoted(source.group(1)) and _quoted(target.group(1)):
            yield _quoted(source.group(1)), _quoted(target.group(1))


def from_mo(data: bytes) -> Pairs:
    """The English string is the key; of plurals the first and the last form."""
    order = "<" if struct.unpack("<I", data[:4])[0] == 0x950412DE else ">"
    _, _, count, sources, targets = struct.unpack(order + "5I", data[:20])
    for place in range(count):
        length, at = struct.unpack_from(order + "2I", data, sources + 8 * place)
        length2, at2 = struct.unpack_from(order + "2I", data, targets + 8 * place)
        try:
            source = data[at : at + length].decode().rsplit("\x04", 1)[-1].split("\0")
            target = data[at2 : at2 + length2].decode().split("\0")
        except UnicodeDecodeError:
            continue
        if source[0] and target[0]:
            yield source[0], target[0]
            if len(source) > 1 and len(target) > 1:
                yield source[1], target[-1]


def from_pak(data: bytes) -> dict[int, str]:
    """Chromium's resource pack, version 5: strings by resource number."""
    version, encoding = struct.unpack_from("<IB", data)
    if version != 5:
        raise ValueError(f"a resource pack of version {version}; 5 is known")
    count, aliases = struct.unpack_from("<HH", data, 8)
    entries = [struct.unpack_from("<HI", data, 12 + 6 * place) for place in range(count + 1)]
    codec = "utf-8" if encoding == 1 else "utf-16le"
    strings = {entries[place][0]: data[entries[place][1] : entries[place + 1][1]].decode(codec, "replace") for place in range(count)}
    for place in range(aliases):
        number, of = struct.unpack_from("<HH", data, 12 + 6 * (count + 1) + 4 * place)
        strings[number] = strings[entries[of][0]]
    return strings


def _arsc_pool(data: bytes, at: int) -> tuple[list[str], int]:
    """A string pool of a resource table, and its size in bytes."""
    _, header, size, count, _, flags, start, _ = struct.unpack_from("<HHIIIIII", data, at)
    strings = []
    for offset in struct.unpack_from(f"<{count}I", data, at + header):
        p = at + start + offset
        if flags & 0x100:
            p += 2 if data[p] & 0x80 else 1
            length, p = data[p], p + 1
            if length & 0x80:
                length, p = (length & 0x7F) << 8 | data[p], p + 1
            strings.append(data[p : p + length].decode("utf-8", "replace"))
        else:
            length, p = struct.unpack_from("<H", data, p)[0], p + 2
            if length & 0x8000:
                length, p = (length & 0x7FFF) << 16 | struct.unpack_from("<H", data, p)[0], p + 2
            strings.append(data[p : p + 2 * length].decode("utf-16le", "replace"))
    return strings, size


def from_arsc(data: bytes) -> dict[str, dict[tuple[int, int, int], str]]:
    """Android's compiled resource table: language → resource → string; the default language is ''."""
    strings, size = _arsc_pool(data, 12)
    out: dict[str, dict[tuple[int, int, int], str]] = {}
    at = 12 + size
    while at < len(data):
        kind, header, size = struct.unpack_from("<HHI", data, at)
        inner = at + header if kind == 0x200 else at + size
        while inner < at + size:
            kind2, header2, size2 = struct.unpack_from("<HHI", data, inner)
            if kind2 == 0x201:
                number, _, _, entries, start = struct.unpack_from("<BBHII", data, inner + 8)
                code = data[inner + 28 : inner + 30]
                if code[0] & 0x80:  # three letters packed into two bytes
                    letters = (code[1] & 0x1F, (code[1] & 0xE0) >> 5 | (code[0] & 3) << 3, (code[0] & 0x7C) >> 2)
                    language = "".join(chr(97 + letter) for letter in letters)
                else:
                    language = code.rstrip(b"\0").decode("latin-1")
                table = out.setdefault(language, {})
                for entry in range(entries):
                    offset = struct.unpack_from("<I", data, inner + header2 + 4 * entry)[0]
                    if offset == 0xFFFFFFFF:
                        continue
                    p = inner + start + offset
                    length, flags, _ = struct.unpack_from("<HHI", data, p)
                    if flags & 1:
                        _, count = struct.unpack_from("<II", data, p + 8)
                        for place in range(count):
                            name, _, _, value_kind, value = struct.unpack_from("<IHBBI", data, p + 16 + 12 * place)
                            if value_kind == 3:
                                table.setdefault((number, entry, name if name & 0xFFFF0000 == 0x01000000 else place), strings[value])
                    else:
                        _, _, value_kind, value = struct.unpack_from("<HBBI", data, p + length)
                        if value_kind == 3:
                            table.setdefault((number, entry, 0), strings[value])
            inner += size2
        at += size
    return out


def parse(name: str, data: bytes) -> list[tuple[str, str]]:
    """The pairs of a keyed file, by the ending of its name."""
    text = data.decode("utf-8", "replace")
    if name.endswith(".json"):
        return list(from_json(text))
    if name.endswith((".js", ".mjs", ".cjs", ".ts")):
        return list(from_script(text))
    if name.endswith(".properties"):
        return list(from_properties(text))
    return []
