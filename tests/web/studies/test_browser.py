"""The viewer in a real browser: read, sorted by mouse and keyboard, in the dark, on a phone, while results arrive."""

import os
import shutil
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from study_viewing import FOLDER, HOSTILE, half_way, viewer
from tests.patience import BROWSER_PATIENCE

from rankloop.web.studies.folders import address_of

pytestmark = pytest.mark.xdist_group("studies")
CONTRAST = (Path(__file__).parent / "contrast.js").read_text()
AA = 4.5


@pytest.fixture(scope="module")
def shown(finished, hostile, tmp_path_factory):
    """A folder with a finished, a running and a hostile study, and the address of its viewer."""
    root = tmp_path_factory.mktemp("shown") / "results"
    shutil.copytree(finished, root / "small")
    shutil.copytree(finished, root / "running")
    shutil.copytree(hostile, root / hostile.name)
    missing = half_way(root / "running")
    with viewer(root) as address:
        yield root, address, missing


@pytest.fixture
def open_page(chromium, shown):
    """Open a page of the viewer in a window of its own; nothing it does may trouble the console or other hosts."""
    _, address, _ = shown
    windows, troubles = [], []

    def open_at(path, *, width=1200, height=900, dark=False):
        window = chromium.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            timezone_id="Asia/Tokyo",
        )
        windows.append(window)
        page = window.new_page()
        page.set_default_timeout(BROWSER_PATIENCE)
        page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("dialog", lambda dialog: troubles.append(dialog.message))
        host = urlsplit(address).netloc
        page.on("request", lambda sent: None if urlsplit(sent.url).netloc == host else troubles.append(sent.url))
        page.goto(address + path)
        return page

    yield open_at
    for window in windows:
        window.close()
    assert troubles == []


def keep(page, name, tmp_path, **options):
    """A picture of a page, for people: into $RANKLOOP_SCREENSHOTS where that is set."""
    folder = Path(os.environ.get("RANKLOOP_SCREENSHOTS", tmp_path))
    page.screenshot(path=folder / f"{name}.png", **options)
    assert (folder / f"{name}.png").stat().st_size > 5_000


def column(table, index):
    return [row.locator("td").nth(index).inner_text() for row in table.locator("tbody tr").all()]


def test_a_reader_finds_a_study_and_sees_its_picture(open_page, tmp_path):
    page = open_page("/")
    keep(page, "studies-list", tmp_path)
    page.get_by_role("link", name="A small study").last.click()
    page.get_by_role("heading", name="A small study").wait_for()
    picture = page.locator("figure img").first
    picture.scroll_into_view_if_needed()
    page.wait_for_function("() => document.querySelector('figure img').naturalWidth > 100")
    keep(page, "studies", tmp_path)
    # A time of the machine's zone, UTC, is told in the reader's.
    told = page.locator("time").first
    assert told.get_attribute("title").endswith("Z")
    assert "UTC" not in told.inner_text()


def test_a_picture_keeps_its_colours_under_its_policy(open_page, tmp_path):
    page = open_page("/study/small")
    picture = page.locator("figure img").first
    picture.scroll_into_view_if_needed()
    page.wait_for_function("() => document.querySelector('figure img').complete")
    colours = page.evaluate(
        """() => {
            const picture = document.querySelector('figure img'), canvas = document.createElement('canvas');
            canvas.width = picture.width; canvas.height = picture.height;
            const drawn = canvas.getContext('2d');
            drawn.drawImage(picture, 0, 0, canvas.width, canvas.height);
            const data = drawn.getImageData(0, 0, canvas.width, canvas.height).data;
            let orange = 0;
            for (let i = 0; i < data.length; i += 4)
                if (Math.abs(data[i] - 0xD5) < 12 && Math.abs(data[i + 1] - 0x5E) < 12 && data[i + 2] < 12) orange++;
            return orange;
        }"""
    )
    assert colours > 50  # ROLTR's line


def test_a_heading_sorts_its_table_and_restores_the_order(open_page):
    page = open_page("/study/small")
    table = page.locator("table", has=page.get_by_role("button", name="offline nDCG@10"))
    before = column(table, 4)
    heading = table.get_by_role("columnheader", name="offline nDCG@10")
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    values = [float(text.split()[0]) for text in column(table, 4)]
    assert values == sorted(values, reverse=True)
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    assert [float(text.split()[0]) for text in column(table, 4)] == sorted(values)
    # Out of its group, a row must say again whose it is.
    assert table.locator("td.same > span").first.evaluate("cell => getComputedStyle(cell).opacity") == "1"
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") is None
    assert column(table, 4) == before
    assert table.locator("td.same > span").first.evaluate("cell => getComputedStyle(cell).opacity") == "0"


def test_on_a_phone_tables_are_lists_and_nothing_is_off_screen(open_page, tmp_path):
    page = open_page("/study/small", width=360, height=740)
    wide = page.evaluate(
        """() => [...document.querySelectorAll('.scroll:has(table)')]
            .filter((box) => box.scrollWidth > box.clientWidth + 1)
            .map((box) => box.getAttribute('aria-label'))"""
    )
    assert wide == []
    cell = page.locator("table.list tbody td[data-label='offline nDCG@10']").first
    assert cell.evaluate("cell => getComputedStyle(cell, '::before').content") == '"offline nDCG@10"'
    # A row stands alone there, and says again whose it is.
    assert page.locator("table.list td.same > span").first.evaluate("cell => getComputedStyle(cell).opacity") == "1"
    keep(page, "phone-tables", tmp_path, full_page=True)


def test_missing_values_stand_last_and_small_p_values_count_as_small(open_page):
    page = open_page("/study/small")
    page.evaluate(
        """() => {
            const body = document.querySelector('table.sortable tbody'), row = body.rows[0];
            const shown = ['–', '< 0.0001', '0.02', '1,200.5', '−3'];
            body.replaceChildren(...shown.map((text) => {
                const copy = row.cloneNode(true);
                copy.lastElementChild.textContent = text;
                return copy;
            }));
        }"""
    )
    table = page.locator("table.sortable").first
    table.get_by_role("button").last.click()
    assert [row.locator("td").last.inner_text() for row in table.locator("tbody tr").all()] == [
        "1,200.5", "0.02", "< 0.0001", "−3", "–",
    ]  # fmt: skip
    table.get_by_role("button").last.click()
    assert table.locator("tbody tr").last.locator("td").last.inner_text() == "–"


def test_everything_works_with_the_keyboard(open_page):
    page = open_page("/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.studies') !== null")
    page.locator("a[href='/study/small']").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/study/small")
    heading = page.get_by_role("columnheader", name="learning speed").first
    for _ in range(60):
        page.keyboard.press("Tab")
        if heading.get_by_role("button").evaluate("button => button === document.activeElement"):
            break
    page.keyboard.press("Enter")
    assert heading.get_attribute("aria-sort") == "descending"
    outline = heading.get_by_role("button").evaluate("button => getComputedStyle(button).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("Space")
    assert heading.get_attribute("aria-sort") == "ascending"


@pytest.mark.parametrize("path", ["/", "/study/small", "/study/running"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_has_the_contrast_of_wcag_aa(open_page, tmp_path, path, dark):
    page = open_page(path, dark=dark)
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(15, 18, 21)") == dark
    found = page.evaluate(CONTRAST)
    assert len(found) > 20
    assert [entry for entry in found if entry["ratio"] < AA] == []
    if path == "/study/small":
        keep(page, "studies-dark" if dark else "studies-light", tmp_path)


@pytest.mark.parametrize("path", ["/", "/study/small", "/study/running", f"/study/{address_of(FOLDER)}"])
def test_a_phone_shows_all_of_it_without_scrolling_sideways(open_page, tmp_path, path):
    page = open_page(path, width=360, height=740)
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    keep(page, f"studies-phone-{path.rpartition('/')[2][:8] or 'list'}", tmp_path)


def test_nothing_moves_while_a_page_loads(open_page):
    page = open_page("/study/small")
    page.wait_for_load_state("networkidle")
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    page.wait_for_function("() => Array.from(document.images).every((one) => one.complete)")
    moved = page.evaluate(
        """() => new Promise((tell) => {
            let sum = 0;
            const add = (one) => { if (!one.hadRecentInput) sum += one.value; };
            const observer = new PerformanceObserver((list) => list.getEntries().forEach(add));
            observer.observe({ type: 'layout-shift', buffered: true });
            requestAnimationFrame(() => requestAnimationFrame(() => tell(sum)));
        })"""
    )
    assert moved < 0.02


def test_hostile_names_are_shown_literally(open_page):
    page = open_page("/")
    link = page.locator("a", has_text="window.pwned")
    assert link.inner_text() == HOSTILE
    assert page.locator("code", has_text="onclick").inner_text() == FOLDER
    link.click()
    page.get_by_role("heading", level=1).wait_for()
    assert page.get_by_role("heading", level=1).inner_text() == HOSTILE
    assert page.title() == f"{HOSTILE} · rankloop"
    assert HOSTILE in page.locator("table").first.inner_text()
    assert page.evaluate("window.pwned") is None
    page.get_by_role("link", name="view it").click()
    page.get_by_role("heading", level=1).wait_for()
    assert page.get_by_role("heading", level=1).inner_text() == HOSTILE
    assert page.evaluate("window.pwned") is None


def test_the_self_contained_report_has_its_style(open_page):
    page = open_page("/study/small/report.html")
    assert page.locator("dl").first.evaluate("list => getComputedStyle(list).display") == "grid"
    assert page.locator("figure img").first.evaluate("picture => picture.naturalWidth") > 100


def test_results_appear_while_one_looks(open_page, shown, finished):
    root, _, missing = shown
    overview, study = open_page("/"), open_page("/study/running")
    study.get_by_text("6 of 12 runs", exact=True).wait_for()
    progress = study.get_by_role("progressbar", name="runs finished")
    assert progress.get_attribute("value") == "6"
    path, content = missing[0]
    partial = path.with_name(".partial")
    partial.write_bytes(content)
    partial.replace(path)
    study.get_by_text("7 of 12 runs", exact=True).wait_for()
    overview.get_by_text("7 of 12 runs", exact=True).wait_for()
    study.get_by_role("link", name="Show new results").click()
    study.get_by_text("7 of 12 runs finished", exact=True).wait_for()
    shutil.copytree(finished, root / "later")
    overview.locator("a[href='/study/later']").wait_for()
