import Testing
import WebSocketChat

@testable import SignalboxCommand

@Suite struct ConnectJudgementTests {
    /// What came of a connection; by default the server closed it in order, and nothing was asked for.
    struct Case: Sendable, CustomStringConvertible {
        let description: String
        var count: Int?
        var timeout: Duration?
        var end = End.complete
        var lost: OutputFailure?
        var interruption: CommandStatus?
        var shown = 0
        var unsent = 0
        var notHandled = 0
        let status: CommandStatus
    }

    enum End: Sendable {
        case complete, stopped, broken
    }

    private struct Broken: Error {}

    static let cases: [Case] = [
        Case(description: "the server closed in order", status: .done),
        Case(description: "enough came", count: 2, end: .stopped, shown: 2, status: .done),
        Case(description: "enough came before it broke", count: 2, end: .broken, shown: 2, status: .done),
        Case(description: "the server closed too early", count: 2, shown: 1, status: .notAsExpected),
        Case(description: "it broke", end: .broken, status: .unavailable),
        Case(description: "it broke too early", count: 2, end: .broken, shown: 1, status: .unavailable),
        Case(
            description: "the time passed first",
            count: 2,
            timeout: .seconds(1),
            end: .stopped,
            interruption: .timeout,
            shown: 1,
            status: .timeout
        ),
        Case(
            description: "something came in time",
            timeout: .seconds(1),
            end: .stopped,
            interruption: .timeout,
            shown: 1,
            status: .done
        ),
        Case(
            description: "nothing came in time",
            timeout: .seconds(1),
            end: .stopped,
            interruption: .timeout,
            status: .timeout
        ),
        Case(description: "the server closed before the time", timeout: .seconds(1), status: .done),
        Case(description: "a signal", end: .stopped, interruption: .interrupted, status: .done),
        Case(
            description: "a signal before enough came",
            count: 2,
            end: .stopped,
            interruption: .terminated,
            shown: 1,
            status: .terminated
        ),
        Case(description: "nobody reads", count: 2, end: .stopped, lost: .closed, shown: 1, status: .done),
        Case(description: "lines were lost", count: 2, end: .stopped, lost: .stalled, shown: 2, status: .outputFailed),
        Case(description: "a line was not sent", unsent: 1, status: .notAsExpected),
        Case(
            description: "enough came and a line was not sent",
            count: 1,
            end: .stopped,
            shown: 1,
            unsent: 1,
            status: .notAsExpected
        ),
        Case(description: "a message was not handled", shown: 2, notHandled: 1, status: .notAsExpected),
    ]

    @Test(arguments: cases) func anEndHasItsStatus(_ one: Case) {
        let request = ConnectRequest(
            url: nil,
            options: ConnectOptions(),
            config: nil,
            source: nil,
            count: one.count,
            timeout: one.timeout,
            raw: nil,
            outgoing: OutgoingRequest()
        )
        let end: OrderedSource.End =
            switch one.end {
            case .complete: .complete
            case .stopped: .stopped
            case .broken: .failed(Broken())
            }
        let judgement = ConnectJudgement(
            request: request,
            end: end,
            lost: one.lost,
            interruption: one.interruption,
            shown: one.shown,
            unsent: one.unsent,
            notHandled: one.notHandled
        )
        #expect(judgement.verdict.status == one.status)
        #expect(judgement.verdict.words.isEmpty == (one.status == .done || one.unsent > 0))
    }
}
