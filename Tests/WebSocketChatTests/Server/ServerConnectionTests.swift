import Testing

@testable import WebSocketChat

@Suite struct ServerConnectionTests {
    private let feeding = Feeding()
    private let start = ContinuousClock.now

    private func make() -> ServerConnection {
        ServerConnection(feeding.connection(), facts: ChatFacts(role: .server, peer: ""), at: start)
    }

    private func read(_ text: String, on connection: ServerConnection, isFirst: Bool = true, isFinal: Bool = true) {
        _ = feeding.read(Array(text.utf8), on: connection.read, isFirst: isFirst, isFinal: isFinal)
        connection.heard()
    }

    private func look(at connection: ServerConnection, _ seconds: Int) -> [Duration] {
        let (quiet, unfinished) = connection.look(at: start + .seconds(seconds))
        return [quiet, unfinished]
    }

    @Test func quietIsTheTimeWithoutAWholeMessage() {
        let one = make()
        #expect(look(at: one, 5) == [.seconds(5), .zero])
        read("1", on: one)
        #expect(look(at: one, 6) == [.zero, .zero])
        #expect(look(at: one, 8) == [.seconds(2), .zero])
        // A piece is no message.
        read("[", on: one, isFinal: false)
        #expect(look(at: one, 9) == [.seconds(3), .zero])
    }

    @Test func whatHasBegunIsTimedFromTheFirstLookToItsEnd() {
        let one = make()
        read("[", on: one, isFinal: false)
        #expect(look(at: one, 1)[1] == .zero)
        read("1", on: one, isFirst: false, isFinal: false)
        #expect(look(at: one, 31)[1] == .seconds(30))
        read("]", on: one, isFirst: false)
        #expect(look(at: one, 32)[1] == .zero)
        // Another that begins between two looks is not the one before.
        read("[", on: one, isFinal: false)
        #expect(look(at: one, 40)[1] == .zero)
        read("]", on: one, isFirst: false)
        read("[", on: one, isFinal: false)
        #expect(look(at: one, 50)[1] == .zero)
        #expect(look(at: one, 55)[1] == .seconds(5))
    }

    @Test func timeInWhichItIsNotReadDoesNotCount() {
        let one = make()
        read("1", on: one)
        read("[", on: one, isFinal: false)
        one.read.flow.pause(.room)
        #expect(look(at: one, 100) == [.zero, .zero])
        #expect(look(at: one, 200) == [.zero, .zero])
        one.read.flow.unpause(.room)
        #expect(look(at: one, 210) == [.seconds(10), .seconds(10)])
    }
}
