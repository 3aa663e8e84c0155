import AdapterSupport
import Logging
import SignalboxCore
import Synchronization

/// Writes to stderr. Lines are written on a serial queue, so that logging never waits for the reader.
final class DiagnosticOutput: Sendable {
    /// The process's stderr.
    static let shared = DiagnosticOutput()

    /// Moves to the start of the line and erases it (ECMA-48, 8.3.15 and 8.3.41).
    private static let erasure = "\r\u{1B}[K"

    private let committer: LineCommitter
    private let dropped = Atomic<Int>(0)
    private let writesJSON = Atomic<Bool>(false)
    private let isSilent = Atomic<Bool>(false)
    private let isTerminal: Bool
    /// Whether the lines go to systemd's journal.
    private let isJournal: Bool
    /// The text of the progress line at the end of the output. It is empty if there is no such line.
    private let progress = Mutex("")

    /// - Parameters:
    ///   - descriptor: The descriptor to write to. Tests pass a pipe.
    ///   - isTerminal: Whether the descriptor is a terminal; `nil` to find out.
    ///   - isJournal: Whether the descriptor leads to systemd's journal; `nil` to find out.
    ///   - limit: The maximum number of bytes that can wait to be written.
    init(
        descriptor: OutputDescriptor = .standardError,
        isTerminal: Bool? = nil,
        isJournal: Bool? = nil,
        limit: Int = 16 << 20
    ) {
        self.isTerminal = isTerminal ?? descriptor.isTerminal
        self.isJournal = isJournal ?? descriptor.isJournal
        committer = LineCommitter(name: "signalbox.stderr", limit: limit) { (bytes) throws(OutputFailure) in
            do throws(SystemError) {
                try descriptor.write(bytes)
            } catch {
                throw .system(error.description)
            }
        }
    }

    /// Whether diagnostics are not written at all: the user gave `--quiet`.
    var isQuiet: Bool { isSilent.load(ordering: .relaxed) }

    /// The form of the lines that ``report(_:level:evenIfQuiet:)`` and the log write.
    var format: DiagnosticFormat { writesJSON.load(ordering: .relaxed) ? .json : .text }

    /// Sets the form of all later lines. Lines about arguments that cannot be parsed come before this call, and are text.
    func use(_ format: DiagnosticFormat, isQuiet: Bool) {
        writesJSON.store(format == .json, ordering: .relaxed)
        isSilent.store(isQuiet, ordering: .relaxed)
    }

    /// Enqueues a line, which must include its newline, even if the user gave `--quiet`. If too many bytes are waiting, the
    /// line is dropped. The next line that is enqueued reports how many were dropped.
    func offer(_ line: String) {
        let missing = dropped.exchange(0, ordering: .relaxed)
        var note = missing == 0 ? "" : "(\(missing) lines were dropped before this one)\n"
        if missing > 0, format == .json {
            note = DiagnosticOutput.json(level: .warning, "\(missing) lines were dropped before this one")
        }
        if !note.isEmpty { note = priority(of: .warning) + note }
        let isOffered = progress.withLock { progress in
            let erasure = progress.isEmpty ? "" : Self.erasure
            return committer.offer(Array((erasure + note + line + progress).utf8))
        }
        if !isOffered { dropped.wrappingAdd(missing + 1, ordering: .relaxed) }
    }

    /// Returns what a line of a level begins with: a priority in the journal (sd-daemon(3)), and otherwise nothing.
    func priority(of level: Logger.Level) -> String {
        guard isJournal else { return "" }
        return switch level {
        case .critical: "<2>"
        case .error: "<3>"
        case .warning: "<4>"
        case .notice: "<5>"
        case .info: "<6>"
        case .debug, .trace: "<7>"
        }
    }

    /// Whether a progress line can be shown: stderr is a terminal, and the user wants text on it.
    var showsProgress: Bool { isTerminal && !isQuiet && format == .text }

    /// Replaces the progress line. Empty text removes it.
    func show(progress text: String) {
        progress.withLock { progress in
            guard progress != text else { return }
            // If the line is not written now, the next one is.
            if committer.offer(Array((Self.erasure + text).utf8)) { progress = text }
        }
    }

    /// Writes a message about the program itself, on one line that starts with the program's name, or as a JSON object.
    ///
    /// - Parameters:
    ///   - level: The level of the JSON object. The text has none.
    ///   - evenIfQuiet: Whether to write the line although the user gave `--quiet`.
    func report(_ line: String, level: Logger.Level = .error, evenIfQuiet: Bool = false) {
        guard evenIfQuiet || !isQuiet else { return }
        switch format {
        case .text: offer("\(priority(of: level))signalbox: \(LineEscape.escaped(line))\n")
        case .json: offer(priority(of: level) + DiagnosticOutput.json(level: level, line))
        }
    }

    /// Returns a line as a JSON object with the members `time`, `level` and `message`, then those of the metadata, sorted by
    /// name. Each value is a string.
    static func json(
        time: WallTime = .now(),
        level: Logger.Level,
        _ message: String,
        metadata: Logger.Metadata = [:]
    ) -> String {
        let shown = { (text: String) in RawArguments.areEscaped ? RawArguments.shown(text) : text }
        var object = JSONObject()
        object.add("time", WallTimeText.utc(time))
        object.add("level", level.rawValue)
        object.add("message", shown(message))
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
            // A member of the same name would hide the first one from most readers.
            object.add(["time", "level", "message"].contains(key) ? "\(key)_" : key, shown("\(value)"))
        }
        return String(decoding: object.line, as: UTF8.self)
    }

    /// Waits until all earlier lines are written. Lines that are still waiting when the time limit expires are lost.
    ///
    /// - Returns: `false` if the time limit expired first.
    @discardableResult
    func flush(within limit: Duration = StandardOutput.flushLimit) async -> Bool {
        await committer.flush(within: limit)
    }
}
