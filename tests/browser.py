"""A real browser, driven over a pipe by the DevTools protocol; nothing to install but Chromium."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Any

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)

# The browser reads commands from file 3 and writes answers to file 4.
LAUNCH = """
import os, sys
read, write = (os.dup(os.dup(os.dup(int(n)))) for n in sys.argv[1:3])
os.dup2(read, 3), os.dup2(write, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""

KEYS = {"Tab": 9, "Enter": 13, " ": 32, "ArrowRight": 39, "ArrowDown": 40, "End": 35}


class Browser:
    """One page of a headless Chromium."""

    def __init__(self) -> None:
        self.home = tempfile.mkdtemp(prefix="browser-")
        theirs_in, self.out = os.pipe()
        self.inn, theirs_out = os.pipe()
        command = [CHROMIUM, *FLAGS, f"--user-data-dir={self.home}", "about:blank"]
        self.process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, str(theirs_in), str(theirs_out), *command],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self.buffer, self.number, self.session = b"", 0, None
        self.events: list[dict[str, Any]] = []
        try:
            target = self.call("Target.createTarget", url="about:blank")["targetId"]
            attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
            self.session = attached["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network", "Accessibility", "DOM"):
                self.call(f"{domain}.enable")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.out)
        os.close(self.inn)
        shutil.rmtree(self.home, ignore_errors=True)

    # The protocol --------------------------------------------------------------------------------

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def _read(self, patience: float = 60.0) -> dict[str, Any]:
        until = time.monotonic() + patience
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.inn], [], [], max(0.0, until - time.monotonic()))
            chunk = os.read(self.inn, 1 << 16) if ready else b""
            if not chunk:
                raise RuntimeError("the browser does not answer")
            self.buffer += chunk
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def seen(self, method: str) -> list[dict[str, Any]]:
        return [event["params"] for event in self.events if event.get("method") == method]

    # What a person does --------------------------------------------------------------------------

    def open(self, url: str) -> None:
        self.events.clear()
        self.call("Page.navigate", url=url)
        while not self.seen("Page.loadEventFired"):
            self.events.append(self._read())

    def run(self, script: str) -> Any:
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description"))
        return answer["result"].get("value")

    def click(self, selector: str) -> None:
        where = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center', behavior: 'instant'});"
            "const b = e.getBoundingClientRect();"
            "return [b.x + b.width / 2, b.y + b.height / 2] })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=where[0],
                y=where[1],
                button="left",
                clickCount=1,
            )

    def press(self, key: str, times: int = 1) -> None:
        text = {"Enter": "\r", " ": " "}.get(key)
        known = {
            "key": key,
            "windowsVirtualKeyCode": KEYS[key],
            "code": key if key != " " else "Space",
        }
        for _ in range(times):
            down = {"type": "keyDown" if text else "rawKeyDown"} | ({"text": text} if text else {})
            self.call("Input.dispatchKeyEvent", **down, **known)
            self.call("Input.dispatchKeyEvent", type="keyUp", **known)

    def write(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    # What it looks like --------------------------------------------------------------------------

    def emulate(self, *, media: str = "", dark: bool = False) -> None:
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        still = {"name": "prefers-reduced-motion", "value": "reduce"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme, still])

    def resize(self, width: int, height: int) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def scripts(self, on: bool) -> None:
        self.call("Emulation.setScriptExecutionDisabled", value=not on)

    def pdf(self) -> bytes:
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])

    def controls(self) -> list[tuple[str, str]]:
        """Role and name of everything that can be worked, as a screen reader is told."""
        roles = {"button", "radio", "combobox", "searchbox", "textbox", "checkbox", "link"}
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        return [
            (node["role"]["value"], node.get("name", {}).get("value", ""))
            for node in nodes
            if not node.get("ignored") and node["role"]["value"] in roles
        ]

    def complaints(self) -> list[str]:
        """Errors and warnings on the console, exceptions, dialogues, requests to anywhere else."""
        found = [
            str(event["args"])
            for event in self.seen("Runtime.consoleAPICalled")
            if event["type"] in {"error", "warning", "assert"}
        ]
        found += [str(event["exceptionDetails"]) for event in self.seen("Runtime.exceptionThrown")]
        found += [str(event["entry"]["text"]) for event in self.seen("Log.entryAdded")]
        found += [str(event["message"]) for event in self.seen("Page.javascriptDialogOpening")]
        urls = [event["request"]["url"] for event in self.seen("Network.requestWillBeSent")]
        return found + [url for url in urls if not url.startswith(("file:", "data:"))]
