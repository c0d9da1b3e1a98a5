#!/usr/bin/env python3
"""Writes vkrope's calls into the Vulkan backend of ggml's source tree, or of llama.cpp's folder ggml/.

    apply.py TREE          writes ten lines
    apply.py --undo TREE   takes them out again

Then build ggml with -DGGML_VULKAN=ON and -DGGML_VKROPE= with the absolute path of vkrope's sources. The lines fit ggml's commit
d99724f2 of August 2026 and llama.cpp v0.5.0 (de3ff815)."""
import pathlib
import re
import sys

BACKEND = "src/ggml-vulkan/ggml-vulkan.cpp"
TYPES = "src/ggml-vulkan/ggml-vulkan-types.h"  # newer trees have the structures there, older ones in BACKEND
LISTS = "src/ggml-vulkan/CMakeLists.txt"
LINKS = r"    target_link_libraries\(ggml-vulkan "
# apply.py finds the first match of the first pattern, then the next match of the second, and writes the line before that.
LINES = [
    (TYPES, r"struct ggml_backend_vk_context \{", "    vk_device device;", "    std::shared_ptr<struct vkrope_state> vkrope;"),
    (BACKEND, "", r"(static )?bool ggml_vk_build_graph\(", '#include "vkrope.hpp"'),
    (BACKEND, r"    vk_context compute_ctx = ", r"    switch \(node->op\) \{",
     "    if (!vkrope_record(ctx, compute_ctx, cgraph, node_idx))"),
    (BACKEND, r"(static )?void ggml_vk_cleanup\(.*\{$", r"    ggml_vk_graph_cleanup\(ctx\);", "    ctx->vkrope.reset();"),
    (BACKEND, r"static ggml_status ggml_backend_vk_graph_compute\(.*\{$", "    int last_node = ", "    vkrope_prepare(ctx, cgraph);"),
    (LISTS, "", LINKS, "    set(VKROPE_STATIC ON)"),
    (LISTS, "", LINKS, "    add_subdirectory(${GGML_VKROPE} vkrope EXCLUDE_FROM_ALL)"),
    (LISTS, "", LINKS, "    target_sources(ggml-vulkan PRIVATE $<TARGET_OBJECTS:vkrope>)"),
    (LISTS, "", LINKS, "    target_include_directories(ggml-vulkan PRIVATE ${GGML_VKROPE}/tests/engine/ggml"),
    (LISTS, "", LINKS, "        $<TARGET_PROPERTY:vkrope,INTERFACE_INCLUDE_DIRECTORIES>)"),
]


def refuse(sentence):
    print(f"apply.py: {sentence}", file=sys.stderr)
    sys.exit(2)


def with_line(text, path, behind, before, line):
    start = re.search("^" + behind, text, re.MULTILINE)
    place = start and re.compile("^" + before, re.MULTILINE).search(text, start.start())
    if not place:
        refuse(f"{path} has no '{before}' behind '{behind}': this ggml is too old or too new for these lines")
    return text[: place.start()] + line + "\n" + text[place.start() :]


def without_line(text, path, line):
    if text.splitlines().count(line) != 1:
        refuse(f"{path} does not have the line '{line.strip()}' just once; take vkrope's lines out by hand, or get the file anew")
    return text.replace(line + "\n", "")


def main():
    arguments = sys.argv[1:]
    undo = arguments[:1] == ["--undo"]
    if arguments in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    if len(arguments) != 1 + undo:
        refuse("it takes a source tree; --help shows how")
    tree = pathlib.Path(arguments[-1])
    texts = {}
    for path in (BACKEND, LISTS, TYPES):
        if (tree / path).is_file():
            texts[path] = (tree / path).read_text()
        elif path != TYPES:
            refuse(f"{tree} has no {path}; name the folder that holds ggml's src/")
    if not undo and any("vkrope" in text for text in texts.values()):
        refuse(f"{tree} has vkrope's lines already")
    for path, behind, before, line in LINES:
        path = path if path in texts else BACKEND
        texts[path] = without_line(texts[path], path, line) if undo else with_line(texts[path], path, behind, before, line)
    for path, text in texts.items():
        (tree / path).write_text(text)
    print(f"{len(LINES)} lines {'taken out' if undo else 'written'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
