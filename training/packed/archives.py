"""Reads files out of wheels, npm tarballs and Debian packages without unpacking them to disk; nothing is executed."""

from __future__ import annotations

import re
import subprocess
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

MOST_BYTES = 80_000_000
"""Larger members are skipped (the largest wanted one is a resource table of 30 MB)."""


def members(path: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    """Every wanted regular file of an archive as (name, content)."""
    if path.suffix == ".deb":
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(path)], stdout=subprocess.PIPE) as process:
            with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
                for member in archive:
                    if member.isfile() and member.size < MOST_BYTES and wanted(member.name):
                        yield member.name, archive.extractfile(member).read()
    elif path.name.endswith((".tgz", ".tar.gz")):
        with tarfile.open(path) as archive:
            for member in archive:
                if member.isfile() and member.size < MOST_BYTES and wanted(member.name):
                    yield member.name, archive.extractfile(member).read()
    else:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                if not entry.is_dir() and entry.file_size < MOST_BYTES and wanted(entry.filename):
                    yield entry.filename, archive.read(entry)


WORDS = {
    "Apache-2.0": r"Apache",
    "MIT": r"\bMIT\b|Permission is hereby granted, free of charge",
    "BSD-2-Clause": r"BSD|Redistributions? (and use|of source code)",
    "BSD-3-Clause": r"BSD|Redistributions? (and use|of source code)",
    "ISC": r"\bISC\b",
    "Unicode-3.0": r"Unicode",
}


def licence_statement(path: Path) -> str:
    """What a package says of its licence: licence fields and classifiers, `license` of package.json, or debian/copyright."""
    if path.suffix == ".deb":
        name = path.name.split("_")[0]
        return "\n".join(body.decode("utf-8", "replace") for _, body in members(path, lambda member: member.endswith(f"doc/{name}/copyright")))
    if path.name.endswith(".tgz"):
        found = [body for _, body in members(path, lambda member: member == "package/package.json")]
        return "\n".join(re.findall(r'"licenses?"\s*:\s*(?:"[^"]*"|[\[{][^\]}]*[\]}])', found[0].decode()))
    found = [body for _, body in members(path, lambda member: bool(re.search(r"(\.dist-info/METADATA|/PKG-INFO)$", member)))]
    return "\n".join(re.findall(r"^(?:License.*|Classifier: License.*)$", found[0].decode("utf-8", "replace"), re.M))


def states(licence: str, statement: str) -> bool:
    """Whether a statement holds the words of a licence."""
    return bool(re.search(WORDS[licence], statement))
