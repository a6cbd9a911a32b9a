# SPDX-License-Identifier: Apache-2.0
"""Builds libnanhunt_torch.so against the torch that is installed here, and puts it beside the
package. Its C++ dependencies (HDF5, Boost headers, xxHash, JSON) are those of `./dev build`.
"""

import pathlib
import re
import subprocess

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = pathlib.Path(__file__).resolve().parents[2]


def version():
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(r"project\(nanhunt VERSION ([0-9.]+)", text).group(1)


class WithLibrary(build_py):
    def run(self):
        super().run()
        import torch  # that of the environment: hence --no-build-isolation
        built = pathlib.Path(self.get_finalized_command("build").build_temp).resolve()
        subprocess.run(["cmake", "-S", ROOT, "-B", built, "-G", "Ninja",
                        "-DCMAKE_BUILD_TYPE=Release", "-DNANHUNT_BUILD_TESTS=OFF",
                        "-DNANHUNT_BUILD_ANALYSIS=OFF",
                        f"-DNANHUNT_TORCH={pathlib.Path(torch.__file__).parent}"], check=True)
        subprocess.run(["cmake", "--build", built, "--target", "nanhunt_torch_ops"], check=True)
        self.copy_file(str(built / "hooks/torch_ops/libnanhunt_torch.so"),
                       str(pathlib.Path(self.build_lib) / "nanhunt"))


setup(version=version(), cmdclass={"build_py": WithLibrary})
