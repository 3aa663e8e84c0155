import Logging
import SignalboxCore

/// An engine and the page it is to run.
protocol EnginePage: Sendable {
    /// What pages may have sent without an outcome, at most: a flood of one-way messages waits in its page, all of it.
    static var messagesWaitingInPage: Int { get }

    /// The engine, with what it needs known: made once its time has begun.
    func engine(logger: Logger) throws -> any Adapter

    /// Called while the engine runs: tells what the caller must know to open the page.
    func opened(_ engine: any Adapter) async throws
}

extension EnginePage {
    static var messagesWaitingInPage: Int { 1_000_000 }

    func opened(_ engine: any Adapter) async throws {}
}
