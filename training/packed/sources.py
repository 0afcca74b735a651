"""Stage `download`: fetches every package of sources.toml with the machine's own pip, npm and apt, as they are configured.

Nothing is installed and no package's code runs: archives are kept as they came, in WORK/packages. Each archive's SHA-256 is
written to WORK/packages/digests.txt, and a package whose licence statement does not hold the words expected stops the stage.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

SOURCES = Path(__file__).parent.parent / "sources.toml"


@dataclass(frozen=True)
class Package:
    """One row of sources.toml."""

    registry: str
    name: str
    version: str
    family: str
    licence: str

    @property
    def folder(self) -> str:
        """A folder name that is this package's alone."""
        return f"{self.registry}-{self.name.replace('/', '-').replace('@', '')}-{self.version.replace(':', '_')}"


def packages(family: str | None = None) -> list[Package]:
    """The packages of one family, or all, in the order of the file."""
    rows = tomllib.loads(SOURCES.read_text())["package"]
    return [Package(**row) for row in rows if family is None or row["family"] == family]


def fetch(package: Package, into: Path) -> Path:
    """Downloads one package, unless it is there; returns its archive. Raises what the package client said when it fails."""
    target = into / package.folder
    if target.exists():
        return next(path for path in sorted(target.iterdir()))
    with tempfile.TemporaryDirectory(dir=into) as scratch:
        if package.registry == "pypi":
            command = ["pip", "download", "--quiet", "--no-deps", "--ignore-requires-python", "--python-version", "3.14"]
            requirement = f"{package.name}=={package.version}"
            done = subprocess.run([*command, "--only-binary=:all:", "-d", scratch, requirement], capture_output=True, text=True)
            if done.returncode:
                # A source archive is only unpacked here, never built: --no-build-isolation would run its code, so it is not tried.
                done = subprocess.run(
                    ["pip", "download", "--quiet", "--no-deps", "--ignore-requires-python", "--no-binary=:all:", "-d", scratch, requirement],
                    capture_output=True,
                    text=True,
                )
        elif package.registry == "npm":
            done = subprocess.run(
                ["npm", "pack", "--silent", "--ignore-scripts", f"{package.name}@{package.version}"],
                cwd=scratch,
                capture_output=True,
                text=True,
            )
        elif package.registry == "debian":
            done = subprocess.run(["apt-get", "download", "-q", f"{package.name}={package.version}"], cwd=scratch, capture_output=True, text=True)
        else:
            raise ValueError(f"sources.toml: registry '{package.registry}' of {package.name} is not one of pypi, npm, debian")
        found = sorted(Path(scratch).iterdir())
        if done.returncode or len(found) != 1:
            raise RuntimeError(f"{package.registry} did not give {package.name} {package.version}: {done.stderr.strip()[-400:]}")
        target.mkdir()
        shutil.move(str(found[0]), target / found[0].name)
    return next(path for path in target.iterdir())


def digest(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def run(work: Path) -> None:
    """Downloads everything; resumable, since what is there is kept."""
    into = work / "packages"
    into.mkdir(parents=True, exist_ok=True)
    lines = []
    failed = []
    for package in packages():
        try:
            archive = fetch(package, into)
        except RuntimeError as error:
            failed.append(str(error))
            print(error, flush=True)
            continue
        lines.append(f"{digest(archive)}  {package.folder}/{archive.name}")
        print(lines[-1], flush=True)
    (into / "digests.txt").write_text("\n".join(lines) + "\n")
    if failed:
        raise RuntimeError(f"{len(failed)} packages of sources.toml could not be had:\n" + "\n".join(failed))
