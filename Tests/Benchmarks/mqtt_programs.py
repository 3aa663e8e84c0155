"""The broker of the MQTT rows, on loopback, and its own subscriber."""
import os
import shutil
import socket
import subprocess
import time

from processes import LOOPBACK, SECONDS, Running


def free_port():
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return probe.getsockname()[1]


class Broker:
    """Debian's mosquitto, with and without TLS, on ports that were free when chosen."""

    def __init__(self, folder):
        self.folder = folder
        self.authority = make_certificates(folder)
        self.log = os.path.join(folder, "broker.log")
        self.subscribers = 0

    def __enter__(self):
        for _ in range(5):
            self.port, self.tls_port = free_port(), free_port()
            with open(self.log, "w") as log:
                self.process = subprocess.Popen([mosquitto(), "-c", self.configuration()], stdout=log, stderr=log)
            if self.listens():
                return self
            self.__exit__()
        with open(self.log) as log:
            raise SystemExit(f"mosquitto did not start: {log.read()}")

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(SECONDS)

    def configuration(self):
        lines = [
            "allow_anonymous true", "persistence false", "max_queued_messages 0", "max_inflight_messages 1000",
            "set_tcp_nodelay true", "sys_interval 0", "log_type subscribe", "log_type notice", "connection_messages false",
            f"listener {self.port} {LOOPBACK}",
            f"listener {self.tls_port} {LOOPBACK}",
            f"certfile {self.folder}/server.pem", f"keyfile {self.folder}/server.key",
        ]
        path = os.path.join(self.folder, "mosquitto.conf")
        with open(path, "w") as file:
            file.write("\n".join((["user root"] if os.geteuid() == 0 else []) + lines) + "\n")
        return path

    def listens(self):
        end = time.monotonic() + SECONDS
        while self.process.poll() is None and time.monotonic() < end:
            try:
                for port in (self.port, self.tls_port):
                    socket.create_connection((LOOPBACK, port), 1).close()
                return True
            except OSError:
                time.sleep(0.02)
        return False

    def command(self, topic, count, qos, *more, output=subprocess.DEVNULL):
        """Returns a mosquitto_sub once the broker's log shows its subscription."""
        self.subscribers += 1
        name = f"rows-{self.subscribers}"
        running = Running(
            "mosquitto_sub", "-h", LOOPBACK, "-p", self.port, "-V", "mqttv5", "-i", name, "-t", topic, "-q", qos,
            "-C", count, "-D", "connect", "receive-maximum", 250, *more, stdout=output,
        )
        end, has_ended = time.monotonic() + SECONDS, False
        while time.monotonic() < end and not has_ended:
            # Checked before the log, which is complete once the process has exited.
            has_ended = running.process.poll() is not None
            with open(self.log) as log:
                if f"{name} {qos} {topic}" in log.read():
                    return running
            time.sleep(0.01)
        running.__exit__()
        raise SystemExit("mosquitto_sub did not subscribe")

    def dropped(self):
        """Returns the number of subscribers whose messages were dropped; the broker logs it once for each."""
        with open(self.log) as log:
            return sum("messages are being dropped" in line for line in log)


def mosquitto():
    """Returns the broker's path. Debian installs it in a folder that is only in root's PATH."""
    path = shutil.which("mosquitto", path=os.environ["PATH"] + ":/usr/local/sbin:/usr/sbin")
    if path is None:
        raise SystemExit("mosquitto not found; run make deps")
    return path


def make_certificates(folder):
    """Creates an authority, whose file it returns, and a server certificate for loopback."""
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    with open(os.path.join(folder, "names"), "w") as file:
        file.write(f"subjectAltName=IP:{LOOPBACK}\n")
    openssl(folder, "req", "-x509", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=Benchmark", *key)
    openssl(folder, "req", "-keyout", "server.key", "-out", "server.csr", "-subj", f"/CN={LOOPBACK}", *key)
    signed_by = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names"]
    openssl(folder, "x509", "-req", "-in", "server.csr", *signed_by, "-out", "server.pem")
    return os.path.join(folder, "ca.pem")


def openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, timeout=SECONDS, capture_output=True)
