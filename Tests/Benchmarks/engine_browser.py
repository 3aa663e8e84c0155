"""A headless Chromium for the engine rows."""
import os
import shutil
import signal
import subprocess
import tempfile
import time

BROWSERS = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]
# The flags of Tests/BrokerKit/Chromium.
BROWSER_FLAGS = [
    "--remote-debugging-pipe", "--headless", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage",
    "--disable-breakpad", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-default-apps", "--disable-extensions", "--mute-audio", "--no-proxy-server",
    "--disable-background-timer-throttling", "--disable-renderer-backgrounding", "--disable-backgrounding-occluded-windows",
]


class Browser:
    """A headless Chromium with one page, in its own process group."""

    def __init__(self, url):
        self.profile = tempfile.mkdtemp(prefix="signalbox-benchmark-")
        own, given = os.pipe(), os.pipe()
        flags = BROWSER_FLAGS + (["--no-sandbox"] if os.geteuid() == 0 else [])
        # The browser reads its debugging pipe on descriptor 3 and writes on 4. It exits at the end of 3.
        command = f'exec "$@" 3<&{given[0]} 4>&{own[1]}'
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            ["bash", "-c", command, "bash", browser_path(), *flags, f"--user-data-dir={self.profile}", url],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            pass_fds=(given[0], own[1]), start_new_session=True,
        )
        os.close(given[0])
        os.close(own[1])
        self.ends = [given[1], own[0]]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for end in self.ends:
            os.close(end)
        # Before its leader is reaped, so that the id cannot be reused.
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)


def browser_path():
    return next((path for path in map(shutil.which, BROWSERS) if path), None)
