import AdapterThreads
import Logging
import SignalboxCore

/// The main loop of a push source's thread: successive connections, with waits in between. Belongs to that thread.
final class ReceiveLoop {
    let configuration: MQTTPushConfiguration
    let control: LoopControl
    let intake: any Intake
    let receiver: PushReceiver
    let sink: BatchSink
    let log: PushLog
    let board: TopicBoard
    /// Counts the process deaths per message, if this is configured and possible.
    let deliveries: DeliveryWatch?
    private var backoff: ReconnectBackoff
    private var wasConnected = false
    private var wasGranted = false

    init(
        _ configuration: MQTTPushConfiguration,
        board: TopicBoard,
        control: LoopControl,
        intake: any Intake,
        logger: Logger,
        answering: PushAnswering? = nil
    ) {
        self.configuration = configuration
        self.board = board
        self.control = control
        self.intake = intake
        log = PushLog(logger, configuration: configuration)
        deliveries = ReceiveLoop.deliveries(of: configuration, log)
        receiver = PushReceiver(configuration: configuration, sender: answering?.sender, deliveries: deliveries)
        sink = BatchSink(wake: control.wake, replies: answering?.desk)
        backoff = configuration.reconnect.backoff
    }

    private static func deliveries(of configuration: MQTTPushConfiguration, _ log: PushLog) -> DeliveryWatch? {
        guard let limit = configuration.deliveries else { return nil }
        do throws(DeliveryFileError) {
            return try DeliveryWatch(limit, receiveMaximum: configuration.receiveMaximum, log: log)
        } catch {
            log.deliveriesUncounted(limit.file, error.reason)
            return nil
        }
    }

    /// Receives until the source is stopped.
    func run() throws(MQTTPushError) {
        if case .tls(.insecure, _) = configuration.security { log.insecure() }
        while !control.isStopping {
            let end = try connect()
            guard end != .stopped else { break }
            if demandsMore(after: end) {
                throw MQTTPushError(
                    end.error,
                    end.sentence(about: configuration.broker),
                    source: configuration.source
                )
            }
            let wait = backoff.next(
                isConfigurationFault: end.isConfigurationFault,
                isHeld: end.isAbandonment,
                share: .random(in: 0...1)
            )
            log.ended(end, nextTry: wait)
            pause(wait)
        }
        if wasConnected { log.stopped() }
    }

    private func demandsMore(after end: ConnectionEnd) -> Bool {
        if case .nothingGranted = end { return true }
        return configuration.firstConnectionMustSucceed && !wasConnected
    }

    /// Runs one connection. On return, its socket is closed and unflushed data is discarded.
    private func connect() throws(MQTTPushError) -> ConnectionEnd {
        let keepsSession = configuration.sessionExpiry > .zero
        let connection = try PushConnection(
            self,
            expectsSession: wasConnected && keepsSession,
            cleanStart: !keepsSession || (configuration.cleanStart && !wasConnected),
            demandsGrant: configuration.firstConnectionMustSucceed && !wasGranted
        )
        let end = connection.run()
        board.disconnected(control)
        if connection.isOpen { wasConnected = true }
        if connection.isGranted { wasGranted = true }
        if connection.isProven(by: end) { backoff.succeeded() }
        return end
    }

    private func pause(_ wait: Duration) {
        let end = ContinuousClock.now + wait
        while !control.isStopping && .now < end {
            if SocketWait(socket: -1, for: .readable, wake: control.wake.readEnd, limit: end - .now).isWoken {
                control.wake.drain()
            }
        }
    }
}
