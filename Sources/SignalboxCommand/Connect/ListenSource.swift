import AdapterSupport
import Logging
import SignalboxCore
import Synchronization
import WebSocketChat

/// Runs the server of `serve --listen`. It passes received messages to the supervisor, and sends them or the lines of stdin
/// to the clients.
final class ListenSource: Adapter {
    private let server: WebSocketServer
    private let options: ListenArguments
    private let watch = ConnectionWatch()
    private let output: StandardOutput
    private let lines: ClientLines
    private let reporter: ListenAddressReporter

    /// - Parameters:
    ///   - form: How lines of stdin become messages.
    ///   - output: Where messages are written. Once the reader closes its end, messages are discarded.
    ///   - stop: Yields to request the end of the run.
    /// - Throws: `WebSocketChatError` `invalidConfiguration`.
    init(
        _ configuration: WebSocketServerConfiguration,
        options: ListenArguments,
        form: OutgoingForm,
        logger: Logger,
        output: StandardOutput,
        stop: AsyncStream<Void>.Continuation
    ) throws(WebSocketChatError) {
        server = try WebSocketServer(configuration, logger: logger)
        self.options = options
        self.output = output
        lines = ClientLines(form, watch: watch, stop: stop)
        reporter = ListenAddressReporter(level: logger.logLevel)
    }

    var source: SourceName { server.source }
    var features: AdapterFeatures { server.features }
    /// The number of lines that could not be sent.
    var unsent: Int { lines.unsent }

    func run(into intake: any Intake) async throws {
        let watched = ConnectIntake(
            intake: intake,
            watch: watch,
            keepsConnections: true,
            onAnswer: nil,
            discardsMessages: { [output] in output.isReaderGone }
        )
        reporter.expect(server, isFirst: true)
        // When the server ends, these tasks are cancelled and awaited.
        async let _ = reporter.serve()
        async let _ = sendLines()
        try await server.run(into: watched)
    }

    /// Sends a received message to those who get it: its client, the other clients, or none.
    func forward(_ body: RawBody, _ context: ActionContext) {
        guard options.echo || options.broadcast, let sender = context.chat else { return }
        let bytes = body.bytes
        let message: OutgoingMessage = body.kind == .bytes ? .binary(bytes) : .text(bytes.text ?? "")
        let receivers = options.echo ? [sender] : watch.all.filter { $0 !== sender }
        // The server closes a client that reads too slowly, and a client that is gone needs no message.
        for receiver in receivers { try? message.send(on: receiver) }
    }

    private func sendLines() async {
        guard !options.noInput, !options.echo, !options.broadcast else { return }
        await lines.run()
    }
}

/// Sends the lines of stdin to all clients. The first line waits until a client is connected, and so does each later one.
private final class ClientLines: Sendable {
    /// How many bytes may wait for a client before the next line waits for the client.
    private static let waitingBytes = 1 << 20
    /// How long lines wait for a client that does not read. Later lines do not wait for it, so the server closes the
    /// connection when its queue is full.
    private static let patience: Duration = .seconds(5)
    private static let pause: Duration = .milliseconds(5)

    private let lines: MessageLines
    private let watch: ConnectionWatch
    private let stop: AsyncStream<Void>.Continuation
    private let slow = Mutex<Set<String>>([])

    init(_ form: OutgoingForm, watch: ConnectionWatch, stop: AsyncStream<Void>.Continuation) {
        lines = MessageLines(form)
        self.watch = watch
        self.stop = stop
    }

    var unsent: Int { lines.unsent }

    func run() async {
        _ = await lines.read { await send($0) }
        // On a terminal, the user ends the command. Elsewhere, stdin may be empty from the start, as in the background.
        if OutgoingArguments.isInteractive, !Task.isCancelled { stop.yield() }
    }

    private func send(_ message: OutgoingMessage) async {
        guard await watch.connection() != nil else { return }
        let clients = watch.all
        slow.withLock { $0.formIntersection(clients.map(\.id)) }
        let isFull = { (client: ChatConnection) in (client.waitingBytes ?? 0) > ClientLines.waitingBytes }
        // Those that read do not wait for those that do not.
        let full = clients.filter(isFull)
        for client in clients where !full.contains(where: { $0 === client }) { try? message.send(on: client) }
        let deadline = ContinuousClock.now + ClientLines.patience
        for client in full {
            await waitForRoom(client, until: deadline)
            try? message.send(on: client)
        }
    }

    private func waitForRoom(_ client: ChatConnection, until deadline: ContinuousClock.Instant) async {
        guard !slow.withLock({ $0.contains(client.id) }) else { return }
        while let waiting = client.waitingBytes, waiting > ClientLines.waitingBytes {
            guard ContinuousClock.now < deadline else {
                slow.withLock { _ = $0.insert(client.id) }
                return
            }
            guard (try? await Task.sleep(for: ClientLines.pause)) != nil else { return }
        }
    }
}
