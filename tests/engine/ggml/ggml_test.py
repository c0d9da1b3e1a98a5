#!/usr/bin/env python3
"""ggml_test.py lines FOLDER: how many lines vkrope takes in ggml's Vulkan backend.
ggml_test.py apply FOLDER: apply.py on small files that have the lines it looks for."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
MOST_LINES = 260  # of vkrope.hpp, which is all that an integration takes, without comments and empty lines
MOST_LINES_OF_RAW = 70  # of vkrope_raw.hpp, which may stand in for a part of it
MOST_LINES_IN_GGML = 10

BACKEND = """\
struct ggml_backend_vk_context {
    vk_device device;
};
static void ggml_vk_cleanup(ggml_backend_vk_context * ctx);
static bool ggml_vk_build_graph(ggml_backend_vk_context * ctx, ggml_cgraph * cgraph, int node_idx) {
    vk_context compute_ctx = ggml_vk_get_compute_ctx(ctx);
    switch (node->op) {
    }
}
static void ggml_vk_cleanup(ggml_backend_vk_context * ctx) {
    ggml_vk_graph_cleanup(ctx);
}
static ggml_status ggml_backend_vk_graph_compute(ggml_backend_t backend, ggml_cgraph * cgraph);
static ggml_status ggml_backend_vk_graph_compute(ggml_backend_t backend, ggml_cgraph * cgraph) {
    int last_node = cgraph->n_nodes - 1;
}
"""
LISTS = "if (Vulkan_FOUND)\n    target_link_libraries(ggml-vulkan PRIVATE Vulkan::Vulkan)\nendif()\n"
APPLIED = """\
struct ggml_backend_vk_context {
    std::shared_ptr<struct vkrope_state> vkrope;
    vk_device device;
};
static void ggml_vk_cleanup(ggml_backend_vk_context * ctx);
#include "vkrope.hpp"
static bool ggml_vk_build_graph(ggml_backend_vk_context * ctx, ggml_cgraph * cgraph, int node_idx) {
    vk_context compute_ctx = ggml_vk_get_compute_ctx(ctx);
    if (!vkrope_record(ctx, compute_ctx, cgraph, node_idx))
    switch (node->op) {
    }
}
static void ggml_vk_cleanup(ggml_backend_vk_context * ctx) {
    ctx->vkrope.reset();
    ggml_vk_graph_cleanup(ctx);
}
static ggml_status ggml_backend_vk_graph_compute(ggml_backend_t backend, ggml_cgraph * cgraph);
static ggml_status ggml_backend_vk_graph_compute(ggml_backend_t backend, ggml_cgraph * cgraph) {
    vkrope_prepare(ctx, cgraph);
    int last_node = cgraph->n_nodes - 1;
}
"""
# Newer trees have the structure in a header, and functions that other files call.
TYPES = "struct ggml_backend_vk_context;\n" + BACKEND[: BACKEND.index("static void")]
NEWER = BACKEND[len(TYPES) - len("struct ggml_backend_vk_context;\n"):].replace("static void", "void").replace("static bool", "bool")


def formatted(path):
    done = subprocess.run(["clang-format", "--style=file", str(path)], text=True, check=True, stdout=subprocess.PIPE)
    return [line for line in done.stdout.splitlines() if line.strip() and not line.strip().startswith("//")]


def included(path, folder):
    """The files of the folder that the file includes, and those that these include, where VKROPE_RAW is not defined."""
    command = ["cpp", "-nostdinc", "-M", "-MG", "-I", str(folder), str(path)]
    done = subprocess.run(command, text=True, check=True, stdout=subprocess.PIPE)
    words = done.stdout.replace("\\\n", " ").split()[1:]
    return sorted({word for word in words if not word.startswith("vkrope/")} - {str(path)})


def lines(folder):
    if not shutil.which("clang-format") or not shutil.which("cpp"):
        print("no clang-format, or no cpp")
        return SKIPPED
    counts = {path.name: len(formatted(path)) for path in sorted(folder.glob("*.hpp"))}
    print(counts)
    others = included(folder / "vkrope.hpp", folder)
    assert not others, f"vkrope.hpp must be a whole integration, but includes {others}"
    assert counts.pop("vkrope.hpp") <= MOST_LINES, f"vkrope.hpp may have {MOST_LINES} lines"
    assert sorted(counts) == ["vkrope_raw.hpp"], counts
    assert max(counts.values()) <= MOST_LINES_OF_RAW, f"vkrope_raw.hpp may have {MOST_LINES_OF_RAW} lines"
    return 0


def run(script, *arguments):
    return subprocess.run([sys.executable, str(script), *map(str, arguments)], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)


def refuses(script, tree, says):
    before = {path: path.read_text() for path in tree.rglob("*.*") if path.is_file()}
    done = run(script, tree)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and says in done.stderr, done
    assert before == {path: path.read_text() for path in before}, "a refusal wrote"


def applies_and_takes_back(script, tree, applied):
    before = {path: path.read_text() for path in tree.rglob("*.*") if path.is_file()}
    done = run(script, tree)
    assert done.returncode == 0, done
    after = {path: path.read_text() for path in before}
    assert applied is None or tree / "src" / "ggml-vulkan" / "ggml-vulkan.cpp" in after and applied in after.values(), after
    lists = after[tree / "src" / "ggml-vulkan" / "CMakeLists.txt"]
    assert lists.endswith(LISTS[LISTS.index("    target"):]) and "    set(VKROPE_STATIC ON)\n    add_sub" in lists, lists
    added = sum(text.count("\n") for text in after.values()) - sum(text.count("\n") for text in before.values())
    assert 0 < added <= MOST_LINES_IN_GGML and all(after[path] != before[path] for path in before), added
    refuses(script, tree, "has vkrope's lines already")
    done = run(script, "--undo", tree)
    assert done.returncode == 0 and before == {path: path.read_text() for path in before}, done
    done = run(script, "--undo", tree)
    assert done.returncode == 2 and "does not have the line" in done.stderr and done.stderr.count("\n") == 1, done


def apply(folder):
    script = folder / "apply.py"
    with tempfile.TemporaryDirectory() as name:
        tree = pathlib.Path(name)
        refuses(script, tree, "has no src/ggml-vulkan/ggml-vulkan.cpp")
        vulkan = tree / "src" / "ggml-vulkan"
        vulkan.mkdir(parents=True)
        (vulkan / "CMakeLists.txt").write_text(LISTS)
        (vulkan / "ggml-vulkan.cpp").write_text(BACKEND.replace("    int last_node", "    int node_last"))
        refuses(script, tree, "too old or too new")
        (vulkan / "ggml-vulkan.cpp").write_text(BACKEND)
        applies_and_takes_back(script, tree, APPLIED)
        (vulkan / "ggml-vulkan-types.h").write_text(TYPES)
        (vulkan / "ggml-vulkan.cpp").write_text(NEWER)
        applies_and_takes_back(script, tree, None)
    assert run(script, "--help").returncode == 0 and run(script).returncode == 2
    return 0


if __name__ == "__main__":
    os.environ["LC_ALL"] = "C.UTF-8"
    sys.exit({"lines": lines, "apply": apply}[sys.argv[1]](pathlib.Path(sys.argv[2])))
