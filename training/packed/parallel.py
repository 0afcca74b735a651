"""Stages `extract` and `merge`: English strings with their translations, from the files of every clean package.

Files are paired by name: two names that differ only in a language tag, one of them English, hold the same keys. Catalogues
(.mo, .po) carry the English string themselves. Chromium's and Android's resources are paired by resource number.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections import Counter, defaultdict
from pathlib import Path

from . import archives, formats, sources
from .strings import plain, worthwhile

LANGUAGES = frozenset(
    "af am ar az be bg bn bs ca cs cy da de el en eo es et eu fa fi fr ga gl gu he hi hr hu hy id is it ja ka kk km kn ko ky lo lt lv mk ml mn mr ms my ne nl no"
    " or pa pl ps pt ro ru si sk sl sq sr sv sw ta te th tl tr uk ur uz vi zh zu".split()
)
ALIASES = {"nb": "no", "nn": "", "iw": "he", "in": "id", "sh": "", "cmn": "zh", "fil": "tl"}
"""Older or wider codes; Nynorsk is left out, since its share would blur the Bokmål of questions."""
TAG = re.compile(r"(?<![A-Za-z0-9])([a-z]{2,3})((?:[-_](?:[A-Z][a-z]{3}|[A-Z]{2}|[a-z]{2}|\d{3}))*)(?![A-Za-z])")
BUILD_HASH = re.compile(r"-[A-Za-z0-9_-]{8,32}(\.(?:json|js|mjs|cjs))$")
UNWANTED = re.compile(r"locale-data|calendar|ca-|dateFields|timeZone|/numbers|\.d\.ts|intl-|hyphenopoly|/cldr/|territorySub|subdivisions|posix|/node_modules/|sr-?_?latn", re.I)
ENGLISH = ("en", "en_EN", "en-US", "en_US", "en-us", "en_us", "en-GB", "en_GB")
KEYED = (".json", ".js", ".mjs", ".cjs", ".properties")
OWN_SCRIPT = {"hi": "\u0900-\u097f", "bn": "\u0980-\u09ff", "el": "\u0370-\u03ff\u1f00-\u1fff", "he": "\u0590-\u05ff", "fa": "\u0600-\u06ff", "bg": "\u0400-\u04ff", "uk": "\u0400-\u04ff"}
"""A translation into these must hold two characters of the script (untranslated strings and transliterations do not)."""


def language_of(tag: str) -> str:
    """The bare language of a tag, '' for one that is not wanted."""
    if "Latn" in tag:
        return ""
    code = re.split(r"[_@-]", tag)[0].lower()
    code = ALIASES.get(code, code)
    return code if code in LANGUAGES else ""


class Pairs:
    """Collects (language, English, translation), cleaned."""

    def __init__(self) -> None:
        self.rows: set[tuple[str, str, str]] = set()

    def add(self, language: str, english: str, translation: str) -> None:
        if language in ("", "en"):
            return
        source, target = plain(english), plain(translation)
        if not worthwhile(source) or not worthwhile(target) or source.lower() == target.lower():
            return
        if language in OWN_SCRIPT and len(re.findall(f"[{OWN_SCRIPT[language]}]", target)) < 2:
            return
        self.rows.add((language, source, target))


def tagged_groups(names: list[str]) -> list[tuple[str, str, dict[str, str]]]:
    """Names that differ in one language tag: (English tag, English name, the others by tag)."""
    groups: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for name in names:
        bare = BUILD_HASH.sub(r"\1", name)
        for found in TAG.finditer(bare):
            if found.group(1) in LANGUAGES or found.group(1) in ALIASES:
                groups[bare[: found.start()], bare[found.end() :]][found.group()] = name
    out = []
    for group in groups.values():
        tag = next((tag for tag in ENGLISH if tag in group), None)
        if tag and len(group) > 1:
            out.append((tag, group[tag], {other: name for other, name in group.items() if not other.startswith("en")}))
    return out


def keyed(data: bytes, name: str, tag: str) -> dict[str, str]:
    """Strings of one file by key, with the language tag taken out of the keys."""
    same = {tag, tag.replace("_", "-"), tag.replace("-", "_"), re.split("[-_]", tag)[0]}
    return {".".join(part for part in key.split(".") if part not in same): value for key, value in formats.parse(name, data)}


def from_files(archive: Path, pairs: Pairs) -> None:
    """Catalogues and keyed files of any package."""
    names: dict[str, bytes] = {}
    for name, data in archives.members(archive, lambda name: name.endswith((*KEYED, ".po", ".mo")) and not UNWANTED.search(name)):
        if name.endswith((".po", ".mo")):
            found = re.search(r"/([a-z]{2,3}(?:[_-][A-Za-z]{2,4})?)(?:/LC_MESSAGES/|\.po$)", name)
            if found and language_of(found.group(1)):
                for english, translation in formats.from_mo(data) if name.endswith(".mo") else formats.from_po(data.decode("utf-8", "replace")):
                    pairs.add(language_of(found.group(1)), english, translation)
        else:
            names[name] = data
    for tag, english_name, others in tagged_groups(list(names)):
        english = keyed(names[english_name], english_name, tag)
        if not english:
            continue
        for other, name in others.items():
            language = language_of(other)
            if not language:
                continue
            for key, translation in keyed(names[name], name, other).items():
                if key in english:
                    pairs.add(language, english[key] or key.split(".", 1)[-1], translation)


def from_chromium(l10n: Path, common: Path, pairs: Pairs) -> None:
    """Chromium's locale packs, aligned with the English one of chromium-common by resource number."""
    def is_pack(name: str) -> bool:
        return "/chromium/locales/" in name and name.endswith(".pak")

    english = next(formats.from_pak(data) for name, data in archives.members(common, is_pack) if name.endswith("/en-US.pak"))
    for name, data in archives.members(l10n, is_pack):
        language = language_of(Path(name).stem)
        if language in ("", "en"):
            continue
        for number, translation in formats.from_pak(data).items():
            if number in english:
                pairs.add(language, english[number], translation)


def from_android(archive: Path, pairs: Pairs) -> None:
    """The framework's compiled resource table."""
    for _, data in archives.members(archive, lambda name: name.endswith("framework-res.apk")):
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            tables = formats.from_arsc(package.read("resources.arsc"))
        for code, table in tables.items():
            for resource, translation in table.items():
                english = tables[""].get(resource, "")
                if not english.startswith("res/"):
                    pairs.add(language_of(code), english, translation)


def extract(work: Path) -> None:
    """Writes WORK/pairs/PACKAGE.tsv for every clean package; one that is there is kept."""
    out = work / "pairs"
    out.mkdir(exist_ok=True)
    rows = sources.packages("clean")
    for package in rows:
        target = out / f"{package.folder}.tsv"
        if target.exists() or package.name == "chromium-common":
            continue
        archive = sources.fetch(package, work / "packages")
        statement = archives.licence_statement(archive)
        if not archives.states(package.licence, statement):
            raise RuntimeError(f"{package.name} {package.version} does not state {package.licence} but: {statement[:300]!r}")
        pairs = Pairs()
        if package.name == "chromium-l10n":
            from_chromium(archive, sources.fetch(next(p for p in rows if p.name == "chromium-common"), work / "packages"), pairs)
        elif package.name == "android-framework-res":
            from_android(archive, pairs)
        else:
            from_files(archive, pairs)
        partial = target.with_suffix(".partial")
        partial.write_text("".join(f"{language}\t{english}\t{translation}\n" for language, english, translation in sorted(pairs.rows)))
        partial.replace(target)
        count = Counter(language for language, _, _ in pairs.rows)
        print(f"{package.name}: {sum(count.values())} pairs, {sum(n >= 20 for n in count.values())} languages, lt {count['lt']} hi {count['hi']}", flush=True)


def load(work: Path) -> dict[str, dict[tuple[str, str], str]]:
    """Every distinct pair by language, each with the package it was first seen in (packages in the order of sources.toml)."""
    out: dict[str, dict[tuple[str, str], str]] = defaultdict(dict)
    for package in sources.packages("clean"):
        path = work / "pairs" / f"{package.folder}.tsv"
        if path.exists():
            for line in path.read_text().split("\n")[:-1]:
                language, english, translation = line.split("\t")
                out[language].setdefault((english, translation), package.name)
    return dict(out)
