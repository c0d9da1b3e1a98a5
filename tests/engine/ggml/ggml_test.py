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
MOST_LINES = 120  # of vkrope.hpp, which is all that an integration takes, without comments and empty lines
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
    if (!vkrope_record(ctx, compute_ctx, node, node_idx))
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
        done = run(script, tree)
        assert done.returncode == 0, done
        assert (vulkan / "ggml-vulkan.cpp").read_text() == APPLIED
        written = (vulkan / "CMakeLists.txt").read_text()
        assert written.endswith(LISTS[LISTS.index("    target"):]) and "    set(VKROPE_STATIC ON)\n    add_sub" in written, written
        added = sum(path.read_text().count("\n") for path in vulkan.iterdir()) - (BACKEND + LISTS).count("\n")
        assert 0 < added <= MOST_LINES_IN_GGML, added
        refuses(script, tree, "has vkrope's lines already")
    assert run(script, "--help").returncode == 0 and run(script).returncode == 2
    return 0


if __name__ == "__main__":
    os.environ["LC_ALL"] = "C.UTF-8"
    sys.exit({"lines": lines, "apply": apply}[sys.argv[1]](pathlib.Path(sys.argv[2])))
