"""Turns an interface string into plain text, and decides which strings are worth learning from."""

from __future__ import annotations

import re

TAG = re.compile(r"<[^>]{1,300}>")
PLACEHOLDER = re.compile(
    r"%\([a-zA-Z_]+\)[sd]|%\d*\$?[-+0]?\d*(?:\.\d+)?l?l?[sdiufgxXc@]\b|%[0-9n]|%\{[^}]*\}|\$\{?[a-zA-Z_]+\}?|\{\{?[^{}]{0,60}\}?\}|\$\d|\[%[^\]]*%\]"
)
PLURAL = re.compile(r"\{\s*\w+\s*,\s*(?:plural|select|selectordinal)\s*,")
ADDRESS = re.compile(r"https?://\S+")
LETTER = re.compile(r"[^\W\d_]")
IDENTIFIER = re.compile(r"[a-z0-9]+([._-][a-zA-Z0-9]+)+")
ENTITIES = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'", "&nbsp;": " ", "\\n": " ", "\\t": " ", '\\"': '"', "\u200b": "", "\u00ad": "", "''": "'", "`": "", "**": ""}


def _closing(text: str, at: int) -> int:
    """The place after the brace that closes the one before `at`."""
    depth = 1
    while at < len(text) and depth:
        depth += (text[at] == "{") - (text[at] == "}")
        at += 1
    return at


def other_form(text: str) -> str:
    """ICU plural and select messages reduced to their `other` form."""
    for _ in range(4):
        found = PLURAL.search(text)
        if not found:
            break
        end = _closing(text, found.end())
        body = text[found.end() : end - 1]
        opening = body.find("{", body.rfind("other")) if "other" in body else -1
        chosen = body[opening + 1 : _closing(body, opening + 1) - 1] if opening >= 0 else ""
        text = text[: found.start()] + chosen.replace("#", "") + text[end:]
    return text


def plain(text: str) -> str:
    """Without markup, placeholders, addresses, keyboard accelerators; spaces single."""
    if "{" in text:
        text = other_form(text)
    text = ADDRESS.sub(" ", PLACEHOLDER.sub(" ", TAG.sub(" ", text)))
    for entity, character in ENTITIES.items():
        text = text.replace(entity, character)
    text = re.sub(r"&(?=\w)", "", text)
    if text.count("_") == 1:
        text = text.replace("_", "")
    text = re.sub(r"\(_?&?[A-Z]\)$", "", text)
    return re.sub(r"\s+", " ", text).strip()


def worthwhile(text: str) -> bool:
    """2–600 characters, at least two letters, at least half of it letters, not an identifier."""
    letters = len(LETTER.findall(text))
    return 2 <= len(text) <= 600 and letters >= 2 and letters >= 0.5 * len(text.replace(" ", "")) and not IDENTIFIER.fullmatch(text)
