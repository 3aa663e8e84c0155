"""The line below a table: when, on what machine and with which versions it was measured."""
import datetime
import glob
import json
import os
import platform
import re
import shutil
import subprocess

PYTHON = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.build/python")
HUMMINGBIRD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../PeerServers/Package.resolved")
# Peers that are not Python packages: a command, and what its output has before the version.
COMMANDS = {
    "mosquitto": (["mosquitto", "-h"], r"mosquitto version "),
    "libmosquitto": (["pkg-config", "--modversion", "libmosquitto"], ""),
    "libwebsockets": (["pkg-config", "--modversion", "libwebsockets"], ""),
    "libcurl": (["pkg-config", "--modversion", "libcurl"], ""),
    "Python": (["python3", "--version"], "Python "),
    "JavaScriptCore": (["pkg-config", "--modversion", "javascriptcoregtk-4.1"], ""),
    "WebKitGTK": (["pkg-config", "--modversion", "webkit2gtk-4.1"], ""),
    "Chromium": (["chromium-headless-shell", "--version"], ""),
}
# Debian installs the broker in a folder that is only in root's PATH.
PATH = os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/sbin"


def line(rounds, loads, peers, others, is_busy):
    """Returns the line. `loads` are the load averages before and after, `others` is the share of other processes or None."""
    versions = [f"{peer} {version}" for peer in peers if (version := version_of(peer))]
    now = datetime.datetime.now(datetime.timezone.utc)
    parts = [
        f"{now:%Y-%m-%d %H:%M} UTC",
        f"{system()}, Swift {swift()}",
        f"{processor()}, {os.cpu_count()} processor{'s' if os.cpu_count() != 1 else ''}",
        *([", ".join(versions)] if versions else []),
        f"{rounds} round{'s' if rounds != 1 else ''}",
        f"load average {loads[0]:.1f} before and {loads[1]:.1f} after",
        usage(others, is_busy),
    ]
    return f"*{'; '.join(parts)}.*"


def usage(others, is_busy):
    text = "other processes were not checked" if others is None else f"other processes used {others:.1%} of the processors"
    return f"measured with `--busy` on a machine that need not be quiet: {text}" if is_busy else text


def system():
    try:
        with open("/etc/os-release") as file:
            return re.search(r'^PRETTY_NAME="?([^"\n]+)', file.read(), re.MULTILINE).group(1)
    except (OSError, AttributeError):
        return f"{platform.system()} {platform.mac_ver()[0] or platform.release()}"


def swift():
    return after_words(["swift", "--version"], r"Swift version ")


def processor():
    try:
        with open("/proc/cpuinfo") as file:
            return re.search(r"^model name\s*: (.+)$", file.read(), re.MULTILINE).group(1).strip()
    except (OSError, AttributeError):
        return output(["sysctl", "-n", "machdep.cpu.brand_string"]).strip() or platform.machine()


def version_of(peer):
    """Returns the version of a program, a library or a Python package; None if it is not installed."""
    if peer == "hummingbird":
        return resolved(peer)
    if peer in COMMANDS:
        return after_words(*COMMANDS[peer])
    name = re.sub(r"[-_.]+", "_", peer)
    found = glob.glob(f"{PYTHON}/lib/python*/site-packages/{name}-*.dist-info")
    return os.path.basename(found[0])[len(name) + 1 : -len(".dist-info")] if found else None


def resolved(package):
    """Returns the version of a Swift package that Tests/PeerServers uses; None if it is not resolved."""
    try:
        with open(HUMMINGBIRD) as file:
            pins = json.load(file)["pins"]
    except OSError:
        return None
    return next((pin["state"]["version"] for pin in pins if pin["identity"] == package), None)


def after_words(command, words):
    found = re.search(words + r"(\d[\w.]*)", output(command))
    return found.group(1) if found else None


def output(command):
    """Returns what a command prints, whatever its status; nothing if there is no such command."""
    program = shutil.which(command[0], path=PATH)
    if program is None:
        return ""
    done = subprocess.run([program, *command[1:]], capture_output=True, text=True, timeout=60)
    return done.stdout + done.stderr
