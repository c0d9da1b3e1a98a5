#!/usr/bin/env python3
"""apply.py TREE: writes vkrope's calls into the Vulkan backend of ggml's source tree, or of llama.cpp's folder ggml/.

Then build ggml with -DGGML_VULKAN=ON and -DGGML_VKROPE= with the absolute path of vkrope's sources. The lines were made for
ggml's commit d99724f2 of August 2026."""
import pathlib
import re
import sys

BACKEND = "src/ggml-vulkan/ggml-vulkan.cpp"
LISTS = "src/ggml-vulkan/CMakeLists.txt"
LINKS = r"    target_link_libraries\(ggml-vulkan "
# apply.py finds the first match of the first pattern, then the next match of the second, and writes the line before that.
LINES = [
    (BACKEND, r"struct ggml_backend_vk_context \{", "    vk_device device;", "    std::shared_ptr<struct vkrope_state> vkrope;"),
    (BACKEND, "", r"static bool ggml_vk_build_graph\(", '#include "vkrope.hpp"'),
    (BACKEND, r"    vk_context compute_ctx = ", r"    switch \(node->op\) \{", "    if (!vkrope_record(ctx, compute_ctx, node, node_idx))"),
    (BACKEND, r"static void ggml_vk_cleanup\(.*\{$", r"    ggml_vk_graph_cleanup\(ctx\);", "    ctx->vkrope.reset();"),
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


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        return 0 if len(sys.argv) == 2 else 2
    tree = pathlib.Path(sys.argv[1])
    texts = {}
    for path in (BACKEND, LISTS):
        if not (tree / path).is_file():
            refuse(f"{tree} has no {path}; name the folder that holds ggml's src/")
        texts[path] = (tree / path).read_text()
        if "vkrope" in texts[path]:
            refuse(f"{tree / path} has vkrope's lines already")
    for path, *rest in LINES:
        texts[path] = with_line(texts[path], path, *rest)
    for path, text in texts.items():
        (tree / path).write_text(text)
    print(f"{len(LINES)} lines written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
