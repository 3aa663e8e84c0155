import AdapterSupport

/// Keeps one line about the progress of a command at the end of stderr, if that is a terminal.
///
/// ``DiagnosticOutput`` writes the line, so that it never mixes with a diagnostic.
struct ProgressLine: Sendable {
    /// How often the line changes.
    private static let interval: Duration = .milliseconds(200)

    private let output: DiagnosticOutput
    /// Waits until the line must change. Returns `false` when the task is cancelled.
    private let tick: @Sendable () async -> Bool

    private let isShown: Bool

    /// - Parameters:
    ///   - isShown: Whether there is a line. Pass `false` if the user types on the terminal, whose text it would erase.
    ///   - output: Where to write the line.
    ///   - tick: Waits until the line must change. Tests replace it.
    init(
        isShown: Bool = true,
        output: DiagnosticOutput = .shared,
        tick: @escaping @Sendable () async -> Bool = { (try? await Task.sleep(for: ProgressLine.interval)) != nil }
    ) {
        (self.isShown, self.output, self.tick) = (isShown, output, tick)
    }

    /// Performs the work. Until it returns, the line shows the text.
    ///
    /// - Parameter text: Returns the text without control characters. It is called by one task at a time.
    func during<Value: Sendable>(
        _ text: @escaping @Sendable () -> String,
        _ work: () async -> Value
    ) async -> Value {
        guard isShown, output.showsProgress else { return await work() }
        let showing = Task { [output, tick] in
            while await tick() { output.show(progress: text()) }
        }
        let value = await work()
        showing.cancel()
        await showing.value
        output.show(progress: "")
        return value
    }
}
