#!/usr/bin/env python3
"""Makes the pictures of docs/why-exposed.md with the commands that it shows.

  scripts/pictures.py [--tool build/hocket]        with a Python that has Playwright, see ./hk setup --all

A picture shows what the page is today: run this again when the page or the passes change.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import tempfile

from playwright.sync_api import sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs/pictures"
GRAPH = ROOT / "tests/data/fsdp_tp_llama_tiny.json.gz"
TOP = {"x": 0, "y": 0, "width": 1200, "height": 640}

# The most exposed collective, well in sight.
SELECT = """() => { const p = hocketPage, row = p.table.rows()[0], line = row.line, time = line.end[row.span] - row.issued;
  p.select({ line, span: row.span }); p.view.jump(row.issued - 2 * time, line.end[row.span] + 2 * time); p.redraw(true); }"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", default=str(ROOT / "build/hocket"))
    tool = parser.parse_args().tool
    browser = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = pathlib.Path(folder) / "overlap.html"
        subprocess.run([tool, "opt", str(GRAPH), "--html", str(page_file)], check=True, stdout=subprocess.DEVNULL)
        running = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"] if os.geteuid() == 0 else [])
        for name, scheme, action in (("page", "light", None), ("dark", "dark", None), ("selected", "light", SELECT)):
            page = running.new_page(viewport={"width": 1200, "height": 900}, color_scheme=scheme)
            page.goto(page_file.as_uri())
            page.wait_for_function("() => window.hocketPage !== undefined && !hocketPage.waiting")
            if action:
                page.evaluate(action)
                page.locator("section.panel").first.screenshot(path=PICTURES / f"{name}.png")
            else:
                page.screenshot(path=PICTURES / f"{name}.png", clip=TOP)
            page.close()
            print(PICTURES / f"{name}.png")
        running.close()


if __name__ == "__main__":
    main()
