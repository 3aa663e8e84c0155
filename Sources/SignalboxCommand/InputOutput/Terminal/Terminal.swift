import AdapterSupport
import Synchronization

/// A key of a terminal.
enum TerminalKey: Sendable, Hashable {
    case character(Character)
    case enter, escape, backspace
    case up, down, left, right
    /// The terminal is gone.
    case end
}

/// The number of columns and rows of a terminal.
struct TerminalSize: Sendable, Equatable {
    var columns = 80
    var rows = 24
}

/// The terminal of the user, in full-screen mode: its keys are read one by one, without echo, and the text that was on it comes
/// back at the end. Ctrl-C still sends SIGINT.
final class Terminal: Sendable {
    /// The keys, and `nil` when the size may have changed.
    let events: AsyncStream<TerminalKey?>
    private let output = OutputDescriptor.standardOutput
    private let former: termios
    private let wake: WakeSignal
    private let ended = Promise<Void>()

    /// How often the size is compared. A resized window is drawn again at the latest after this time.
    private static let interval = Duration.milliseconds(200)

    /// Takes over the terminal of stdin and stdout.
    ///
    /// - Returns: `nil` if either is no terminal.
    /// - Throws: ``SystemResourceError``.
    init?() throws(SystemResourceError) {
        var settings = termios()
        guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1, tcgetattr(STDIN_FILENO, &settings) == 0 else {
            return nil
        }
        former = settings
        settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
        let (events, keys) = AsyncStream.makeStream(of: TerminalKey?.self, bufferingPolicy: .bufferingNewest(64))
        self.events = events
        wake = try WakeSignal()
        let (wake, ended) = (wake, ended)
        try OwnedThread {
            Terminal.readKeys(wake, keys)
            ended.set(())
        }.detach()
        tcsetattr(STDIN_FILENO, TCSANOW, &settings)
        try? output.write(Array("\u{1B}[?1049h\u{1B}[?25l".utf8))
    }

    /// The size at this moment.
    static var size: TerminalSize {
        var window = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0, window.ws_row > 0 else {
            return TerminalSize()
        }
        return TerminalSize(columns: Int(window.ws_col), rows: Int(window.ws_row))
    }

    /// Gives the terminal back.
    func close() async {
        wake.wake()
        await ended.value()
        var settings = former
        tcsetattr(STDIN_FILENO, TCSANOW, &settings)
        try? output.write(Array("\u{1B}[?25h\u{1B}[?1049l".utf8))
    }

    // MARK: - The thread

    private static func readKeys(_ wake: WakeSignal, _ keys: AsyncStream<TerminalKey?>.Continuation) {
        defer { keys.finish() }
        var size = Terminal.size
        while true {
            let wait = SocketWait(socket: STDIN_FILENO, for: .readable, wake: wake.readEnd, limit: interval)
            if wait.isWoken { return }
            if wait.isReady {
                var buffer = [UInt8](repeating: 0, count: 256)
                let count = read(STDIN_FILENO, &buffer, buffer.count)
                guard count > 0 else {
                    keys.yield(.end)
                    return
                }
                for key in TerminalKey.keys(in: buffer.prefix(count)) { keys.yield(key) }
            }
            let current = Terminal.size
            if current != size { keys.yield(nil) }
            size = current
        }
    }
}

extension TerminalKey {
    /// Returns the keys in bytes that were read at once. A sequence that is cut counts as its first bytes.
    static func keys(in bytes: some Collection<UInt8>) -> [TerminalKey] {
        var keys: [TerminalKey] = []
        var rest = Substring(String(decoding: Array(bytes), as: UTF8.self))
        while let first = rest.first {
            if let (sequence, key) = sequences.first(where: { rest.hasPrefix($0.0) }) {
                rest = rest.dropFirst(sequence.count)
                keys.append(key)
                continue
            }
            rest = rest.dropFirst()
            switch first {
            case "\u{1B}":
                // An unknown sequence, such as that of a function key, is no text.
                if rest.first == "[" || rest.first == "O" {
                    rest = rest.dropFirst().drop { !$0.isLetter && $0 != "~" }.dropFirst()
                } else {
                    keys.append(.escape)
                }
            case "\r", "\n", "\r\n": keys.append(.enter)
            case "\u{7F}", "\u{8}": keys.append(.backspace)
            case "\u{4}": keys.append(.end)
            case let character where character.unicodeScalars.allSatisfy { $0.value >= 0x20 }:
                keys.append(.character(character))
            default: break
            }
        }
        return keys
    }

    private static let sequences: [(String, TerminalKey)] = [
        ("\u{1B}[A", .up), ("\u{1B}[B", .down), ("\u{1B}[C", .right), ("\u{1B}[D", .left),
        ("\u{1B}OA", .up), ("\u{1B}OB", .down), ("\u{1B}OC", .right), ("\u{1B}OD", .left),
    ]
}
