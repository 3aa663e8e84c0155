"""shell.py COMMAND COMPLETIONS PAGES: checks what a user of a shell gets: colours, completions of bash and zsh, manual pages.

Each case is a line as typed up to the tab key, with words that must be offered and words that must not be. A shell or a `man` that
is not installed is skipped with a message. Exits with status 1 if a case fails.
"""
import fcntl, json, os, pty, re, select, shutil, signal, struct, subprocess, sys, tempfile, termios, time

PATIENCE = 60  # seconds until a shell has answered
FILES = ["lights.yaml", "lamps.yml", "lost.txt", "lit.pem"]
CASES = [
    ("signalbox subs", ["subscribe"], ["publish"]),
    ("signalbox help su", ["subscribe"], ["publish"]),
    ("signalbox subscribe mqtt://h --retai", ["--retained"], ["--topic"]),
    ("signalbox subscribe --retained ig", ["ignore"], ["deliver"]),
    ("signalbox run li", ["lights.yaml"], ["lit.pem"]),
    ("signalbox check la", ["lamps.yml"], []),
    ("signalbox serve --log-format js", ["json"], ["text"]),
    ("signalbox publish mqtt://h --file lo", ["lost.txt"], []),
    ("signalbox publish mqtt://h -f lo", ["lost.txt"], []),
    ("signalbox publish mqtt://h --ca lit", ["lit.pem"], []),
    ("signalbox subscribe mqtt://h --password-file lo", ["lost.txt"], []),
    ("signalbox publish mqtt://h:1883 -t a --kee", ["--keepalive"], ["--topic"]),
    ("signalbox publish mqtt://h --user-property a=b --kee", ["--keepalive"], ["--topic"]),
    ("signalbox send li", ["lights.yaml"], ["lit.pem"]),
    ("signalbox parse --routes la", ["lamps.yml"], []),
]
faults = []
unread = ""  # what zsh has written since the last mark


def expect(shell, line, offered, wanted, unwanted):
    for word in wanted:
        if word not in offered:
            faults.append(f"{shell}: '{line}' does not offer {word}, but {offered}")
    for word in unwanted:
        if word in offered:
            faults.append(f"{shell}: '{line}' offers {word}")


def bash(script, folder, path):
    """Sets what the shell sets when the tab key is pressed, and calls the function."""
    for line, wanted, unwanted in CASES:
        words = [part for word in line.split(" ") for part in re.split("([:=]+)", word) if part or not word]
        text = f"""
            source '{script}'
            read -r _ _ _ _ function _ < <(complete -p signalbox)
            COMP_WORDS=({" ".join(f"'{word}'" for word in words)}) COMP_CWORD={len(words) - 1}
            COMP_LINE='{line}' COMP_POINT={len(line)}
            "$function" signalbox '{words[-1]}' '{words[-2]}'
            printf '%s\\n' "${{COMPREPLY[@]}}"
        """
        ran = subprocess.run(
            ["bash", "--norc", "-c", text], cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True
        )
        errors = [each for each in ran.stderr.split("\n") if each and "compopt: not currently executing" not in each]
        if errors:
            faults.append(f"bash: '{line}': {errors}")
        expect("bash", line, ran.stdout.split("\n"), wanted, unwanted)
    print(f"shell: bash completes {len(CASES)} lines")


def until(terminal, mark):
    """Reads the terminal until the mark, and returns the text before it."""
    global unread
    limit = time.monotonic() + PATIENCE
    while mark not in unread:
        if time.monotonic() > limit or not select.select([terminal], [], [], PATIENCE)[0]:
            raise SystemExit(f"shell: zsh did not answer; it wrote {unread!r}")
        unread += os.read(terminal, 65536).decode("utf-8", "replace")
    text, unread = unread.split(mark, 1)
    return text


ZSH = """
fpath=("$COMPLETIONS" $fpath)
autoload -U compinit && compinit -u -D
zstyle ':completion:*' menu no
unsetopt beep list_ambiguous list_beep auto_list
PS1=
report() { print -r -- "<[$BUFFER]>"; BUFFER= }
zle -N report && bindkey '^T' report
print -r -- "<[ready]>"
"""


def zsh(completions, folder, path):
    """Types each line at a shell on a pseudo-terminal. One more key reports the line as the tab key has left it."""
    with open(os.path.join(folder, ".setup"), "w") as file:
        file.write(ZSH)
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        variables = {"PATH": path, "TERM": "dumb", "HOME": folder, "COMPLETIONS": completions}
        os.execvpe("zsh", ["zsh", "-f", "-i"], {**os.environ, **variables})
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
    try:
        os.write(terminal, b"source ./.setup\n")
        until(terminal, "<[ready]>")
        for line, wanted, unwanted in CASES:
            os.write(terminal, line.encode() + b"\t\x14")
            until(terminal, "<[")
            completed = re.sub(r"\s+", " ", until(terminal, "]>"))
            expect("zsh", line, completed.strip().split(" "), wanted, unwanted)
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    print(f"shell: zsh completes {len(CASES)} lines")


def with_subcommands(command, *above):
    """The command and all below it, each with the title of its page and that of the command above it."""
    title = "-".join([*above, command["commandName"]])
    below = [each for each in command.get("subcommands", []) if each["commandName"] != "help"]
    return [(command, title, "-".join(above))] + [found for each in below for found in with_subcommands(each, *above, command["commandName"])]


def manual(program, pages):
    """Each page formats without a warning, names each option that --help lists, and each status, and refers to its neighbours."""
    dump = json.loads(subprocess.run([program, "--experimental-dump-help"], check=True, capture_output=True).stdout)
    commands = with_subcommands(dump["command"])
    for command, title, above in commands:
        page = os.path.join(pages, f"{title}.1")
        ran = subprocess.run(
            ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", page],
            env={**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8"}, capture_output=True, text=True
        )
        shown = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", ran.stdout)
        if ran.returncode or ran.stderr:
            faults.append(f"man: {page}: {ran.stderr}")
        for other in [other for _, other, parent in commands if parent == title or above == other]:
            if f"{other}(1)" not in shown:
                faults.append(f"man: {page} does not refer to {other}")
        for argument in command["arguments"]:
            for name in argument.get("names", []):
                text = ("-" if name["kind"] == "short" else "--") + name["name"]
                if text not in ("--help", "-h", "--version") and not re.search(rf"(?<![\w-]){re.escape(text)}(?![\w-])", shown):
                    faults.append(f"man: {page} does not show {text}")
        for line in command["discussion"].split("\n"):
            if (match := re.fullmatch(r"  (\d+) +.*", line)) and not re.search(rf"^ +{match.group(1)} ", shown, flags=re.M):
                faults.append(f"man: {page} does not show the status {match.group(1)}")
    print(f"shell: man shows {len(commands)} pages")


def colour(program):
    """Only a terminal shows colours, and only if the user wants them."""
    def output(**variables):
        process, terminal = pty.fork()
        if process == 0:
            environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
            os.execve(program, [program, "parse", "https://a.example/", "nothing"], {**environment, **variables})
        text = b""
        try:
            while more := os.read(terminal, 65536):
                text += more
        except OSError:  # the program has ended
            pass
        os.waitpid(process, 0)
        return text.decode()

    for variables, is_colored in [({"TERM": "xterm"}, True), ({"TERM": "dumb"}, False), ({"TERM": "xterm", "NO_COLOR": "1"}, False)]:
        text = output(**variables)
        if "refused: " not in re.sub(r"\x1b\[\d*m", "", text) or ("\x1b[31mrefused\x1b[0m" in text) != is_colored or ("\x1b" in text) != is_colored:
            faults.append(f"colour: with {variables}, a terminal shows {text!r}")
    piped = subprocess.run([program, "parse", "nothing"], env={**os.environ, "TERM": "xterm"}, capture_output=True).stdout
    if b"\x1b" in piped:
        faults.append(f"colour: a pipe has {piped!r}")
    print("shell: colours appear on a terminal only")


def main(program, completions, pages):
    program, completions = os.path.abspath(program), os.path.abspath(completions)
    path = f"{os.path.dirname(program)}:{os.environ['PATH']}"
    with tempfile.TemporaryDirectory() as folder:
        for name in FILES:
            open(os.path.join(folder, name), "w").close()
        colour(program)
        bash(os.path.join(completions, "signalbox.bash"), folder, path)
        if shutil.which("zsh"):
            zsh(completions, folder, path)
        else:
            print("shell: skipped: the completions of zsh, which is not installed")
        if shutil.which("man"):
            manual(program, pages)
        else:
            print("shell: skipped: the manual pages, because man is not installed")
    for fault in faults:
        print(f"shell: {fault}", file=sys.stderr)
    return bool(faults)


sys.exit(main(*sys.argv[1:]))
