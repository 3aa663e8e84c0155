import AdapterThreads
import Logging

/// One run of a publisher: its thread, and the way to stop it.
struct PublisherRun: Sendable {
    private let control: LoopControl
    private let thread: OwnedThread
    private let queue: PublishQueue
    private let number: Int

    /// - Throws: ``MQTTPushError`` `noResources`, or `invalidConfiguration` when a run is in progress.
    init(
        _ configuration: MQTTPublisherConfiguration,
        queue: PublishQueue,
        logger: Logger
    ) throws(MQTTPushError) {
        let control = try LoopControl()
        let log = PublishLog(logger, configuration: configuration)
        guard let number = queue.begin(wake: control.wake, log: log) else {
            throw MQTTPushError(
                .invalidConfiguration,
                "a publisher runs once at a time: wait until its run has ended",
                source: configuration.source
            )
        }
        do throws(NoSystemResource) {
            thread = try OwnedThread {
                do throws(MQTTPushError) {
                    try PublishLoop(configuration, run: number, control: control, queue: queue, log: log).run()
                    control.end(nil)
                } catch {
                    control.end(error)
                }
            }
        } catch {
            queue.end(number)
            throw MQTTPushError(.noResources, error.description, source: configuration.source)
        }
        self.control = control
        self.queue = queue
        self.number = number
    }

    /// Nothing more is taken; what is queued is sent within the configured bound. Any number of times, any thread.
    func stop() {
        queue.stop(number)
        control.stop()
    }

    /// Returns when the run is over, with every waiter told; a cancelled task waits too.
    func ended() async throws(MQTTPushError) {
        while true {
            switch await control.nextEvent() {
            case .roomWanted: continue
            case .ended(let error):
                queue.end(number)
                thread.join()
                if let error { throw error }
                return
            case .leftBehind:
                queue.end(number)
                thread.leave()
                return
            }
        }
    }
}
