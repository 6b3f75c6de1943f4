#!/usr/bin/env python3
"""Tests of the report's page in headless Chromium: it opens from file://, draws, zooms, selects, sorts, filters; light and dark; by
keyboard alone; without an error on the console, a request to any network, or a serious finding of axe-core.

  page_test.py --tool PATH [--data FOLDER]

Needs Chromium (Debian: chromium-headless-shell) and the Python packages of scripts/requirements-browser.txt; `./hk setup --all` installs
both. Where one is missing, this says so and exits with 77, which CTest counts as skipped.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SKIPPED = 77
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
options = None


def use_other_python():
    """Goes on in the first Python environment of ./hk that has Playwright, if this one has not."""
    if os.environ.get("HOCKET_PAGE_TEST_AGAIN"):
        return
    root = pathlib.Path(__file__).resolve().parents[2]
    for python in (root / ".cache/browser/bin/python", root / ".venv/bin/python"):
        has = python.exists() and subprocess.run([python, "-c", "import playwright, axe_playwright_python"], stderr=subprocess.DEVNULL).returncode == 0
        if has:
            os.environ["HOCKET_PAGE_TEST_AGAIN"] = "1"
            os.execv(python, [python, "-B", *sys.argv])


def need_browser():
    """The path of a browser; ends the program where there is none, or no Playwright."""
    try:
        import axe_playwright_python.sync_playwright  # noqa: F401
        import playwright.sync_api  # noqa: F401
    except ImportError as missing:
        use_other_python()
        print(f"skipped: {missing}; ./hk setup --all installs Playwright and axe-core")
        sys.exit(SKIPPED)
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not found:
        print(f"skipped: none of {', '.join(BROWSERS)} is on this machine; ./hk setup --all installs one")
        sys.exit(SKIPPED)
    return found


class PageTest(unittest.TestCase):
    """One browser for all tests, a fresh page for each."""

    @classmethod
    def setUpClass(cls):
        from playwright.sync_api import sync_playwright

        cls.folder = tempfile.TemporaryDirectory(prefix="hocket_page_")
        cls.playwright = sync_playwright().start()
        # As root, as in containers, Chromium starts only without its sandbox; the page is our own.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        cls.browser = cls.playwright.chromium.launch(executable_path=options.browser, args=arguments)
        passes = "bucket_all_gather,bucket_reduce_scatter,reorder_communication_preserving_peak_memory,sink_waits_iterative"
        cls.small = cls.make("small", "fsdp_tp_llama_tiny.json.gz", "opt", "--passes", passes)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.playwright.stop()
        cls.folder.cleanup()

    @classmethod
    def make(cls, name, capture, command="opt", *more):
        page = pathlib.Path(cls.folder.name) / f"{name}.html"
        subprocess.run([options.tool, command, str(options.data / capture), "--html", str(page), *more], check=True, stdout=subprocess.DEVNULL)
        return page

    def open(self, path, width=1300, height=900, **context):
        made = self.browser.new_context(viewport={"width": width, "height": height}, **context)
        self.addCleanup(made.close)
        page = made.new_page()
        self.complaints, self.requests = [], []
        page.on("console", lambda message: self.complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_function("() => window.hocketPage !== undefined")
        return page

    def settle(self, page):
        page.wait_for_function("() => hocketPage.view.target === null && !hocketPage.waiting")

    def tearDown(self):
        self.assertEqual([], getattr(self, "complaints", []))
        self.assertEqual([], [url for url in getattr(self, "requests", []) if not url.startswith("file://")])

    # Colours at a point of the canvas, in CSS pixels.
    def pixel(self, page, x, y):
        return page.evaluate(
            """([x, y]) => { const ratio = devicePixelRatio, c = document.getElementById("canvas").getContext("2d");
                 return [...c.getImageData(x * ratio, y * ratio, 1, 1).data]; }""", [x, y])

    # ------------------------------------------------------------ opens and draws

    def test_opens_from_a_file_and_says_what_matters(self):
        page = self.open(self.small)
        self.assertIn("fsdp_tp_llama_tiny", page.title())
        self.assertRegex(page.inner_text("#headline"), r"communication hidden: \d+ %, step [\d.]+ times faster, memory [+-]?[\d.]+ %")
        self.assertEqual(4, page.locator(".card").count())
        self.assertRegex(page.inner_text("#remaining"), r"Still waited for|No communication is exposed")

    def test_draws_computing_communication_and_exposed_time_in_different_colours(self):
        page = self.open(self.small)
        self.settle(page)
        seen = page.evaluate(
            """() => { const p = hocketPage, colours = new Set(), c = p.painter.c, ratio = devicePixelRatio;
                 for (const row of p.layout.rows) {
                   const line = c.getImageData(120 * ratio, (row.top + row.height / 2) * ratio, (p.painter.width - 120) * ratio, 1).data;
                   for (let i = 0; i < line.length; i += 4) colours.add(`${line[i]},${line[i + 1]},${line[i + 2]}`);
                 }
                 const probe = document.createElement("canvas").getContext("2d");
                 const rgb = (name) => { probe.fillStyle = colour(name); probe.fillRect(0, 0, 1, 1); return [...probe.getImageData(0, 0, 1, 1).data].slice(0, 3).join(","); };
                 return ["compute", "exposed", "all_gather", "reduce_scatter"].filter((name) => !colours.has(rgb(name))); }""")
        self.assertEqual([], seen)

    def test_has_the_memory_curve_with_limit_and_peak_on_the_same_axis(self):
        page = self.open(self.small)
        peak, limit, most = page.evaluate(
            "() => { const l = hocketPage.last; return [l.peak, l.limit, Math.max(...l.memory.held)]; }")
        self.assertEqual(peak, most)
        self.assertGreaterEqual(limit, peak)

    def test_spans_come_one_after_the_other_on_every_lane(self):
        page = self.open(self.small)
        wrong = page.evaluate(
            """() => hocketPage.timelines.flatMap((line) => line.onLane.flatMap((spans) =>
                 spans.filter((span, i) => i > 0 && line.begin[span] < line.end[spans[i - 1]])))""")
        self.assertEqual([], wrong)

    # ------------------------------------------------------------ zoom and pan

    def test_zooms_to_the_pointer_and_back(self):
        page = self.open(self.small)
        box = page.locator("#canvas").bounding_box()
        page.mouse.move(box["x"] + 500, box["y"] + 80)
        under = page.evaluate("hocketPage.painter.time(500)")
        page.keyboard.down("Control")
        for _ in range(5):
            page.mouse.wheel(0, -300)
        page.keyboard.up("Control")
        self.settle(page)
        self.assertLess(page.evaluate("hocketPage.view.span / hocketPage.view.limit"), 0.2)
        self.assertAlmostEqual(1, page.evaluate("hocketPage.painter.time(500)") / under, places=3)
        page.click("#fit")
        self.settle(page)
        self.assertAlmostEqual(1, page.evaluate("hocketPage.view.span / hocketPage.view.limit"), places=6)

    def test_drags(self):
        page = self.open(self.small)
        page.click("#zoom-in")
        page.click("#zoom-in")
        self.settle(page)
        before = page.evaluate("hocketPage.view.from")
        box = page.locator("#canvas").bounding_box()
        page.mouse.move(box["x"] + 600, box["y"] + 70)
        page.mouse.down()
        page.mouse.move(box["x"] + 400, box["y"] + 70, steps=4)
        page.mouse.up()
        self.assertGreater(page.evaluate("hocketPage.view.from"), before)

    def test_never_leaves_the_program(self):
        page = self.open(self.small)
        inside = page.evaluate(
            """() => { const v = hocketPage.view; v.jump(-1e15, -1e14); const left = v.from; v.jump(1e15, 2e15);
                 v.jump(5, 5); return left === 0 && v.to <= v.limit && v.span >= 1000; }""")
        self.assertTrue(inside)

    def test_draws_fast_enough_for_every_frame(self):
        page = self.open(self.small)
        # The fastest of some: tests share their machine with others.
        milliseconds = page.evaluate(
            """() => Math.min(...Array.from({ length: 20 }, () => { const start = performance.now(); hocketPage.paint(); return performance.now() - start; }))""")
        self.assertLess(milliseconds, 16)

    # ------------------------------------------------------------ selection

    def place_of(self, page, span, at_end=False):
        return page.evaluate(
            """([span]) => { const p = hocketPage, line = p.last, row = rowOf(p.painter, line, line.lane[span]);
                 return [p.painter.x((line.begin[span] + line.end[span]) / 2), row.top + row.height / 2]; }""", [span])

    def widest(self, page, lane):
        return page.evaluate(
            """(lane) => { const line = hocketPage.last, spans = line.onLane[lane];
                 return spans.reduce((best, s) => line.end[s] - line.begin[s] > line.end[best] - line.begin[best] ? s : best, spans[0]); }""", lane)

    def test_hover_tells_name_operator_shapes_bytes_time_and_why(self):
        page = self.open(self.small)
        span = self.widest(page, 0)
        x, y = self.place_of(page, span)
        box = page.locator("#canvas").bounding_box()
        page.mouse.move(box["x"] + x, box["y"] + y)
        page.wait_for_selector("#tip:not([hidden])")
        text = page.inner_text("#tip")
        self.assertIn(page.evaluate("(s) => nameOf(hocketPage.last, s)", span), text)
        self.assertRegex(text, r"aten\.")
        self.assertRegex(text, r"\[[\d,]+\].*->")
        self.assertRegex(text, r"(µs|ns|ms), [\d.]+ (B|KiB|MiB)")
        self.assertRegex(text, r"needs ")

    def test_a_click_on_a_collective_shows_start_wait_users_and_limit(self):
        page = self.open(self.small)
        span = self.widest(page, 1)
        x, y = self.place_of(page, span)
        before = self.pixel(page, x, y - 6)
        box = page.locator("#canvas").bounding_box()
        page.mouse.click(box["x"] + x, box["y"] + y)
        text = page.inner_text("#details")
        for word in ("start", "wait", "used by", "limits the start", "exposed", "group"):
            self.assertIn(word, text)
        self.assertEqual(4, len(before))
        self.assertGreaterEqual(page.evaluate("hocketPage.painter.flags.length"), 2)
        page.focus("#canvas")
        page.keyboard.press("Escape")
        self.assertIn("Select a step", page.inner_text("#details"))

    def test_finds_a_step_by_its_name(self):
        page = self.open(self.small)
        page.fill("#search", "mm")
        page.press("#search", "Enter")
        self.assertRegex(page.inner_text("#details h3"), "mm")
        page.fill("#search", "there is no such step")
        page.press("#search", "Enter")
        self.assertIn("No step", page.inner_text("#details"))

    # ------------------------------------------------------------ the table

    def column(self, page, number):
        return page.evaluate("(n) => [...document.querySelectorAll('#rows tr')].map((row) => row.cells[n].innerText)", number)

    def test_sorts_by_any_column_in_both_directions(self):
        page = self.open(self.small)
        for name in ("Moves", "Exposed", "Collective"):
            with self.subTest(column=name):
                header = page.locator("th", has_text=name).first
                header.locator("button").click()
                once = header.get_attribute("aria-sort")
                first = self.column(page, 0)
                header.locator("button").click()
                self.assertNotEqual(once, header.get_attribute("aria-sort"))
                self.assertEqual({"ascending", "descending"}, {once, header.get_attribute("aria-sort")})
                self.assertNotEqual(first, self.column(page, 0))
        exposed = page.evaluate("() => { const t = hocketPage.table; t.sort = { column: 7, descending: true }; return t.rows().map((r) => r.exposed); }")
        self.assertEqual(sorted(exposed, reverse=True), exposed)

    def test_filters_by_group_name_and_exposure(self):
        page = self.open(self.small)
        groups = page.evaluate("() => [...document.getElementById('group').options].map((o) => o.value)")
        self.assertEqual(3, len(groups))
        page.select_option("#group", groups[1])
        self.assertEqual({groups[1]}, set(self.column(page, 2)))
        page.select_option("#group", "")
        page.fill("#filter", "reduce_scatter")
        self.assertTrue(all("reduce_scatter" in name for name in self.column(page, 0)))
        page.fill("#filter", "")
        page.check("#only-exposed")
        self.assertNotIn("0", self.column(page, 7))

    # ------------------------------------------------------------ everybody

    def test_can_be_used_with_the_keyboard_alone(self):
        page = self.open(self.small)
        page.focus("#canvas")
        page.keyboard.press("n")
        first = page.inner_text("#details h3")
        self.assertIn("selected", page.get_attribute("#canvas", "aria-label"))
        page.keyboard.press("n")
        self.assertNotEqual(first, page.inner_text("#details h3"))
        page.keyboard.press("p")
        self.assertEqual(first, page.inner_text("#details h3"))
        page.keyboard.press("]")
        self.settle(page)
        span = page.evaluate("hocketPage.view.span")
        page.keyboard.press("+")
        self.settle(page)
        self.assertLess(page.evaluate("hocketPage.view.span"), span)
        page.keyboard.press("0")
        page.focus(".skip")
        reached = set()
        for _ in range(60):
            page.keyboard.press("Tab")
            reached.add(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
        for wanted in ("theme", "zoom-in", "fit", "search", "canvas", "group", "filter"):
            self.assertIn(wanted, reached)

    def test_axe_finds_nothing_serious_in_light_and_dark(self):
        from axe_playwright_python.sync_playwright import Axe

        for scheme in ("light", "dark"):
            with self.subTest(scheme=scheme):
                page = self.open(self.small, color_scheme=scheme, bypass_csp=True)
                page.focus("#canvas")
                page.keyboard.press("n")
                self.settle(page)
                found = Axe().run(page).response["violations"]
                self.assertEqual([], [(one["id"], one["impact"], [node["html"] for node in one["nodes"]][:3])
                                      for one in found if one["impact"] in ("serious", "critical")])

    def test_light_and_dark_follow_the_system_and_the_button(self):
        page = self.open(self.small, color_scheme="dark")
        dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.click("#theme")
        self.assertEqual("light", page.evaluate("document.documentElement.dataset.theme"))
        self.assertNotEqual(dark, page.evaluate("getComputedStyle(document.body).backgroundColor"))

    def test_fits_narrow_windows(self):
        page = self.open(self.small, width=420, height=800)
        self.settle(page)
        self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), 420)

    def test_other_reports_open_too(self):
        for name, capture, command, more in (
                ("one", "ddp_gpt2_12l.json.gz", "sim", ()), ("sweep", "fsdp_llama_tiny.json.gz", "sim", ("--sweep", "hosts=1,2,4"))):
            with self.subTest(name=name):
                page = self.open(self.make(name, capture, command, *more))
                self.settle(page)
                self.assertGreater(page.locator("#rows tr").count(), 0)


def main():
    global options
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[1] / "data")
    options, rest = parser.parse_known_args()
    options.browser = need_browser()
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
