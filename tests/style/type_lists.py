#!/usr/bin/env python3
"""Each model type in the lists of host/config/own_keys.cpp is a row of kModels in host/config/models.cpp."""
import os
import re
import sys

CONFIG = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "host", "config")


def text_of(name):
    with open(os.path.join(CONFIG, name), encoding="utf-8") as file:
        return file.read()


rows = set(re.findall(r'^\s*\{"([\w-]+)",\s+k\w+,', text_of("models.cpp"), re.M))
tables = re.split(r"^\w+ \w+\(", text_of("own_keys.cpp"), maxsplit=1, flags=re.M)[0]  # the functions come behind them
texts = re.findall(r'"((?:\\.|[^"\\])*)"', re.sub(r'"\s*\n\s*"', "", tables))  # a text may go on in the next line
words = [word for text in texts if re.fullmatch(r" (?:\S+ )+", text) for word in text.split()]
strangers = sorted(set(words) - rows)
print("\n".join(f"{word} is no row of kModels" for word in strangers) or f"{len(words)} words, {len(rows)} rows")
sys.exit(1 if strangers or len(words) < 50 or len(rows) < 200 else 0)
