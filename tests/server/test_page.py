"""The playground: its files, the traces that it shows, and the page in a browser."""

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import uvicorn

import guideway as gw
from guideway.models.fake import FakeModel
from guideway.server import create_app
from guideway.server.app import FILES
from guideway.server.settings import Names
from server.browser import INSTALL, PROGRAM, Browser
from server.served import BYTES, PERSON, TALK, Client, Tokenizer, model, served

CHAT = "/v1/chat/completions"
TEXT = "/v1/completions"
HELD: dict[str, Any] = {
    "structured_outputs": {"json": PERSON},
    "seed": 3,
    "max_tokens": 90,
    "temperature": 1.0,
}


def slow() -> gw.Model:
    def row(prefix: Any) -> list[float]:
        time.sleep(0.02)
        return [0.0] * BYTES.width

    return gw.Model(FakeModel(BYTES, row), Tokenizer(), name="slow")


@pytest.fixture(scope="module")
def engine() -> gw.Engine:
    return gw.Engine(model(), max_batch=4)


@pytest.fixture(scope="module")
def client(engine: gw.Engine) -> Iterator[Client]:
    judges: Any = {"a": gw.classifier({"a": 1}, alpha=30)}
    models, marks = {"expert": model(2), "slow": slow()}, {"w": gw.Watermark(key=5)}
    with served(engine, names=Names(models, judges, marks)) as found:
        yield found


@pytest.mark.parametrize("path", FILES)
def test_the_page_runs_nothing_but_its_own_files(client: Client, path: str):
    answer = client.get(path)
    assert answer.status_code == 200
    assert answer.headers["x-content-type-options"] == "nosniff"
    policy = answer.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert "http://" not in answer.text.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in answer.text

    asked = client.get(f"{path}?content=alert(1)&kind=text/evil")  # a query changes nothing
    assert asked.content == answer.content
    assert asked.headers["content-type"] == answer.headers["content-type"]


def test_the_page_is_told_what_it_may_name(client: Client):
    (own,) = client.get("/v1/models").json()["data"]
    assert own["guideway"]["models"] == ["expert", "slow"]
    assert own["guideway"]["watermarks"] == ["w"]
    assert own["guideway"]["classifiers"] == ["a"]
    assert own["guideway"]["max_tokens"] == 300


def undrafted(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """An engine also drafts from earlier texts."""
    return [{**step, "drafted": None} for step in steps]


@pytest.mark.parametrize(("path", "asked"), [(CHAT, {"messages": TALK}), (TEXT, {"prompt": "x"})])
def test_a_stream_has_a_record_for_each_token_if_it_is_asked_for(
    client: Client, path: str, asked: dict[str, Any]
):
    prompt: Any = asked.get("messages") or asked["prompt"]
    settings = {"temperature": 1.0, "seed": 3, "max_new_tokens": 90}
    expected = model().generate(prompt, PERSON, trace=2, **settings)
    records = [step.record for step in expected.trace]
    for more in ({}, {"logprobs": True, "top_logprobs": 4} if path == CHAT else {"logprobs": 4}):
        chunks = client.events(path, **asked, **HELD, trace={"alternatives": 2}, **more)
        told = [chunk["choices"][0] for chunk in chunks[:-1]]
        found = [step for choice in told for step in choice.get("guideway", {}).get("trace", ())]
        assert undrafted(found) == undrafted(json.loads(json.dumps(records)))
        assert told[-1]["finish_reason"] == expected.finish_reason
        whole = client.ok(path, **asked, **HELD, trace={"alternatives": 2}, **more)
        assert undrafted(whole["choices"][0]["guideway"]["trace"]) == undrafted(found)
    plain = client.events(path, **asked, **HELD)
    assert not any("guideway" in choice for each in plain[:-1] for choice in each["choices"])
    assert "trace" not in client.ok(path, **asked, **HELD)["choices"][0]["guideway"]


# In a browser


@pytest.fixture(scope="module")
def addresses(client: Client, engine: gw.Engine) -> Iterator[list[str]]:
    """The server, and one that needs the key "secret"."""
    apps = [client.app, create_app(engine, name="locked", keys=["secret"])]
    how: dict[str, Any] = {"port": 0, "log_level": "error", "lifespan": "off"}
    how["timeout_graceful_shutdown"] = 5  # after a failure, a stream may be open
    servers = [uvicorn.Server(uvicorn.Config(app, **how)) for app in apps]
    threads = [threading.Thread(target=server.run) for server in servers]
    for thread in threads:
        thread.start()
    while not all(server.started for server in servers):
        time.sleep(0.01)
    ports = [server.servers[0].sockets[0].getsockname()[1] for server in servers]
    yield [f"http://127.0.0.1:{port}/" for port in ports]
    for server, thread in zip(servers, threads, strict=True):
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if PROGRAM is None:
        pytest.skip(INSTALL)
    with Browser(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


class Page:
    """The page in a browser."""

    def __init__(self, browser: Browser, address: str) -> None:
        self.browser, self.address = browser, address
        browser.requests.clear()
        browser.said.clear()
        browser.prefer("light")
        browser.resize(1200)

    def open(self, **inputs: str) -> None:
        """Open the page with some inputs."""
        self.browser.open(f"{self.address}#{urlencode(inputs)}")
        self.wait("$('model').textContent !== 'connecting…'")

    def run(self, script: str) -> Any:
        return self.browser.run(f"(($) => {script})((id) => document.getElementById(id))")

    def wait(self, script: str) -> None:
        self.browser.wait(f"(($) => {script})((id) => document.getElementById(id))")

    def click(self, name: str) -> None:
        self.run(f"$('{name}').click()")

    def text(self, name: str) -> str:
        return self.run(f"$('{name}').textContent")

    def generate(self) -> list[dict[str, Any]]:
        """Press the button; the records that are shown when the text has ended."""
        self.click("generate")
        self.wait("/Done|Failed/.test($('status').textContent)")
        return self.run("$('tokens').steps")

    def shadow(self, script: str) -> Any:
        """Of the view of tokens."""
        return self.run(f"((root) => {script})($('tokens').shadowRoot)")


@pytest.fixture
def page(started: Browser, addresses: list[str]) -> Page:
    return Page(started, addresses[0])


SCHEMA = json.dumps(PERSON, indent=1)
PERSONAL = {"kind": "json", "source": SCHEMA, "prompt": "Who?", "seed": "3", "max_tokens": "90"}


def test_a_text_is_shown_token_by_token_with_its_stages(page: Page):
    page.open(**PERSONAL)
    shown = page.generate()
    settings: dict[str, Any] = {"temperature": 0.7, "seed": 3, "max_new_tokens": 90, "trace": 5}
    expected = model().generate(TALK, PERSON, **settings)
    records = json.loads(json.dumps([step.record for step in expected.trace]))
    assert undrafted(shown) == undrafted(records)
    assert page.text("error") == ""
    assert page.text("status") == f"Done: {len(records)} tokens"
    assert page.run("$('tokens').textContent") == ""  # all is in the view
    assert page.shadow("root.querySelectorAll('[role=option]').length") == len(records)
    text = "".join(step["text"] for step in records)
    assert page.shadow("root.querySelector('.tokens').textContent") == text
    names = "[...root.querySelectorAll('.stage .name')].map((each) => each.textContent)"
    assert page.shadow(names) == [stage["name"] for stage in records[0]["stages"]]
    assert page.shadow("root.querySelectorAll('.gone').length") > 0
    assert page.shadow("root.querySelectorAll('.stage .drawn').length") > 0
    forced = sum(step["forced"] for step in records)
    assert page.shadow("root.querySelectorAll('.tokens .forced').length") == forced > 0
    assert page.browser.said == []
    assert all(each.startswith(page.address) for each in page.browser.requests)


@pytest.mark.parametrize(("inputs", "said", "below"), [
    ({"kind": "regex", "source": "x\na(b"}, "line 2", "^"),
    ({"kind": "json", "source": '{"properties": {"a": {"type": "text"}}}'}, "/properties/a/type",
     ""),
    ({"guidance": '{"base": '}, "not JSON", ""),  # which the page finds itself
    ({"watermark": "nothing"}, "nothing", ""),
], ids=["line", "pointer", "guidance", "watermark"])  # fmt: skip
def test_an_error_says_where_it_is(page: Page, inputs: dict[str, str], said: str, below: str):
    page.open(**{"kind": "any", "prompt": "x", "max_tokens": "5", **inputs})
    page.generate()
    assert said in page.text("error")
    assert page.run("$('error').getAttribute('role')") == "alert"
    if below:
        assert page.run("$('error').querySelector('pre').textContent").rstrip().endswith(below)
    assert page.text("status") == "Failed"


def test_after_an_error_the_page_goes_on(page: Page):
    page.open(kind="regex", source="[ab]{2}", prompt="x")
    for source, count in (("[ab]{2}", 2), ("(", 0), ("[ab]{3}", 3)):
        page.run("$('source').focus()")
        page.run("$('source').select()")
        page.browser.write(source)
        assert len(page.generate()) == count  # of an earlier text, nothing is left
        assert bool(page.text("error")) == (not count)
        assert page.run("$('error').checkVisibility()") == (not count)
        assert page.run("$('tokens').hidden") == (not count)


def test_a_text_is_stopped_by_a_key(page: Page, client: Client):
    page.open(kind="regex", source="[ab]{200}", guidance='{"base": "slow"}')
    page.click("generate")
    page.wait("$('tokens').steps.length > 2")
    assert page.run("$('stop').disabled") is False
    page.browser.press("Escape")
    page.wait("$('status').textContent.startsWith('Stopped')")
    steps = page.run("$('tokens').steps")
    assert 2 < len(steps) < 200
    assert page.text("error") == ""
    assert page.shadow("root.querySelector('.facts').textContent").endswith("ended by you")
    until = time.monotonic() + 10
    while client.server.open:  # the engine has stopped, too
        assert time.monotonic() < until
        time.sleep(0.01)
    assert page.run("$('stop').disabled && !$('generate').disabled")


def test_all_can_be_done_with_the_keyboard(page: Page):
    page.open(kind="regex", source="[ab]{5}")
    page.run("$('prompt').focus()")
    page.run("$('prompt').select()")
    page.browser.write("Whose?")
    page.browser.press("Enter", ctrl=True)
    page.wait("$('status').textContent.startsWith('Done')")
    assert page.run("$('prompt').value") == "Whose?"
    for _ in range(40):
        if page.run("document.activeElement.id === 'tokens'"):
            break
        page.browser.press("Tab")
    place = "[...root.querySelectorAll('[role=option]')].indexOf(root.activeElement)"
    page.browser.press("Home")
    assert page.shadow(place) == 0
    page.browser.press("ArrowRight")
    page.browser.press("ArrowRight")
    page.browser.press("ArrowLeft")
    assert page.shadow(place) == 1
    chosen = "root.querySelectorAll('[aria-selected=true]').length"
    assert page.shadow(chosen) == 1
    first = page.run("$('tokens').steps[1].text")
    assert page.shadow("root.querySelector('.head b').textContent") == first


def test_an_address_has_all_inputs(page: Page):
    page.open(seed="")
    assert page.run("$('more').open")
    inputs = {
        "prompt": "Who & what? +1 <b>ü</b>",
        "source": '{"type": "integer"}',
        "temperature": "0.25",
        "top_k": "7",
        "guidance": '{"base": "expert"}',
    }
    for name, value in inputs.items():
        page.run(f"$('form').elements.{name}.focus()")
        page.run("document.activeElement.select()")
        page.browser.write(value)
    page.run("document.querySelector('[name=api][value=text]').click()")
    link = page.run("location.href")
    page.open()
    assert page.run("$('prompt').value") != inputs["prompt"]
    page.browser.open(link)
    for name, value in inputs.items():
        assert page.run(f"$('form').elements.{name}.value") == value
    assert page.run("$('form').elements.api.value") == "text"
    assert page.run("document.querySelectorAll('b').length") == 0
    steps = page.generate()
    assert json.loads("".join(step["text"] for step in steps if step["token"] < 256)) is not None


CONTRASTS = """((root) => [...root.querySelectorAll('*')].filter((each) =>
  each.checkVisibility() && !each.disabled
  && [...each.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()))
.map((each) => {
  const light = (colour) => {
    const canvas = new OffscreenCanvas(1, 1).getContext('2d');
    canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const over = (colour, under) => under.map((c, n) => c + (colour[n] - c) * colour[3] / 255);
  const layers = [];
  let opacity = 1;
  for (let at = each; at; at = at.parentElement ?? at.getRootNode().host) {
    layers.unshift(light(getComputedStyle(at).backgroundColor));
    opacity *= getComputedStyle(at).opacity;
  }
  const ground = layers.reduce((under, colour) => over(colour, under), [255, 255, 255]);
  const [r, g, b, a] = light(getComputedStyle(each).color);
  const ink = over([r, g, b, a * opacity], ground);
  const level = (colour) => colour.map((c) => c / 255)
    .map((c) => c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4)
    .reduce((sum, c, n) => sum + c * [.2126, .7152, .0722][n], 0);
  const [low, high] = [level(ink), level(ground)].sort((a, b) => a - b);
  return [(high + .05) / (low + .05), each.tagName + '.' + each.className + ' ' + each.textContent];
}))"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_have_contrast_in_both_schemes_and_never_scroll_sideways(page: Page, scheme: str):
    page.browser.prefer(scheme)
    page.browser.resize(320)  # a narrow window
    page.open(**PERSONAL)
    page.run("$('more').open = true")
    page.generate()
    page.click("explain")
    page.wait("!$('explanation').hidden")
    assert page.run("document.documentElement.scrollWidth") == 320
    page.browser.resize(1200)
    found = page.run(f"{CONTRASTS}(document.body)") + page.shadow(f"{CONTRASTS}(root)")
    assert len(found) > 60
    assert [each for each in found if each[0] < 4.5] == []
    ground = page.run("getComputedStyle(document.body).backgroundColor")
    assert (int(ground.removeprefix("rgb(").split(",")[0]) < 60) == (scheme == "dark")


WITHIN = """[...$('form').querySelectorAll('*')].every((each) =>
  each.getBoundingClientRect().right <= $('form').getBoundingClientRect().right)"""


@pytest.mark.parametrize("width", [320, 1000])
def test_long_lines_scroll_in_their_own_box(page: Page, width: int):
    page.browser.resize(width)
    long = "x" * 900
    page.open(kind="regex", source=long, prompt=f"{long} {long}", guidance=long)
    assert page.run(WITHIN)
    page.generate()
    assert page.run("document.documentElement.scrollWidth") == width
    page.open(kind="any", prompt=long, guidance="", max_tokens="9")
    assert page.generate()
    assert page.run("document.documentElement.scrollWidth") == width


def test_everything_that_takes_the_focus_has_a_name(page: Page):
    page.open(**PERSONAL, watermark="w")
    page.run("$('more').open = true")
    page.generate()
    controls = page.browser.controls()
    assert [each for each in controls if not each[1].strip()] == []
    names = {name for _, name in controls}
    assert {"Prompt", "Generate", "JSON Schema", "Temperature", "Model expression"} <= names
    assert {"Watermark", "Explain", "Copy link", "Copy text"} <= names
    assert sum(role == "option" and "probability" in name for role, name in controls) > 9
    assert page.run("$('status').getAttribute('role')") == "status"
    assert page.run("document.documentElement.lang") == "en"


def test_a_watermark_is_shown_and_found(page: Page):
    page.open(kind="regex", source="[a-z]{80}", watermark="w", prompt="x", temperature="1")
    steps = page.generate()
    for colour in (True, False):
        name = "green" if colour else "red"
        count = sum(step["green"] is colour for step in steps)
        assert page.shadow(f"root.querySelectorAll('.tokens .{name}').length") == count > 0
    page.click("detect")
    page.wait("$('evidence').children.length > 0")
    text = "".join(step["text"] for step in steps)
    found = gw.Watermark(key=5).detect(text, model(), gw.Regex("[a-z]{80}"))
    assert f"{found.z:.2f} standard deviations" in page.text("evidence")
    assert f"{found.counted} of 80 tokens" in page.text("evidence")


def test_a_classifier_is_chosen_and_a_source_explained_part_by_part(page: Page, client: Client):
    page.open(kind="regex", source="[ab]{6}", prompt="x")
    page.run("$('more').open = true")
    page.run("$('form').elements.classifier.value = 'a'")
    stages = [stage["name"] for stage in page.generate()[0]["stages"]]
    assert any(name.startswith("classifier") for name in stages)
    page.open(**PERSONAL)
    page.click("explain")
    page.wait("!$('explanation').hidden")
    told = client.ok("/v1/explain", structured_outputs={"json": PERSON})["enforced"]
    rows = page.run("[...$('enforced').rows].map((row) => row.cells[0].textContent)")
    assert rows == [each["place"] for each in told]
    assert told[0]["how"] in page.text("enforced")


HOSTILE = "</script><script>window.hit=1</script><img src=x onerror=window.hit=1>"


def test_markup_of_a_model_or_of_a_link_is_text(page: Page):
    page.open(kind="choice", source=HOSTILE, prompt=HOSTILE, watermark=HOSTILE)
    page.generate()
    assert HOSTILE[:25] in page.text("error")  # there is no such watermark
    page.open(kind="choice", source=HOSTILE, prompt=HOSTILE)
    page.generate()
    assert page.shadow("root.querySelector('.tokens').textContent").startswith(HOSTILE)
    page.click("explain")
    page.wait("!$('explanation').hidden")
    assert page.run("window.hit") is None
    assert page.run("document.scripts.length") == 1
    assert page.run("document.images.length") == 1


def test_a_key_is_asked_for_and_kept_in_the_tab(started: Browser, addresses: list[str]):
    page = Page(started, addresses[1])
    page.browser.open(page.address)
    page.wait("$('asked').open")
    assert "only holders of a key" in page.text("asked")
    page.browser.write("wrong")
    page.browser.press("Enter")
    page.wait("$('asked').open && !$('refused').hidden")
    page.browser.write("secret")
    page.browser.press("Enter")
    page.wait("$('model').textContent === 'locked'")
    assert "secret" not in page.run("location.href + JSON.stringify(localStorage)")
    page.open(kind="any", prompt="x", max_tokens="3", seed="1")
    assert page.run("$('asked').open") is False
    assert page.generate()
    page.run("sessionStorage.clear()")


# As JupyterLab shows the outputs of a trusted notebook.
INSERTED = """((html) => {
  document.body.innerHTML = html;
  for (const script of document.body.querySelectorAll('script')) {
    const again = document.createElement('script');
    for (const each of script.attributes) again.setAttribute(each.name, each.value);
    again.textContent = script.textContent;
    script.replaceWith(again);
  }
})"""


@pytest.mark.parametrize("inserted", [False, True])
@pytest.mark.parametrize("trace", [0, 3])
def test_a_notebook_has_the_view_of_the_page(
    started: Browser, tmp_path: Path, trace: int, inserted: bool
):
    results = [
        model().generate("x", gw.Choice([HOSTILE]), seed=1, trace=trace),
        model().generate("x", gw.Regex(r"\{\n[a-z]{9}\}"), seed=1, trace=trace),
    ]
    shown = "".join(result._repr_html_() for result in results)
    written = "" if inserted else shown
    (tmp_path / "notebook.html").write_text(f"<meta charset=utf-8>{written}", encoding="utf-8")
    started.requests.clear()
    started.said.clear()
    started.open(f"file://{tmp_path}/notebook.html")
    if inserted:
        started.run(f"{INSERTED}({json.dumps(shown)})")
    for n, result in enumerate(results):
        root = f"document.querySelectorAll('guideway-tokens')[{n}].shadowRoot"
        assert started.run(f"{root}.querySelectorAll('.token[role=option]').length") == len(
            result.trace or result.tokens
        )
        text = started.run(f"{root}.querySelector('.tokens').textContent")
        facts = started.run(f"{root}.querySelector('.facts').textContent")
        assert text.startswith(result.text.replace("\n", "↵\n"))
        assert started.run(f"{root}.querySelectorAll('.stage').length > 0") == bool(trace)
        assert f"{len(result.tokens)} tokens" in facts
    assert started.run("window.hit") is None
    assert started.said == []
    assert [each for each in started.requests if not each.startswith(("file:", "about:"))] == []
