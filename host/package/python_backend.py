"""pip calls this: scikit-build-core, but that a source archive gets the SPIR-V, so that it builds without glslc."""
import os
import shutil
import subprocess
import tempfile

from scikit_build_core import build as _build
from scikit_build_core.build import *  # noqa: F401,F403

SPIRV = "spirv"  # CMakeLists.txt takes this folder of a source archive


def build_sdist(sdist_directory, config_settings=None):
    if os.path.isdir(SPIRV):  # this is a source archive
        return _build.build_sdist(sdist_directory, config_settings)
    try:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["cmake", "-S", ".", "-B", folder, "-DVKROPE_BUILD_TOOL=OFF", "-DVKROPE_BUILD_TESTS=OFF"], check=True)
            subprocess.run(["cmake", "--build", folder, "--target", "vkrope-spirv"], check=True)
            made = [name for name in os.listdir(folder) if name.endswith("-spirv")]
            shutil.copytree(os.path.join(folder, made[0]), SPIRV)
        return _build.build_sdist(sdist_directory, config_settings)
    finally:
        shutil.rmtree(SPIRV, ignore_errors=True)
