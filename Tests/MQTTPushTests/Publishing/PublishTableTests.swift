import AdapterSupport
import SignalboxCore
import SignalboxRoutes
import Testing

@testable import MQTTPush

/// The publisher's table without a broker.
@Suite struct PublishTableTests {
    private static func table(unacknowledged: Int = 2) throws -> PublishTable {
        var configuration = try MQTTPublisherConfiguration.test(port: 1)
        configuration.unacknowledgedMessages = unacknowledged
        return PublishTable(limits: configuration)
    }

    private static func add(_ numbers: ClosedRange<UInt64>, _ qos: MQTTQoS, to table: inout PublishTable) {
        for number in numbers {
            let message = MQTTMessage("\(number)", to: "a", qos: qos)
            table.add(PublishEntry(message, waiter: .fireAndForget, now: .now), as: number)
        }
    }

    private static func next(_ table: inout PublishTable) -> UInt64? {
        var completions: [PublishCompletion] = []
        return table.next(now: .now, requests: true, &completions)?.number
    }

    @Test func theNumberOfUnacknowledgedMessagesIsLimited() throws {
        var table = try Self.table()
        Self.add(1...3, .atLeastOnce, to: &table)
        #expect((0..<3).map { _ in Self.next(&table) } == [1, 2, nil])
        _ = table.acknowledged(1, .success)
        #expect(Self.next(&table) == 3)
        #expect(table.counts.published == 1 && table.counts.waiting == 2)
    }

    @Test func unacknowledgedMessagesAreResentFirstAndInOrder() throws {
        var table = try Self.table()
        Self.add(1...3, .atLeastOnce, to: &table)
        _ = [Self.next(&table), Self.next(&table)]
        _ = table.disconnected()
        #expect([Self.next(&table), Self.next(&table)] == [1, 2])
        #expect(table.counts.resent == 2 && table.counts.failed == 0)
    }

    @Test func unwrittenQoS0MessagesOfABrokenConnectionAreLostAndCounted() throws {
        var table = try Self.table()
        Self.add(1...2, .atMostOnce, to: &table)
        _ = Self.next(&table)
        #expect(table.disconnected().count == 1)
        #expect(Self.next(&table) == 2)
        #expect(table.counts.failed == 1 && table.counts.resent == 0)
    }

    @Test func aCancelledSentMessageIsNotResent() throws {
        var table = try Self.table(unacknowledged: 1)
        Self.add(1...2, .atLeastOnce, to: &table)
        _ = Self.next(&table)
        _ = table.cancelWait(1, .timeout)
        #expect(Self.next(&table) == nil && table.counts.waiting == 1)
        _ = table.disconnected()
        #expect(Self.next(&table) == 2)
        #expect(table.counts.failed == 1 && table.counts.accepted == 2)
    }

    @Test func anAnsweredRequestIsNotResent() async throws {
        var table = try Self.table()
        let correlation: [UInt8] = [7]
        let result = await withCheckedContinuation { waiter in
            table.requests[correlation] = PublishTable.Request(number: 1, waiter: waiter)
            let message = MQTTMessage("", to: "a")
            table.add(PublishEntry(message, waiter: .request(correlation), now: .now), as: 1)
            #expect(Self.next(&table) == 1)
            _ = table.disconnected()
            let reply = MQTTReply(payload: [1], outcome: nil, contentType: nil, userProperties: [])
            for completion in table.replied(correlation, .success(reply)) { completion.resume() }
        }
        #expect(try result.get().payload == [1])
        #expect(Self.next(&table) == nil)
        let counts = table.counts
        #expect(counts.published == 1 && counts.replies == 1 && counts.resent == 0)
        #expect(counts.waiting == 0 && counts.waitingBytes == 0)
    }

    @Test func eachMessageCompletesOnce() throws {
        var table = try Self.table(unacknowledged: 4)
        Self.add(1...6, .atLeastOnce, to: &table)
        for _ in 0..<4 { _ = Self.next(&table) }
        _ = table.acknowledged(1, .success)
        _ = table.acknowledged(2, ReasonCode(rawValue: 135))
        _ = table.cancelWait(3, .timeout)
        _ = table.acknowledged(3, .success)
        _ = table.cancelWait(5, .cancelled)
        _ = table.close()
        let counts = table.counts
        #expect(counts.accepted == 6 && counts.published == 1 && counts.failed == 5 && counts.waiting == 0)
        #expect(counts.denied == 1 && counts.stopped == 2 && counts.waitingBytes == 0)
    }

    @Test func theOldestEndedRequestIsDroppedFirst() {
        var ended = EndedRequests()
        ended.capacity = 2
        for number in 1...3 { ended.insert([UInt8(number)]) }
        #expect([1, 2, 3].map { ended.contains([UInt8($0)]) } == [false, true, true])
    }

    @Test(arguments: ["", "a/+", "a/{other}", "a/{id:int}", "{action}/{action}", "x{action}", "{action...}"])
    func anInvalidSendTopicIsRefused(text: String) async {
        let error = await publishError { _ = try SendTopic(text) }
        #expect(error?.code == .invalidMessage)
    }

    @Test(arguments: [
        ("a/b", "out/{id}"), ("a+", "out/{id}"), ("#", "out/{id}"), ("a\0", "out/{id}"), ("$SYS", "{id}/broker"),
    ])
    func anIDThatWouldChangeTheTopicIsRefused(id: String, text: String) async throws {
        let topic = try SendTopic(text)
        let error = await publishError {
            _ = try topic.message("go", id: .init(id), body: .init("1"), version: .v5)
        }
        #expect(error?.code == .invalidMessage)
    }
}

@Suite struct TopicTemplateTests {
    @Test func placeholdersFillTopicLevels() throws {
        let template = try TopicTemplate("out/{action}/x/{id}")
        #expect(try template.topic(for: "loading", id: ActionID("7 b")) == "out/loading/x/7 b")
        #expect(template.filter?.text == "out/+/x/+")
        #expect(try TopicTemplate("plain").topic(for: "a", id: ActionID("a/b")) == "plain")
    }

    @Test(arguments: ["", "a{id}", "{id", "a}", "{device}", "{id}/{id}", "a/+", "a/#", "$SYS/a", "a\u{0}"])
    func anInvalidTemplateIsRefused(_ text: String) {
        #expect(throws: TopicTemplateError.self) { try TopicTemplate(text) }
    }

    @Test(arguments: ["a/b", "+", "#", "a#", "a\u{0}b", "\u{85}", "$SYS"])
    func anIDWithReservedCharactersIsRefused(_ text: String) throws {
        let template = try TopicTemplate("{id}/a")
        let id = try #require(ActionID(text))
        #expect(throws: TopicTemplateError.self) { try template.topic(for: "a", id: id) }
    }
}
