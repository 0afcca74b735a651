"""Recall of the model alone on question sets in the project's format: DIR/SET/tools.jsonl and queries.jsonl.

The tool's text is its name split into words, ". ", and the first 400 characters of its description. Used to compare variants,
always on means over sets and languages; nothing is trained on these sets.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

MOST_QUESTIONS = 500
"""Of one language in one set, the first ones."""


@dataclass(frozen=True)
class QuestionSet:
    name: str
    tools: list[str]
    questions: list[str]
    languages: list[str]
    relevant: list[set[int]]


def words_of(name: str) -> str:
    """A tool's name as words, without the prefix of its server."""
    name = re.sub(r"^.*__", "", name)
    return re.sub(r"[_\-.:/]+", " ", re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name))


def load(folder: Path) -> QuestionSet:
    tools = [json.loads(line) for line in (folder / "tools.jsonl").read_text().splitlines()]
    place = {tool["name"]: i for i, tool in enumerate(tools)} | {tool["id"]: i for i, tool in enumerate(tools) if "id" in tool}
    count: dict[str, int] = defaultdict(int)
    questions, languages, relevant = [], [], []
    for line in (folder / "queries.jsonl").read_text().splitlines():
        row = json.loads(line)
        language = row.get("lang") or "en"
        count[language] += 1
        gold = {place[name] for name in row["relevant"] if name in place}
        if count[language] <= MOST_QUESTIONS and gold:
            questions.append(row["query"])
            languages.append(language)
            relevant.append(gold)
    texts = [f"{words_of(tool['name'])}. {(tool.get('description') or '')[:400]}" for tool in tools]
    return QuestionSet(folder.name, texts, questions, languages, relevant)


def recall(questions: QuestionSet, encode_tools: Callable[[list[str]], np.ndarray], encode_questions: Callable[[list[str]], np.ndarray], k: int = 5) -> dict[str, tuple[float, int]]:
    """Recall@k by language, with the number of questions."""
    similarity = encode_questions(questions.questions) @ encode_tools(questions.tools).T
    rows: dict[str, list[float]] = defaultdict(list)
    for place, gold in enumerate(questions.relevant):
        top = set(np.argsort(-similarity[place], kind="stable")[:k].tolist())
        rows[questions.languages[place]].append(len(gold & top) / len(gold))
    return {language: (float(np.mean(values)), len(values)) for language, values in rows.items()}


def held_out(encoder: object, pairs: dict[str, list[tuple[str, str]]], among: int = 400, seed: int = 3) -> dict[str, float]:
    """Recall@1 of held-out translations among `among` held-out English strings, by language, through the router."""
    out = {}
    for language, rows in pairs.items():
        rows = [rows[i] for i in np.random.default_rng(seed).permutation(len(rows))[:among]]
        similarity = encoder.encode([translation for _, translation in rows]) @ encoder.encode([english for english, _ in rows]).T
        out[language] = float((similarity.argmax(1) == np.arange(len(rows))).mean())
    return out


def table(encoder: object, folders: list[Path]) -> dict[str, dict[str, tuple[float, int]]]:
    """Recall@5 of the model alone for every set and language."""
    return {questions.name: recall(questions, encoder.tools, encoder.encode) for questions in map(load, folders)}
