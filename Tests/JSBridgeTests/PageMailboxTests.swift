import SignalboxCore
import SignalboxTesting
import Testing

@testable import JSBridge

@Suite(.timeLimit(.minutes(10))) struct PageMailboxTests {
    private final class Reader: MailboxReader {
        let told = EventList<String>()

        func mailArrived() { told.append("mail") }

        func close() { told.append("close") }
    }

    private static func mailbox() -> PageMailbox {
        PageMailbox(title: nil, bound: 10, limits: MessageLimits(bytes: 1_000))
    }

    @Test func aReaderIsToldOfWhatWaitedBeforeIt() throws {
        let (mailbox, reader) = (Self.mailbox(), Reader())
        for number in 1...2 { try mailbox.send("show", id: nil, body: Bytes("\(number)")) }
        mailbox.attach(reader)
        #expect(reader.told.all == ["mail"])
        #expect(mailbox.takeMessages().count == 2)
        try mailbox.send("show", id: nil, body: Bytes("3"))
        #expect(reader.told.all == ["mail", "mail"])
    }

    @Test func aReaderOfNothingIsToldNothing() {
        let (mailbox, reader) = (Self.mailbox(), Reader())
        mailbox.attach(reader)
        #expect(reader.told.all.isEmpty)
    }

    @Test func aTimeoutThatPassesBeforeTheCallerIsNotedEndsTheCallToo() async throws {
        let mailbox = Self.mailbox()
        for _ in 0..<2_000 {
            let error = await #expect(throws: PageCallError.self) {
                try await mailbox.call("ask", body: Bytes("1"), timeout: .nanoseconds(1))
            }
            #expect(error?.code == .timeout)
        }
        #expect(mailbox.isIdle)
    }
}
