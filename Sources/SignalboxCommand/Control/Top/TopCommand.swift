import AdapterSupport
import ArgumentParser
import Synchronization

/// The command `signalbox top`.
struct TopCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Shows a running program live: rates, durations, errors, queues, dead letters.",
        usage: "signalbox top [<options>]",
        discussion: """
            Fills the terminal, and asks the program once a second through its control socket. Press h for the keys: \
            q ends, p pauses, s sorts, / filters. If stdout is no terminal, each status is written as plain text.

            EXAMPLES
              signalbox top
              signalbox top --config examples/durable/after.yaml --sort p99

            \(CommandStatus.help([
                .done, .usage, .invalidConfiguration, .unreadableFile, .unavailable, .outputFailed, .protocolBroken,
            ], of: "top"))
            """
    )

    @Option(
        help: ArgumentHelp("The time between two: \(TimeoutOption.form).", valueName: "time"),
        transform: TimeoutOption.duration
    )
    var interval = Duration.seconds(1)

    @Option(name: [.customShort("C"), .customLong("count")], help: "End after this many.")
    var count: Int?

    @Option(help: "The order of the plugins: \(TopState.Order.allCases.map(\.rawValue).joined(separator: ", ")).")
    var sort = TopState.Order.configuration

    @OptionGroup var program: ControlArguments

    @OptionGroup(title: "Diagnostics")
    var diagnostics: DiagnosticArguments

    func validate() throws {
        guard interval >= .milliseconds(100) else { throw ValidationError("--interval must be at least 100ms") }
        guard count.map({ $0 >= 1 }) ?? true else { throw ValidationError("--count must be at least 1") }
    }

    func perform() async throws -> CommandStatus {
        let (client, output) = (try program.client(), StandardOutput())
        var state = TopState()
        state.order = sort
        // Ask before the terminal changes, so that an error is shown on it as it was.
        let first: ProgramStatus = try ControlClient.decoded(
            try await client.ask(.status(history: true), within: ControlClient.answerLimit)
        )
        guard let terminal = try Terminal() else {
            return try await ControlSession(output: output).run { [state] in
                try await write(first, client, output, state)
            }
        }
        let screen = TopScreen(first, state, output)
        do {
            let status = try await ControlSession(output: output).run { try await show(screen, client, terminal) }
            await terminal.close()
            return status
        } catch {
            await terminal.close()
            throw error
        }
    }

    /// Shows frames until the user, a signal or `--count` ends it.
    private func show(_ screen: TopScreen, _ client: ControlClient, _ terminal: Terminal) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for await key in terminal.events {
                    try await screen.handle(key)
                    if screen.hasEnded { return }
                }
            }
            group.addTask {
                var left = count ?? .max
                while left > 1 {
                    try await Task.sleep(for: interval)
                    guard !screen.isPaused else { continue }
                    let line = try await client.ask(.status(history: true), within: ControlClient.answerLimit)
                    try await screen.show(try ControlClient.decoded(line))
                    left -= 1
                }
            }
            try await screen.draw()
            defer { group.cancelAll() }
            do { try await group.next() } catch is CancellationError {}
        }
    }

    /// Writes plain frames, which are as high as they must be.
    private func write(
        _ first: ProgramStatus,
        _ client: ControlClient,
        _ output: StandardOutput,
        _ state: TopState
    ) async throws {
        var (status, left) = (first, count ?? .max)
        while true {
            let size = TerminalSize(columns: 132, rows: .max / 2)
            let view = TopView(status: status, state: state, size: size, isColored: false)
            try await output.write(Array((view.lines.joined(separator: "\n") + "\n\n").utf8))
            left -= 1
            guard left > 0, (try? await Task.sleep(for: interval)) != nil else { return }
            status = try ControlClient.decoded(
                try await client.ask(.status(history: true), within: ControlClient.answerLimit)
            )
        }
    }
}

extension TopState.Order: ExpressibleByArgument {}

/// What `top` has on the terminal. Safe to use from any thread.
private final class TopScreen: Sendable {
    private struct State {
        var status: ProgramStatus
        var choices: TopState
    }

    private let output: StandardOutput
    private let state: Mutex<State>

    init(_ status: ProgramStatus, _ choices: TopState, _ output: StandardOutput) {
        self.output = output
        state = Mutex(State(status: status, choices: choices))
    }

    var hasEnded: Bool { state.withLock { $0.choices.hasEnded } }
    var isPaused: Bool { state.withLock { $0.choices.isPaused } }

    func handle(_ key: TerminalKey?) async throws {
        if let key { state.withLock { $0.choices.handle(key) } }
        try await draw()
    }

    func show(_ status: ProgramStatus) async throws {
        state.withLock { $0.status = status }
        try await draw()
    }

    func draw() async throws {
        let (status, choices) = state.withLock { ($0.status, $0.choices) }
        let view = TopView(
            status: status,
            state: choices,
            size: Terminal.size,
            showsBlocks: TopScreen.showsBlocks(Environment.variables(TopScreen.localeVariables))
        )
        try await output.write(TerminalScreen.frame(view.lines))
    }

    /// The variables that name the character set. The first one that is not empty counts (locale(7)).
    private static let localeVariables = ["LC_ALL", "LC_CTYPE", "LANG"]

    /// Whether the terminal's character set is UTF-8.
    static func showsBlocks(_ environment: [String: String]) -> Bool {
        let names = localeVariables.compactMap { environment[$0] }
        let locale = names.first { !$0.isEmpty } ?? ""
        return locale.lowercased().replacing("-", with: "").contains("utf8")
    }
}
