"""The recipe takes the sources that it lies in: conan create vkrope/host/package/conan. The build needs glslc."""
import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load

ROOT = os.path.join("..", "..", "..")
FAMILIES = ("additions", "biases", "relative", "fused", "reference")


class Vkrope(ConanFile):
    name = "vkrope"
    description = "Position encodings of transformer models as Vulkan compute, RoPE first"
    license = "MIT"
    package_type = "library"
    settings = "os", "compiler", "build_type", "arch"
    options = {name: [True, False] for name in ("shared", "fPIC", "device", *FAMILIES)}
    default_options = {"shared": False, "fPIC": True, "device": False, **{name: True for name in FAMILIES}}
    implements = ["auto_shared_fpic"]
    test_package_folder = os.path.join(ROOT, "tests", "package", "conan")

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, ROOT, "host", "include", "vkrope", "rope.h"))
        self.version = ".".join(re.findall(r"^#define ROPE_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header, re.M))

    def export_sources(self):
        root = os.path.join(self.recipe_folder, ROOT)
        for pattern in ("CMakeLists.txt", "CHANGELOG.md", "LICENSE", "host/*", "shaders/*"):
            copy(self, pattern, root, self.export_sources_folder)

    def requirements(self):
        self.requires("vulkan-headers/[>=1.3]", transitive_headers=True)

    def build_requirements(self):
        self.tool_requires("shaderc/[>=2021]")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for name in FAMILIES:
            toolchain.cache_variables["VKROPE_WITH_" + name.upper()] = bool(self.options.get_safe(name))
        toolchain.cache_variables["VKROPE_BUILD_DEVICE"] = bool(self.options.device)
        toolchain.cache_variables["VKROPE_BUILD_TOOL"] = False
        toolchain.cache_variables["VKROPE_BUILD_TESTS"] = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")  # its own package file is there
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "vkrope")]
