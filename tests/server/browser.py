"""A browser for tests: Chromium without a window, over the pipe of the DevTools protocol.

https://chromedevtools.github.io/devtools-protocol/ says what each method takes.
"""

import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self

PROGRAM: Final = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
INSTALL: Final = "chromium is not installed: apt-get install chromium"
FLAGS: Final = (
    *("--headless=new", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--hide-scrollbars", "--no-sandbox"),
)
KEYS: Final = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowRight": 39, "ArrowLeft": 37, "Home": 36}
PATIENCE: Final = 30.0  # seconds, on a busy machine


class Browser:
    """One tab.

    Attributes:
        requests: addresses of all requests.
        said: errors and warnings of the console, and exceptions of scripts.
    """

    def __init__(self, folder: Path) -> None:
        """Start the browser; its profile is kept in `folder`."""
        assert PROGRAM is not None
        self.requests, self.said = list[str](), list[str]()
        inside_in, self._out = os.pipe()
        self._in, inside_out = os.pipe()
        # The protocol's pipes are the descriptors 3 and 4; others may have these numbers here.
        redirected = f'exec "$@" 3<&{inside_in} 4>&{inside_out}'
        command = ["bash", "-c", redirected, "bash", PROGRAM, *FLAGS, f"--user-data-dir={folder}"]
        self._process = subprocess.Popen(
            [*command, "about:blank"],
            pass_fds=(inside_in, inside_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(inside_in)
        os.close(inside_out)
        self._rest, self._count, self._session = b"", 0, ""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "Accessibility"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._session = ""
        self.call("Browser.close")
        self._process.wait(PATIENCE)
        os.close(self._in)
        os.close(self._out)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol, and return its result."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._count:
                assert "error" not in answer, (method, answer)
                return answer["result"]
            self._note(answer["method"], answer["params"])

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], PATIENCE)
            assert ready, "the browser does not answer"
            found = os.read(self._in, 1 << 16)
            assert found, "the browser has ended"
            self._rest += found
        first, _, self._rest = self._rest.partition(b"\0")
        return json.loads(first)

    def _note(self, method: str, told: Mapping[str, Any]) -> None:
        match method:
            case "Network.requestWillBeSent":
                self.requests.append(told["request"]["url"])
            case "Runtime.exceptionThrown":
                self.said.append(json.dumps(told["exceptionDetails"]))
            case "Runtime.consoleAPICalled":
                self.said.append(json.dumps(told["args"]))
            case "Log.entryAdded":
                self.said.append(told["entry"]["text"])
            case _:
                pass

    def open(self, address: str) -> None:
        """Open an address in the tab."""
        self.call("Page.navigate", url="about:blank")  # an address with another fragment is new
        self.call("Page.navigate", url=address)
        self.wait("document.readyState === 'complete'")

    def run(self, script: str) -> Any:
        """The value of an expression of JavaScript."""
        how = {"returnByValue": True, "awaitPromise": True, "userGesture": True}
        found = self.call("Runtime.evaluate", expression=script, **how)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait(self, script: str) -> None:
        """Wait until an expression is true."""
        until = time.monotonic() + PATIENCE
        while not self.run(script):
            assert time.monotonic() < until, f"{script} is still false"
            time.sleep(0.02)

    def press(self, key: str, *, ctrl: bool = False) -> None:
        """Press a key, or a character."""
        text = {"Enter": "\r"}.get(key, "" if key in KEYS else key)
        how: dict[str, Any] = {"key": key, "code": key, "modifiers": 2 * ctrl}
        how |= {"windowsVirtualKeyCode": KEYS.get(key, ord(key[0].upper()))}
        self.call("Input.dispatchKeyEvent", type="keyDown", **how, text="" if ctrl else text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **how)

    def write(self, text: str) -> None:
        """Insert a text where the focus is."""
        self.call("Input.insertText", text=text)

    def resize(self, width: int, height: int = 900) -> None:
        """Give the tab a size."""
        how = {"deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, **how)

    def prefer(self, scheme: str) -> None:
        """Prefer light or dark colours."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def controls(self) -> list[tuple[str, str]]:
        """Role and name of everything that can have the focus, as screen readers know it."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        found = list[tuple[str, str]]()
        for node in nodes:
            properties = {
                each["name"]: each["value"].get("value") for each in node.get("properties", ())
            }
            if properties.get("focusable") and node["role"]["value"] != "RootWebArea":
                found.append((node["role"]["value"], node.get("name", {}).get("value", "")))
        return found
