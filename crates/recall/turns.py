#!/usr/bin/env python3
"""Makes turns and questions out of labelled session traces, for `cargo xtask recall --turns FILE`.

usage: turns.py FOLDER OUT

FOLDER holds labels.jsonl and traces/ (formats claude, codex, pi, gemini, opencode, aider, specstory,
copilot-md). OUT becomes JSON Lines: one object a trace with its turns (speaker: user, assistant or tool) and
its questions: a label's claim, answered by the turns that its evidence lies in.
"""

import json
import pathlib
import re
import sys

SPEAKERS = {"user": "user", "human": "user", "developer": "user", "gemini": "assistant", "model": "assistant",
            "assistant": "assistant", "toolResult": "tool", "tool": "tool", "function": "tool"}


def texts(content):
    """The texts of a message's content, each with whether a tool said it."""
    if isinstance(content, str):
        yield content, False
    for part in content if isinstance(content, list) else []:
        if isinstance(part, str):
            yield part, False
        elif isinstance(part, dict):
            kind = part.get("type", "text")
            if kind in ("text", "input_text", "output_text") and isinstance(part.get("text"), str):
                yield part["text"], False
            elif kind == "tool_result":
                yield from ((text, True) for text, _ in texts(part.get("content")))


def turn(place, speaker, parts):
    for is_tool in (False, True):
        text = "\n".join(text.strip() for text, tool in parts if tool == is_tool and text.strip())
        if text:
            yield {"place": place, "speaker": "tool" if is_tool else speaker, "text": text}


def of_lines(path):
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        message = entry.get("message") if isinstance(entry.get("message"), dict) else entry.get("payload", {})
        if not isinstance(message, dict):
            continue
        if message.get("type") == "function_call_output":
            output = message.get("output")
            yield from turn(number, "tool", [(output if isinstance(output, str) else json.dumps(output), False)])
            continue
        speaker = SPEAKERS.get(message.get("role"))
        if speaker:
            yield from turn(number, speaker, list(texts(message.get("content"))))


def of_messages(path):
    for number, message in enumerate(json.loads(path.read_text())["messages"]):
        speaker = SPEAKERS.get(message.get("type") or message.get("info", {}).get("role"))
        parts = list(texts(message.get("content")))
        for part in message.get("parts", []):
            if part.get("type") == "text":
                parts.append((part.get("text", ""), False))
            elif part.get("type") == "tool":
                parts.append((str(part.get("state", {}).get("output") or ""), True))
        for call in message.get("toolCalls", []) or []:
            for result in call.get("result", []) or []:
                response = result.get("functionResponse", {}).get("response", {}) if isinstance(result, dict) else {}
                parts.append((str(response.get("output") or ""), True))
        if speaker:
            yield from turn(number, speaker, parts)


def of_markdown(path, form):
    """Turns by their headings; those of aider by the `####` before what the user typed."""
    speaker, start, lines = None, 1, []
    for number, line in enumerate(path.read_text(errors="replace").splitlines() + [None], 1):
        heading = None
        if line is None:
            heading = "end"
        elif form == "specstory":
            found = re.match(r"_\*\*(User|Assistant|Agent)", line)
            heading = found and ("user" if found[1] == "User" else "assistant")
        elif form == "copilot-md":
            heading = "user" if re.match(r"# \w+: ", line) else "assistant" if line.startswith("**GitHub Copilot:**") else None
        else:
            heading = "user" if line.startswith("#### ") else "tool" if line.startswith("> ") else None
            if heading is None and speaker in ("user", "tool") and line.strip():
                heading = "assistant"
            if heading == speaker:
                heading = None
        if heading:
            text = "\n".join(lines).strip()
            if speaker and text:
                yield {"place": start, "until": number - 1, "speaker": speaker, "text": text}
            speaker, start, lines = heading, number, []
        if line is not None:
            lines.append(line.removeprefix("#### ") if form == "aider" else line)


def main(folder, out):
    folder = pathlib.Path(folder)
    with open(out, "w") as written:
        for line in (folder / "labels.jsonl").read_text().splitlines():
            label = json.loads(line)
            path, form = folder / label["file"], label["format"]
            if form in ("gemini", "opencode"):
                turns = list(of_messages(path))
            elif path.suffix == ".md":
                turns = list(of_markdown(path, form))
            else:
                turns = list(of_lines(path))
            questions = []
            for one in label["labels"]:
                places = [int(place.lstrip("m")) for place in one["evidence"] if place.lstrip("m").isdigit()]
                answers = [at for at, turn in enumerate(turns)
                           if any(turn["place"] <= place <= turn.get("until", turn["place"]) for place in places)]
                if answers:
                    questions.append({"question": one["claim"], "answers": answers})
            turns = [{"speaker": turn["speaker"], "text": turn["text"]} for turn in turns]
            written.write(json.dumps({"session": label["id"], "group": label["repo"], "turns": turns,
                                      "questions": questions}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
