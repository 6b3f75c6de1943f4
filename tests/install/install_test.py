#!/usr/bin/env python3
"""Installs the build into a temporary prefix, then builds and runs a small program against it.

  install_test.py find_package|pkg_config|examples|add_subdirectory --build DIR --torch 0|1 [--cmake CMAKE] [--cxx COMPILER]
"""

import argparse
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def run(*command, **options):
    command = [str(part) for part in command]
    print("+", shlex.join(command), flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode:
        sys.exit(f"{done.stdout}\nfailed with exit code {done.returncode}: {shlex.join(command)}")
    return done.stdout


def project_version():
    text = (ROOT / "CMakeLists.txt").read_text()
    return re.search(r"project\(hocket VERSION ([0-9.]+)", text)[1]


def install(options, prefix):
    run(options.cmake, "--install", options.build, "--prefix", prefix)
    # Without the build's environment: the installed command must find its libraries, hocket-torch and libtorch by itself.
    alone = {"env": {"PATH": os.environ["PATH"]}, "cwd": prefix}
    tool = prefix / "bin/hocket"
    run(tool, "--help", **alone)
    if options.torch == "1":
        run(tool, "demo", "--out", "captured", **alone)
        run(tool, "verify", "captured/gpt_step.json.gz", **alone)


def build_consumer(options, source, folder, *definitions):
    run(options.cmake, "-S", source, "-B", folder, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={options.cxx}", *definitions)
    run(options.cmake, "--build", folder, "--parallel", "2", "--target", "consumer")
    return folder / "consumer"


def find_package(options, scratch):
    install(options, scratch / "prefix")
    for component in options.components:
        yield build_consumer(options, HERE / "consumer", scratch / component,
                             f"-DCMAKE_PREFIX_PATH={scratch / 'prefix'}", f"-DCOMPONENT={component}")


def pkg_config(options, scratch):
    install(options, scratch / "prefix")
    found = next((scratch / "prefix").rglob("hocket-core.pc")).parent
    environment = {**os.environ, "PKG_CONFIG_PATH": str(found)}
    for component in options.components:
        package = {"core": "hocket-core", "hocket": "hocket"}[component]
        flags = run("pkg-config", "--cflags", "--libs", package, env=environment)
        program = scratch / f"consumer_{component}"
        run(options.cxx, "-std=c++20", HERE / "consumer/main.cpp", *shlex.split(flags), "-o", program)
        yield program


def examples(options, scratch):
    prefix = scratch / "prefix"
    install(options, prefix)
    run(options.cmake, "-S", ROOT / "examples", "-B", scratch / "build", "-G", "Ninja",
        f"-DCMAKE_CXX_COMPILER={options.cxx}", f"-DCMAKE_PREFIX_PATH={prefix}")
    run(options.cmake, "--build", scratch / "build", "--parallel", "2")
    for source in sorted((ROOT / "examples").glob("*.cpp")):
        print(run(prefix / "bin/hocket", "launch", "-n", "4", scratch / "build" / source.stem))
    return []


def add_subdirectory(options, scratch):
    yield build_consumer(options, HERE / "subdirectory", scratch / "build",
                         f"-DHOCKET_SOURCE={ROOT}", "-DHOCKET_TORCH=OFF")


def main():
    ways = {way.__name__: way for way in (find_package, pkg_config, examples, add_subdirectory)}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("way", choices=ways)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--torch", choices=["0", "1"], required=True)
    parser.add_argument("--cmake", default="cmake")
    parser.add_argument("--cxx", default="c++")
    options = parser.parse_args()
    options.components = ["core", "hocket"] if options.torch == "1" else ["core"]

    with tempfile.TemporaryDirectory(prefix="hocket-install-") as scratch:
        for program in ways[options.way](options, pathlib.Path(scratch)):
            print(run(program, project_version()), end="")
    print("ok")


if __name__ == "__main__":
    main()
